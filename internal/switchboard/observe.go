package switchboard

import (
	"fmt"
	"time"

	"peermux/detect"
	"peermux/mailbox"
	"peermux/registry"
)

// observe gathers what judge needs, reading only what is marked.
func (v *vigil) observe(q *inquiry, m marks) sight {
	b := v.board
	if m.shown.After(q.shownAt) {
		q.shownAt = m.shown
	}
	if m.strayed || m.due {
		v.followMove(q)
		if it, err := b.Store.Trace(q.dest.key, q.id); err == nil && len(it.Shown) > 0 {
			q.shownAt = it.Shown[len(it.Shown)-1].At
		}
	}
	if q.heard = q.heard || m.noted || m.due; q.heard && (m.noted || m.due || !m.shown.IsZero()) {
		v.lookForNote(q)
	}
	s := sight{now: b.Now(), shownAt: q.shownAt, noteAt: q.noteAt}
	if !q.dest.isSession() {
		return s
	}
	s.gone = v.lookForProcess(q)
	s.lost = q.lost
	if q.dest.entry != nil {
		q.status = detect.StatusOf(*q.dest.entry, b.Registry, q.facts)
		s.status = q.status
		s.heldSince = v.heldSince(q)
	}
	return s
}

// followMove keeps up with a peer whose session got a new id.
func (v *vigil) followMove(q *inquiry) {
	b := v.board
	key := b.Store.Resolve(q.dest.key)
	if key == q.dest.key {
		return
	}
	q.dest.key = key
	v.hearTarget(q)
	live, err := b.peek()
	if err != nil {
		return
	}
	for _, e := range live {
		if e.Box == key {
			v.follow(q, e)
			return
		}
	}
}

// heldSince is when the peer began to be unreachable, counted from the question
// on.
func (v *vigil) heldSince(q *inquiry) time.Time {
	since := time.Time{}
	if q.status.Word == registry.Waiting {
		since = q.status.Since
	} else if _, at, ok := v.board.Waker.Held(q.dest.key); ok {
		since = at
	} else {
		return since
	}
	if since.Before(q.since) {
		return q.since
	}
	return since
}

// lookForProcess notices that the peer's server has ended, or that its session
// goes on in another one, and reports whether its client has ended.
func (v *vigil) lookForProcess(q *inquiry) (gone bool) {
	clientGone, serverGone := hasEnded(q.gone), hasEnded(q.left)
	if !clientGone && !serverGone {
		return false
	}
	b := v.board
	live, err := b.peek()
	if err != nil {
		return false
	}
	for _, e := range live {
		if e.Box == q.dest.key {
			q.lost = time.Time{}
			v.follow(q, e)
			return false
		}
	}
	if q.lost.IsZero() {
		q.lost = b.Now()
	}
	return clientGone
}

func hasEnded(c <-chan struct{}) bool {
	if c == nil {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lookForNote finds a plain message of the peer that came after it saw the
// question: perhaps its answer, sent by the wrong tool.
func (v *vigil) lookForNote(q *inquiry) {
	if q.shownAt.IsZero() || q.dest.party.SessionID == "" {
		return
	}
	items, _, err := v.board.Store.Peek(v.box, mailbox.ClaimOptions{Reader: v.actor.reader()})
	if err != nil {
		return
	}
	for _, it := range items {
		if it.Kind == mailbox.KindNote && it.From.SessionID == q.dest.party.SessionID && it.SentAt.After(q.shownAt) {
			if q.note == nil || q.note.ID != it.ID {
				q.note, q.noteAt = &it, v.board.Now()
			}
			return
		}
	}
}

// stateOf is what became of the question so far.
func (v *vigil) stateOf(q *inquiry) string {
	it, err := v.board.Store.Trace(q.dest.key, q.id)
	switch {
	case err != nil || it.Forgotten:
		return stateUnknown
	case it.Answered != "":
		return askAnswered
	case len(it.Shown) == 0:
		return "queued"
	}
	if q.dest.entry != nil && v.board.StatusOf(*q.dest.entry).Word == registry.Working {
		return "working"
	}
	return "shown"
}

// tell reports progress when it has changed, or after a while.
func (v *vigil) tell(q *inquiry) {
	if v.request.Progress == nil {
		return
	}
	text := v.progress(q)
	if text != q.report {
		q.report = text
		v.request.Progress(text)
	}
}

func (v *vigil) progress(q *inquiry) string {
	now := v.board.Now()
	text := "waiting for " + q.dest.label() + ": "
	if q.shownAt.IsZero() {
		text += "not shown yet"
	} else {
		text += "shown " + seconds(roundSpan(now.Sub(q.shownAt))) + " ago"
	}
	if q.dest.entry == nil {
		return text
	}
	switch q.status.Word {
	case registry.Working:
		text += ", working"
	case registry.Idle:
		text += ", idle"
	case registry.Waiting:
		return fmt.Sprintf("%s; %s is waiting for its user%s", text, q.dest.label(), inBrackets(q.status.WaitingFor))
	}
	if reason, _, ok := v.board.Waker.Held(q.dest.key); ok {
		text += "; not woken: " + reason
	}
	return text
}

// roundSpan keeps a progress text from changing every second.
func roundSpan(d time.Duration) time.Duration { return d.Truncate(reportEvery) }

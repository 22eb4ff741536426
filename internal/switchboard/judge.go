package switchboard

import (
	"fmt"
	"time"

	"peermux/detect"
	"peermux/mailbox"
	"peermux/registry"
)

// What ends a wait before its time, or does not.
const (
	goesOn    = ""
	timedOut  = "timed_out"
	turnEnded = "turn_ended"
	heldBack  = "held"
	peerEnded = "peer_gone"
	plainNote = "plain_note"
)

// sight is what is known of one question at one moment.
type sight struct {
	now     time.Time
	shownAt time.Time // zero: the peer has not seen it
	status  detect.Status
	// heldSince is when something began to keep the peer from looking: its user
	// is asked something, or a draft stands in its composer. Zero: nothing does.
	heldSince time.Time
	gone      bool      // the peer's client has ended
	lost      time.Time // no server stands for the peer since; zero: one does
	noteAt    time.Time // a plain message of the peer came after it saw the question
}

// How long a sign has to last before it ends the wait.
const (
	// settleTurn: Claude shows idle for a moment between a Stop hook and the
	// continuation that it asked for.
	settleTurn = 3 * time.Second
	// settleHeld: the person may be about to answer the dialog.
	settleHeld = 10 * time.Second
	// settleLost: a client that restarts its MCP server takes a moment, and a
	// peer's end is told within a second.
	settleLost = 700 * time.Millisecond
	// settleNote: the answer proper may follow the remark.
	settleNote = 2 * time.Second
)

// judge decides whether a wait makes sense any longer, and if it does, when to
// look again although nothing changed (0: no need).
func judge(s sight) (verdict string, again time.Duration) {
	settled := func(since time.Time, settle time.Duration, ends string) bool {
		if since.IsZero() {
			return false
		}
		left := settle - s.now.Sub(since)
		if left <= 0 {
			verdict = ends
			return true
		}
		if again == 0 || left < again {
			again = left
		}
		return false
	}
	idleSince := time.Time{}
	if !s.shownAt.IsZero() && s.status.Word == registry.Idle && s.status.Since.After(s.shownAt) {
		idleSince = s.status.Since
	}
	heldSince := s.heldSince
	if !s.shownAt.IsZero() {
		heldSince = time.Time{} // it has the question; its user's dialog is part of the work on it
	}
	switch {
	case s.gone: // nothing restarts a server without its client
		verdict = peerEnded
	case settled(s.lost, settleLost, peerEnded):
	case settled(s.noteAt, settleNote, plainNote):
	case settled(idleSince, settleTurn, turnEnded):
	case settled(heldSince, settleHeld, heldBack):
	}
	if verdict != goesOn {
		again = 0
	}
	return verdict, again
}

// observe gathers what judge needs.
func (v *vigil) observe(q *inquiry, ownChanged bool) sight {
	b := v.board
	s := sight{now: b.Now()}
	v.followMove(q)
	if it, err := b.Store.Trace(q.dest.key, q.id); err == nil && len(it.Shown) > 0 {
		q.shownAt = it.Shown[len(it.Shown)-1].At
	}
	s.shownAt = q.shownAt
	if !q.dest.isSession() {
		return s
	}
	s.gone = v.lookForProcess(q)
	s.lost = q.lost
	if q.dest.entry != nil {
		s.status = b.StatusOf(*q.dest.entry)
		s.heldSince = v.heldSince(q, s.status)
	}
	if ownChanged {
		v.lookForNote(q)
	}
	s.noteAt = q.noteAt
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
func (v *vigil) heldSince(q *inquiry, status detect.Status) time.Time {
	since := time.Time{}
	if status.Word == registry.Waiting {
		since = status.Since
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
	items, _, err := v.board.Store.Peek(v.ownBox, mailbox.ClaimOptions{Reader: v.actor.reader()})
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

// end gives a question up before its time, after a last look for its answer.
func (v *vigil) end(q *inquiry, verdict string) {
	if verdict == plainNote && v.takeNote(q) {
		return
	}
	how := askTimedOut
	if verdict == peerEnded {
		how = askPeerGone
	}
	v.record(q, how, "")
	v.watchOwn()
	v.lookForReply(q)
	if q.over {
		return
	}
	q.over, q.ended = true, verdict
	q.state = v.stateOf(q)
	if verdict == peerEnded {
		q.err = refuse(CodePeerGone, "%s ended while you waited; your question %s is kept in its box and is shown if that conversation is resumed, and an answer would come as mail", q.dest.label(), q.id).
			with("message_id", q.id)
	}
}

// takeNote hands the plain message over as the answer, marked.
func (v *vigil) takeNote(q *inquiry) bool {
	claim, err := v.board.Store.Claim(v.ownBox, mailbox.ClaimOptions{
		Reader: v.actor.reader(), Via: viaAsk, OnlyIDs: []string{q.note.ID},
		PID: v.actor.Process.PID, Start: v.actor.Process.Start,
	})
	if err != nil || len(claim.Messages) == 0 {
		q.note, q.noteAt = nil, time.Time{} // a hook was quicker: it has been shown
		return false
	}
	v.take(q, claim)
	return true
}

// stateOf is what became of the question so far.
func (v *vigil) stateOf(q *inquiry) string {
	it, err := v.board.Store.Trace(q.dest.key, q.id)
	switch {
	case err != nil:
		return "unknown"
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
	switch status := v.board.StatusOf(*q.dest.entry); status.Word {
	case registry.Working:
		text += ", working"
	case registry.Idle:
		text += ", idle"
	case registry.Waiting:
		return fmt.Sprintf("%s; %s is waiting for its user%s", text, q.dest.label(), inBrackets(status.WaitingFor))
	}
	if reason, _, ok := v.board.Waker.Held(q.dest.key); ok {
		text += "; not woken: " + reason
	}
	return text
}

// roundSpan keeps a progress text from changing every second.
func roundSpan(d time.Duration) time.Duration { return d.Truncate(reportEvery) }

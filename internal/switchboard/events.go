package switchboard

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/frame"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// Kinds of events.
const (
	EventSent   = "sent"
	EventShown  = "shown"
	EventWoken  = "woken"
	EventClosed = "closed"
)

// Event is one thing that happened to a message or a session. What happened is
// read from the journals, so nothing is told that is not recorded.
type Event struct {
	Event     string    `json:"event"` // sent, shown, woken or closed
	At        time.Time `json:"at"`
	MessageID string    `json:"message_id,omitempty"`
	Kind      string    `json:"kind,omitempty"`
	From      string    `json:"from,omitempty"`
	To        string    `json:"to,omitempty"`
	Subject   string    `json:"subject,omitempty"`
	Via       string    `json:"via,omitempty"`   // of shown
	State     string    `json:"state,omitempty"` // of closed: done, blocked, answered or retracted
	ReplyTo   string    `json:"reply_to,omitempty"`
	Scope     string    `json:"scope,omitempty"` // of a broadcast
	Body      string    `json:"body,omitempty"`
}

// EventsRequest says which events are wanted.
type EventsRequest struct {
	Since  time.Time // leave out what is older
	Follow bool      // go on as things happen, until ctx ends
}

// Events reports what happened, in the order of time, and with Follow goes on
// reporting. It changes nothing. An error of emit ends it.
func (b *Board) Events(ctx context.Context, r EventsRequest, emit func(Event) error) error {
	t := &ticker{
		board: b, since: r.Since, seen: map[string]bool{}, sizes: map[string]int64{}, watched: map[string]bool{},
		kicks: make(chan struct{}, 1),
	}
	defer t.stop()
	if r.Follow {
		t.watch("boxes", "feeds", "wake")
	}
	for {
		if r.Follow {
			t.watchBoxes() // before the look, so that nothing falls in between
		}
		if err := t.round(emit); err != nil || !r.Follow {
			return err
		}
		select {
		case <-t.kicks:
		case <-ctx.Done():
			return nil
		}
	}
}

// skew is how far apart the times in a journal and that of its file may be.
const skew = time.Hour

// ticker remembers what it has told.
type ticker struct {
	board   *Board
	since   time.Time
	seen    map[string]bool  // events told, by their identity
	sizes   map[string]int64 // journals as they were at the last round
	watched map[string]bool  // boxes
	kicks   chan struct{}
	stops   []func()
}

// watch follows folders of the home.
func (t *ticker) watch(dirs ...string) {
	for _, dir := range dirs {
		events, stop := t.board.Watch.Dir(filepath.Join(t.board.Home, dir))
		t.stops = append(t.stops, watch.Forward(t.kicks, events, stop))
	}
}

// watchBoxes follows the journals of boxes that have come since. What else is in a
// box tells no event, and would cost a listing a second each.
func (t *ticker) watchBoxes() {
	entries, err := os.ReadDir(filepath.Join(t.board.Home, "boxes"))
	if err != nil {
		return // none yet; the folder itself is watched
	}
	for _, e := range entries {
		if t.watched[e.Name()] {
			continue
		}
		t.watched[e.Name()] = true
		events, stop := t.board.Watch.File(mailbox.JournalPath(t.board.Home, e.Name()))
		t.stops = append(t.stops, watch.Forward(t.kicks, events, stop))
	}
}

func (t *ticker) stop() {
	for _, stop := range t.stops {
		stop()
	}
}

// round tells what is new since the last one.
func (t *ticker) round(emit func(Event) error) error {
	var events []Event
	for _, j := range t.journals() {
		info, err := os.Stat(j.path)
		if err != nil || info.Size() == t.sizes[j.path] || info.ModTime().Before(t.since.Add(-skew)) {
			continue // nothing new, or nothing of that time: most boxes lie still for weeks
		}
		t.sizes[j.path] = info.Size()
		st, err := j.read()
		if err != nil {
			continue // one that cannot be read hides no other; peermux doctor names it
		}
		for _, it := range st.Items {
			events = append(events, t.of(it, j)...)
		}
	}
	events = append(events, t.wakes()...)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	for _, e := range events {
		if err := emit(e); err != nil {
			return err
		}
	}
	return nil
}

// journal is one file that events are read from.
type journal struct {
	path string
	repo bool
	read func() (*mailbox.State, error)
}

func (t *ticker) journals() []journal {
	b := t.board
	var list []journal
	entries, err := os.ReadDir(filepath.Join(b.Home, "boxes"))
	if err == nil {
		for _, e := range entries {
			key := e.Name()
			list = append(list, journal{
				path: mailbox.JournalPath(b.Home, key), repo: strings.HasPrefix(key, "r-"),
				read: func() (*mailbox.State, error) { return b.Store.State(key) },
			})
		}
	}
	entries, err = os.ReadDir(filepath.Join(b.Home, "feeds"))
	if err == nil {
		for _, e := range entries {
			key, ok := strings.CutSuffix(e.Name(), ".jsonl")
			if !ok {
				continue
			}
			list = append(list, journal{
				path: mailbox.FeedPath(b.Home, key),
				read: func() (*mailbox.State, error) { return b.Store.FeedState(key) },
			})
		}
	}
	return list
}

// of lists the events of one message that were not told yet. A message that moved
// with its session is in two journals and is told once.
func (t *ticker) of(it mailbox.Item, j journal) []Event {
	base := Event{
		MessageID: it.ID, Kind: string(it.Kind), From: frame.Line(it.From.Name, 64), To: frame.Line(it.To.Name, 64), Subject: frame.Line(it.Subject, 200),
		ReplyTo: it.ReplyTo, Scope: it.Scope,
	}
	if base.To == "" {
		base.To = it.Scope
	}
	var events []Event
	add := func(e Event, what string, at time.Time) {
		identity := e.MessageID + " " + what
		if t.seen[identity] {
			return
		}
		t.seen[identity] = true
		if e.At = at; !at.Before(t.since) {
			events = append(events, e)
		}
	}
	sent := base
	sent.Event, sent.Body = EventSent, frame.Clean(it.Body)
	add(sent, EventSent, it.SentAt)
	for _, s := range it.Shown {
		shown := base
		shown.Event, shown.Via = EventShown, s.Via
		add(shown, EventShown+" "+s.By+" "+s.At.String(), s.At)
	}
	if it.Closed != "" {
		closed := base
		closed.Event, closed.State = EventClosed, it.Closed
		add(closed, EventClosed, it.ClosedAt)
	} else if it.Answered != "" {
		closed := base
		closed.Event, closed.State = EventClosed, askAnswered
		// The journal does not date an answer; the answer's own event does.
		add(closed, EventClosed+" "+it.Answered, t.board.Now())
	}
	return events
}

// wakes lists the wakes that reached a session.
func (t *ticker) wakes() []Event {
	live, err := t.board.peek()
	if err != nil {
		return nil
	}
	names := map[string]string{mailbox.UserKey(""): registry.ToUser}
	for _, e := range live {
		names[e.Box] = e.Name
	}
	var events []Event
	for _, e := range live {
		for _, l := range t.board.Waker.Landings(e.Box) {
			identity := "wake " + e.Box + " " + l.At.String()
			if !t.seen[identity] && !l.At.Before(t.since) {
				events = append(events, Event{Event: EventWoken, At: l.At, From: names[l.From], To: e.Name})
			}
			t.seen[identity] = true
		}
	}
	return events
}

package tui

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/switchboard"
	"peermux/internal/watch"
)

// Messages to the model.
type (
	changed  struct{}            // something happened in the home
	happened []switchboard.Event // events of the fleet, oldest first
	listed   struct {            // the sessions as they are
		scope  string
		result switchboard.ListResult
		err    error
	}
	previewed struct { // what the selected session shows
		name string
		mode string
		read switchboard.SessionRead
		err  error
	}
	opened struct { // mail of a box, looked at
		box  string // target whose mail it is; "" is the person's own
		read switchboard.ReadResult
		err  error
	}
	told struct { // what came of an action
		text string
		err  error
	}
	aged struct{} // ages have to be drawn anew
	late struct{} // nothing may have told of a change
)

const (
	// settle is how long after a file event the sessions are looked at, so that a
	// burst of events costs one look; a change has to show within 200 ms.
	settle = 60 * time.Millisecond
	// ageEvery is how often ages are drawn anew when nothing happens.
	ageEvery = 10 * time.Second
	// lookEvery is how often the sessions are looked at when no file changes: a
	// client that is killed tells nobody.
	lookEvery = 20 * time.Second
	// history is how far back the conversation begins.
	history = 12 * time.Hour
	// maxEvents bounds the conversation that is kept.
	maxEvents = 2000
)

// follow sends a message for whatever happens in the home, until ctx ends.
func follow(ctx context.Context, b *switchboard.Board, send func(tea.Msg)) {
	go followEvents(ctx, b, send)
	kicks := make(chan struct{}, 1)
	for _, dir := range []string{"sessions", "status", "wake", "drops"} {
		events, stop := b.Watch.Dir(filepath.Join(b.Home, dir))
		defer watch.Forward(kicks, events, stop)()
	}
	// What happened before the folders were watched is seen by one look after.
	select {
	case kicks <- struct{}{}:
	default: // something has happened since, and there will be a look
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-kicks:
		}
		timer := time.NewTimer(settle)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			send(changed{})
		}
	}
}

// followEvents hands over in one message all events that came while the screen was
// busy with the last ones: at the start that may be thousands.
func followEvents(ctx context.Context, b *switchboard.Board, send func(tea.Msg)) {
	var mu sync.Mutex
	var heard happened
	more := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
			mu.Lock()
			batch := heard
			heard = nil
			mu.Unlock()
			send(batch)
		}
	}()
	err := b.Events(ctx, switchboard.EventsRequest{Since: b.Now().Add(-history), Follow: true}, func(e switchboard.Event) error {
		mu.Lock()
		heard = append(heard, e)
		mu.Unlock()
		select {
		case more <- struct{}{}:
		default: // the ones before are not handed over yet
		}
		return ctx.Err()
	})
	if err != nil && ctx.Err() == nil {
		send(told{err: err})
	}
}

// flight keeps what reads files from running twice at once, however fast things
// happen: what happens while it runs is seen by one more run after it.
type flight struct{ on, again bool }

// start reports whether to run now.
func (f *flight) start() bool {
	now := !f.on
	f.on, f.again = true, !now
	return now
}

// land reports whether another run is due.
func (f *flight) land() bool {
	again := f.again
	*f = flight{}
	return again
}

// list looks at the sessions.
func (m *model) list() tea.Cmd {
	if !m.listing.start() {
		return nil
	}
	scope := m.scope
	return func() tea.Msg {
		res, err := m.board.List(m.ctx, m.actor, switchboard.ListRequest{Scope: scope, OnlySessions: true})
		return listed{scope, res, err}
	}
}

// preview reads what the selected session shows.
func (m *model) preview() tea.Cmd {
	s, ok := m.selected()
	if !ok || m.strip || !m.previewing.start() {
		return nil
	}
	mode := m.previewMode
	return func() tea.Msg {
		read, err := m.board.ReadSession(m.ctx, m.actor, switchboard.ReadSessionRequest{Name: handle(s), Mode: mode, Limit: 6, MaxBytes: 6 << 10})
		return previewed{s.Name, mode, read, err}
	}
}

// handle is a target that means exactly this session.
func handle(s switchboard.SessionRow) string {
	if s.SessionID != "" {
		return s.SessionID
	}
	return s.Name
}

// soon looks again after a burst.
func soon() tea.Cmd {
	return tea.Tick(settle, func(time.Time) tea.Msg { return changed{} })
}

func age() tea.Cmd {
	return tea.Tick(ageEvery, func(time.Time) tea.Msg { return aged{} })
}

func later() tea.Cmd {
	return tea.Tick(lookEvery, func(time.Time) tea.Msg { return late{} })
}

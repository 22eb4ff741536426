// Package notify tells the person at the keyboard what agents cannot settle among
// themselves: a session that has waited for its user for a while, and mail for the
// user. It looks and changes nothing; each waiting episode and each message is told
// once. It runs in the foreground for as long as the person wants it.
package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// Options of a watch.
type Options struct {
	Board *switchboard.Board
	Wait  time.Duration // how long a session waits before it is told
	Tell  func(ctx context.Context, text string) error
}

// Watch tells until ctx ends. What was there before it began is told as well.
func Watch(ctx context.Context, o Options) error {
	w := &watcher{Options: o, told: map[string]bool{}}
	kicks := make(chan struct{}, 1)
	for _, dir := range []string{"sessions", "status", filepath.Join("boxes", mailbox.UserKey(""))} {
		events, stop := o.Board.Watch.Dir(filepath.Join(o.Board.Home, dir))
		defer watch.Forward(kicks, events, stop)()
	}
	for {
		next, err := w.look(ctx)
		if err != nil {
			return err
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-kicks:
			timer.Stop()
		case <-timer.C:
		}
	}
}

type watcher struct {
	Options
	told map[string]bool
}

// idle is how long to wait for a file event when nothing is about to be due.
const idle = time.Minute

// look tells what is due and returns when something else will be.
func (w *watcher) look(ctx context.Context) (next time.Duration, err error) {
	next = idle
	live, err := w.Board.Registry.Peek()
	if err != nil {
		return 0, err
	}
	for _, e := range live {
		st := w.Board.StatusOf(e)
		if st.Word != registry.Waiting || !e.Listed() {
			continue
		}
		left := w.Wait - w.Board.Now().Sub(st.Since)
		if left > 0 {
			next = min(next, left)
			continue
		}
		text := frame.Line(e.Name, 40) + " waits for you"
		if st.WaitingFor != "" {
			text += ": " + frame.Line(st.WaitingFor, 60)
		}
		if err := w.once(ctx, fmt.Sprint(e.Box, st.Since.UnixNano()), text); err != nil {
			return 0, err
		}
	}
	items, _, err := w.Board.Store.Peek(mailbox.UserKey(""), mailbox.ClaimOptions{})
	if err != nil {
		return 0, err
	}
	for _, it := range items {
		about := it.Subject
		if about == "" {
			about = it.Body
		}
		if err := w.once(ctx, it.ID, frame.Line(it.From.Name, 40)+" writes: "+frame.Line(about, 80)); err != nil {
			return 0, err
		}
	}
	return next, nil
}

func (w *watcher) once(ctx context.Context, key, text string) error {
	if w.told[key] {
		return nil
	}
	w.told[key] = true
	return w.Tell(ctx, text)
}

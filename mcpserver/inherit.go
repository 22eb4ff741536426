package mcpserver

import (
	"context"
	"errors"
	"time"

	"peermux/detect"
	"peermux/internal/watch"
	"peermux/registry"
)

// inherit brings over the mail of the Codex threads that this one took the place
// of. After /new or /resume in a terminal the old thread can be gone back to until
// Codex unloads it, a minute later (0.171.0); its mail comes when it has ended.
func (i *identity) inherit(ctx context.Context) {
	live, err := i.server.board.Registry.Peek()
	if err != nil {
		return // nothing is lost: the mail waits for whoever resumes the thread
	}
	e, _, _ := i.current()
	before := detect.FindPredecessors(e, live)
	i.mu.Lock()
	i.before = before.Entries()
	i.mu.Unlock()
	for _, p := range before.Entries() {
		ended, stop := watch.Process(p.ID())
		select {
		case <-ended:
			stop()
		case <-ctx.Done():
			stop()
			return
		}
	}
	left := before.Ended()
	if len(left) == 0 {
		return
	}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for !i.takeOver(left) {
		select {
		case <-again.C: // not identified yet
		case <-ctx.Done():
			return
		}
	}
}

// replaced is the thread that this one may have replaced, told once, when it is
// found out who we are: after /clear its mail comes at once.
func (i *identity) replaced(next registry.Entry) []registry.Entry {
	if next.SessionID == "" || len(i.before) == 0 {
		return nil
	}
	last := i.before[len(i.before)-1:]
	i.before = nil
	return last
}

// takeOver moves the mail of the threads that have ended, and reports whether it
// is settled what becomes of it.
func (i *identity) takeOver(left []registry.Entry) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.entry.SessionID == "" {
		return false
	}
	step, err := detect.Beginning(i.facts(), i.diagnosis)
	if err != nil {
		return false
	}
	step.Inherits = true
	var errs []error
	for _, prev := range left {
		if v := registry.Succession(prev, step); v.Move && v.From != i.entry.Box {
			errs = append(errs, i.server.board.Store.Move(v.From, i.entry.Box))
		}
	}
	return errors.Join(errs...) == nil
}

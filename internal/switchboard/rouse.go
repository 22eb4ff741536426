package switchboard

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"peermux/registry"
	"peermux/wake"
)

// notAllowed is the outcome of an urgent broadcast for an idle session when the
// person has not allowed broadcasts to wake.
const notAllowed = "not_allowed"

// rouse wakes the readers of an urgent broadcast, if the person allows it, and says
// of each what came of it. All are woken at once, since each wake is mostly waiting
// for a proof: the caller waits for the slowest, not for all of them in turn.
func (b *Board) rouse(ctx context.Context, a Actor, readers []registry.Entry, res *BroadcastResult) {
	allowed, err := b.Waker.BroadcastsWake()
	res.Wakes = make([]BroadcastWake, len(readers))
	var group sync.WaitGroup
	for i, e := range readers {
		w := &res.Wakes[i]
		w.Session, w.SessionID = e.Name, e.SessionID
		status := b.StatusOf(e).Word
		switch {
		case !allowed && status == registry.Working:
			w.Outcome, w.Reason = string(wake.NotNeeded), "it is working"
		case !allowed:
			w.Outcome = notAllowed
		default:
			group.Go(func() {
				r := b.Waker.Wake(ctx, e, wake.Options{Urgency: urgencyHigh, From: a.Box})
				w.Outcome, w.Reason, w.Route = string(r.Outcome), r.Reason, r.Route
			})
		}
	}
	group.Wait()
	if !allowed {
		res.Notes = append(res.Notes, b.howToAllow(a, err))
	}
}

// howToAllow tells how broadcasts may wake; broken is what is wrong with wake.toml.
func (b *Board) howToAllow(a Actor, broken error) string {
	path := filepath.Join(b.Home, "wake.toml")
	note := fmt.Sprintf(`nobody was woken: an urgent broadcast wakes only where the person allows it, with wake = "high" under [broadcast] in %s`, path)
	if a.isSession() {
		note += "; that is for your user to decide, so do not write it yourself"
	}
	if broken != nil {
		note += "; the file as it is counts for nothing: " + broken.Error()
	}
	return note
}

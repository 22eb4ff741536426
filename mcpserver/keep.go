package mcpserver

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"time"

	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// schedule is when a session looks again who it is although nothing happened: the
// transcript that tells may come only with the first prompt.
func schedule() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 5 * time.Minute}
}

// begin starts what a session does beside answering calls, once the handshake is
// done.
func (i *identity) begin(ctx context.Context) {
	k := &keeper{identity: i, kicks: make(chan struct{}, 1), ended: ctx.Done()}
	go k.run(ctx)
}

// keeper keeps the entry true and takes up wakes that were held back.
type keeper struct {
	identity *identity
	kicks    chan struct{}
	ended    <-chan struct{}
	watched  string // what the subscriptions were made for
	stops    []func()
}

func (k *keeper) run(ctx context.Context) {
	i := k.identity
	defer k.unwatch()
	start := i.server.options.Now()
	k.look(i.refreshDeeply(ctx, false))
	if e, _, _ := i.current(); e.Client.PID != 0 {
		i.client <- e.Client.ID()
		go i.inherit(ctx)
	}
	due := schedule()
	next := time.NewTimer(due[0])
	defer next.Stop()
	retry := time.NewTimer(k.retry(ctx))
	defer retry.Stop()
	settle := time.NewTimer(0)
	defer settle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			// A client that lives for a second is no health check.
			k.look(i.refreshDeeply(ctx, true))
			if due = due[1:]; len(due) > 0 {
				next.Reset(due[0] - i.server.options.Now().Sub(start))
			}
			// Starting leaves garbage (mcp-go v1.2.1 compiles five meta-schemas),
			// and most servers do little for hours: dozens run on one machine.
			debug.FreeOSMemory()
		case <-k.kicks:
			k.look(i.refresh(false))
		case <-settle.C:
			if i.unsettled() {
				k.look(i.refresh(false))
			}
		case <-retry.C:
		}
		retry.Reset(k.retry(ctx))
		if i.unsettled() {
			settle.Reset(settleEvery)
		}
	}
}

// settleEvery is how often a session that has just changed its id looks whether
// the mail of the old one goes along: a hook or the transcript will tell.
const settleEvery = time.Second

// look follows the files of the session that a refresh has found. What failed is
// tried again at the next occasion; calls report it.
func (k *keeper) look(failed error) {
	if failed == nil {
		k.watch()
	}
}

// idleRetry is the pause when no wake is wanted; file events cut it short.
const idleRetry = time.Hour

// retry takes up a wake of this session that was held back, and returns when to
// try again.
func (k *keeper) retry(ctx context.Context) time.Duration {
	e, _, visible := k.identity.current()
	if !visible || e.SessionID == "" || ctx.Err() != nil {
		return idleRetry
	}
	_, again := k.identity.server.board.Waker.Retry(ctx, e)
	if again <= 0 {
		return idleRetry
	}
	return again
}

// watch subscribes to everything that can change who we are or whether we can be
// woken: the client's session file, the drops of hooks as long as no id is known,
// our journal, our status, our wake record.
func (k *keeper) watch() {
	e, _, _ := k.identity.current()
	home := k.identity.server.options.Home
	if k.watched == e.Box {
		return
	}
	k.unwatch()
	k.watched = e.Box
	watcher := k.identity.server.board.Watch
	files := []string{
		mailbox.JournalPath(home, e.Box), filepath.Join(home, "status", e.Box), filepath.Join(home, "wake", e.Box+".json"),
	}
	if e.Client.Kind == registry.Claude && e.Client.PID != 0 {
		files = append(files, k.identity.server.board.ClaudeSessionFile(e))
	}
	for _, file := range files {
		k.forward(watcher.File(file))
	}
	if e.SessionID == "" {
		k.forward(watcher.Dir(filepath.Join(home, "drops")))
	}
}

func (k *keeper) forward(events <-chan struct{}, stop func()) {
	k.stops = append(k.stops, watch.Forward(k.kicks, events, stop))
}

func (k *keeper) unwatch() {
	for _, stop := range k.stops {
		stop()
	}
	k.stops = nil
}

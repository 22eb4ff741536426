package gateway

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

const (
	// sweepEvery is how soon the folder of a session is missed that was killed.
	sweepEvery = 10 * time.Second
	// tryAgain is the pause after a full box or a full disk.
	tryAgain = 2 * time.Second
	// farewell bounds the work at the end of a server; others finish it.
	farewell = 500 * time.Millisecond
)

// Host is the server of one session.
type Host struct {
	Board *switchboard.Board
	Self  proc.ID // the server's process
	// Current tells who the session is now, and whether peers can see it.
	Current func() (registry.Entry, bool)
}

// Serve keeps the session's folders in the doors of all apps until ctx ends;
// Leave removes them then. Without apps it waits for gateway.json and does nothing.
func Serve(ctx context.Context, h Host) {
	k := &keeper{
		Host: h, kicks: make(chan struct{}, 1), watched: map[string]func(){},
		paused: map[string]time.Time{}, waiting: map[string]map[string]bool{}, wakes: make(chan wakeUp, 1),
	}
	defer k.unwatch()
	go k.wake(ctx)
	for {
		next := k.round(ctx)
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-k.kicks:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// keeper is one server's part in the gateway.
type keeper struct {
	Host
	kicks   chan struct{}
	watched map[string]func() // path to the end of its subscription
	swept   time.Time
	paused  map[string]time.Time       // app to when its drops are looked at again
	waiting map[string]map[string]bool // app to what lies in its out/
	wakes   chan wakeUp
}

// wakeUp is a wake that drops are worth.
type wakeUp struct {
	entry   registry.Entry
	urgency string
	from    string
}

// round does once all that is to do, and says when to look again at the latest.
// It subscribes before it looks, so that nothing falls in between.
func (k *keeper) round(ctx context.Context) time.Duration {
	paths := []string{ConfigPath(k.Board.Home), filepath.Join(k.Board.Home, "sessions", strconv.Itoa(k.Self.PID)+".json")}
	k.follow(paths...)
	apps, err := Apps(k.Board.Home)
	e, live := k.Current()
	if err != nil || len(apps) == 0 || !live || e.SessionID == "" {
		k.followOnly(paths)
		return time.Hour
	}
	paths = append(paths, filepath.Join(k.Board.Home, "status", e.Box))
	if e.Client.Kind == registry.Claude {
		paths = append(paths, k.Board.ClaudeSessionFile(e))
	}
	for _, app := range apps {
		paths = append(paths, mailbox.JournalPath(k.Board.Home, app.Box()))
		paths = append(paths, k.folders(app, e)...)
	}
	k.follow(paths...)
	sweep := k.Board.Now().Sub(k.swept) >= sweepEvery
	if sweep {
		k.swept = k.Board.Now()
	}
	next := sweepEvery
	for _, app := range apps {
		next = min(next, k.visit(ctx, app, e, sweep))
		if made := k.folders(app, e); k.follow(made...) {
			paths = append(paths, made...)
			next = time.Millisecond // what came before we followed
		}
	}
	k.followOnly(paths)
	return next
}

// visit does what is to do in one app's door.
func (k *keeper) visit(ctx context.Context, app App, e registry.Entry, sweep bool) (next time.Duration) {
	d, leave, err := enter(k.Board, app.Name, k.Self)
	if err != nil {
		return tryAgain // removed, or not safe to use now: see gateway list
	}
	defer leave()
	next = sweepEvery
	if sweep {
		// What could not be swept is swept the next time.
		_ = d.sweep()
	}
	if err := d.flush(); err != nil {
		next = tryAgain
	}
	if !slices.ContainsFunc(d.live, func(other registry.Entry) bool { return other.SessionID == e.SessionID }) {
		return next // out of this app's reach
	}
	f, err := d.ensure(e)
	if err != nil {
		return tryAgain
	}
	status := k.Board.StatusOf(e)
	if err := f.publish(status.Word); err != nil {
		next = tryAgain
	}
	again, err := d.tend(f, e, status)
	if err != nil {
		again = tryAgain
	}
	if again > 0 {
		next = min(next, again)
	}
	k.noteCollected(d, f)
	return min(next, k.take(ctx, d, f, e))
}

// take takes what was dropped, unless that was in vain a moment ago.
func (k *keeper) take(ctx context.Context, d *door, f folder, e registry.Entry) time.Duration {
	if left := k.paused[d.app.Name].Sub(d.now); left > 0 {
		return left
	}
	t, err := d.take(ctx, f, e)
	if t.count > 0 {
		// It only delays the end of what lies in gone/.
		_ = d.active()
	}
	if t.wake {
		k.wantWake(wakeUp{e, t.urgency, d.app.Box()})
	}
	switch {
	case err != nil || t.full:
		k.paused[d.app.Name] = d.now.Add(tryAgain)
		return tryAgain
	case t.more:
		return time.Millisecond // others may have the door in between
	}
	return sweepEvery
}

// noteCollected records that the app has taken something out of out/.
func (k *keeper) noteCollected(d *door, f folder) {
	ids, err := messages(f.out())
	if err != nil {
		return
	}
	now := map[string]bool{}
	for _, id := range ids {
		now[id] = true
	}
	for id := range k.waiting[d.app.Name] {
		if !now[id] {
			_ = d.active() // it only delays the end of what lies in gone/
			break
		}
	}
	k.waiting[d.app.Name] = now
}

// folders are what is watched of a session's folder in an app's door.
func (k *keeper) folders(app App, e registry.Entry) []string {
	d := &door{board: k.Board, app: app, live: []registry.Entry{e}}
	all, err := d.folders(app.Dir)
	if err != nil {
		return nil
	}
	f, ok := d.pick(e, all)
	if !ok {
		return nil
	}
	return []string{f.in() + "/", f.out() + "/"}
}

// wantWake asks for one wake for all that was taken lately.
func (k *keeper) wantWake(w wakeUp) {
	select {
	case old := <-k.wakes:
		if old.urgency == "high" {
			w.urgency = old.urgency
		}
	default:
	}
	select {
	case k.wakes <- w:
	default: // one is wanted already
	}
}

// wake wakes the session beside the rounds: it may take seconds to be proven.
func (k *keeper) wake(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-k.wakes:
			if k.Board.Waker.Mode != wake.ModeOff {
				// The waker keeps what is held, and the server takes it up again.
				k.Board.Waker.Wake(ctx, w.entry, wake.Options{Urgency: w.urgency, From: w.from})
			}
		}
	}
}

// follow subscribes to paths, of which one that ends in a slash is a folder, and
// reports whether any was new.
func (k *keeper) follow(paths ...string) (more bool) {
	for _, path := range paths {
		if k.watched[path] == nil {
			k.watched[path] = k.subscribe(path)
			more = true
		}
	}
	return more
}

// followOnly ends the subscriptions to all other paths.
func (k *keeper) followOnly(paths []string) {
	for path, end := range k.watched {
		if !slices.Contains(paths, path) {
			end()
			delete(k.watched, path)
		}
	}
}

func (k *keeper) subscribe(path string) (end func()) {
	subscribe := k.Board.Watch.File
	if strings.HasSuffix(path, "/") {
		subscribe = k.Board.Watch.Dir
	}
	events, stop := subscribe(path)
	return watch.Forward(k.kicks, events, stop)
}

func (k *keeper) unwatch() {
	for _, end := range k.watched {
		end()
	}
}

// Leave removes the folders of a session whose server ends. Its entry is gone by
// then, so nobody makes them again. What is not done in half a second, or when the
// server is killed, the servers of others do, and `peermux gateway list`.
func Leave(h Host) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		apps, err := Apps(h.Board.Home)
		if err != nil {
			return
		}
		for _, app := range apps {
			// Others sweep too.
			_ = Sweep(h, app.Name)
		}
	}()
	select {
	case <-done:
	case <-time.After(farewell):
	}
}

// Sweep removes the folders of ended sessions from one app's door and puts out
// what waits for it.
func Sweep(h Host, app string) error {
	d, leave, err := enter(h.Board, app, h.Self)
	if err != nil {
		return err
	}
	defer leave()
	return errors.Join(d.flush(), d.sweep())
}

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/wake"
)

// TestFiftyDays lives through 50 days of use with a clock of its own: sessions that
// start, end, go on after /clear and come back weeks later, messages, tasks, mail for
// repositories, broadcasts, announcements, and gc every night. An oracle
// (weeks_oracle_test.go) knows every message that was accepted, what it is owed, and
// what must be left of it on each day:
//
//   - each message is shown once to each it is for, in its order, also to a session
//     that comes back; a broadcast only to those who were there; an announcement to
//     repositories that appear later as well; what was retracted to nobody;
//   - nothing unshown or open ever leaves, and tasks stay open until they are closed;
//   - what is settled can be asked about for 30 days, and is gone from a box that was
//     compacted after that, and from the disk with the box of a session that is gone;
//     who has an old id of a session still reaches it;
//   - places in feeds never go back, and skip nothing younger than 30 days;
//   - a session is woken 40 times an hour at most, and by one sender 20 times.
//
// It is not a matter of chance what happens: a failure names the seed, and
// PEERMUX_SEED repeats it.
func TestFiftyDays(t *testing.T) {
	const days = 50
	w := newWeeks(t)
	for day := range days {
		for hour := range 24 {
			w.set(w.start.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour))
			for range w.rng.IntN(3) {
				w.tick(time.Duration(1+w.rng.IntN(15)) * time.Minute)
				w.happens(day)
			}
		}
		if day == 10 {
			w.busyHour()
		}
		w.night()
	}
	w.ends()
	t.Logf("%d sessions, %d messages, %d shown, %d boxes removed in %d nights",
		len(w.agents), len(w.letters), w.shown, w.removed, days)
	if len(w.letters) < 500 || w.removed < 10 || len(w.agents) < 40 {
		t.Error("too little has happened to prove anything")
	}
}

// weeks is a home, those who use it, and what its oracle knows.
type weeks struct {
	*testing.T
	board *switchboard.Board
	rng   *rand.Rand
	begun time.Time // by the real clock
	start time.Time // by its own, which runs long before that
	clock atomic.Int64

	repos   []*repo
	agents  []*agent // all there ever were
	letters map[string]*letter
	order   []string          // ids of letters, as they were accepted
	went    map[string]string // boxes that moved, and to where
	shown   int
	removed int // boxes
}

func newWeeks(t *testing.T) *weeks {
	t.Helper()
	seed := uint64(20260601)
	if text := os.Getenv("PEERMUX_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: PEERMUX_SEED=%d", seed)
		}
	})
	w := &weeks{T: t, rng: rand.New(rand.NewPCG(seed, seed)), begun: time.Now(), letters: map[string]*letter{}, went: map[string]string{}}
	w.start = w.begun.AddDate(0, 0, -120).Truncate(24 * time.Hour).UTC()
	w.set(w.start)
	home := filepath.Join(t.TempDir(), "home")
	env := func(key string) string {
		return map[string]string{"PEERMUX_WAKE": wake.ModeOff, "PEERMUX_REACH": "machine", "TMUX_TMPDIR": filepath.Join(home, "none")}[key]
	}
	var err error
	w.board, err = switchboard.Open(switchboard.Place{Home: home, UserHome: t.TempDir(), Env: env, Now: w.now})
	w.check("open", err)
	t.Cleanup(w.board.Watch.Close)
	for n, from := range []int{0, 0, 25} { // the third appears on day 25
		root := filepath.Join(t.TempDir(), fmt.Sprintf("repo%d", n))
		if err := os.MkdirAll(filepath.Join(root, ".git", "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(root, ".git", "refs"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, ".git", "HEAD"), []byte("ref: refs/heads/main\n"))
		root, err = filepath.EvalSymlinks(root)
		w.check("a repository", err)
		w.repos = append(w.repos, &repo{root: root, from: from, due: map[string]bool{}})
	}
	return w
}

func (w *weeks) now() time.Time       { return time.Unix(0, w.clock.Load()).UTC() }
func (w *weeks) set(t time.Time)      { w.clock.Store(t.UnixNano()) }
func (w *weeks) tick(d time.Duration) { w.set(w.now().Add(d)) }

// check ends the test at an error that nothing excuses.
func (w *weeks) check(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("day %d: %s: %v", w.day(), what, err)
	}
}

func (w *weeks) day() int { return int(w.now().Sub(w.start).Hours() / 24) }

func (w *weeks) live() []*agent {
	return slices.DeleteFunc(slices.Clone(w.agents), func(a *agent) bool { return !a.live })
}

// one is any of the living that pass.
func (w *weeks) one(pass func(*agent) bool) *agent {
	some := slices.DeleteFunc(w.live(), func(a *agent) bool { return !pass(a) })
	if len(some) == 0 {
		return nil
	}
	return some[w.rng.IntN(len(some))]
}

func anybody(*agent) bool { return true }

// happens lets one thing happen.
func (w *weeks) happens(day int) {
	if n := len(w.live()); n < 4 {
		w.comes(day)
		return
	}
	a := w.one(anybody)
	switch dice := w.rng.IntN(100); {
	case dice < 6:
		w.comes(day)
	case dice < 12:
		w.leaves(w.one(func(a *agent) bool { return !a.lazy }))
	case dice < 16:
		w.clears(a)
	case dice < 40:
		w.sends(a, false)
	case dice < 46:
		w.sends(a, true)
	case dice < 49:
		w.sendsRepo(a)
	case dice < 60:
		w.broadcasts(a, switchboard.ScopeProject)
	case dice < 64:
		w.broadcasts(a, switchboard.ScopeGlobal)
	case dice < 66:
		w.broadcasts(a, switchboard.ScopeRepos)
	case dice < 69:
		w.retracts(a)
	case dice < 75:
		w.closes(a)
	default:
		if !a.lazy || w.rng.IntN(60) == 0 {
			w.reads(a)
		}
	}
}

// night is what `peermux gc` does, with a look at what it left.
func (w *weeks) night() {
	w.age()
	before := w.boxes()
	keep := map[string]bool{}
	for _, a := range w.live() {
		keep[a.entry.Box] = true
	}
	living := func(key string) bool { return keep[key] }
	w.check("sweep", w.board.Registry.Sweep())
	_, err := w.board.Store.GC(mailbox.GCOptions{Keep: living})
	w.check("gc", err)
	_, err = w.board.Waker.GC(false, living)
	w.check("gc of wake records", err)
	w.judgeBoxes(before, keep)
	w.judgeMemory()
	for _, a := range w.live() {
		w.judgeWork(a)
		w.judgeCursors(a)
		if w.rng.IntN(4) == 0 {
			w.check("compact", w.board.Store.Compact(a.entry.Box))
			w.judgeCompacted(a)
		}
	}
	w.age()
}

// age gives what was written since the last call the time of this clock, as if the
// kernel had it, too.
func (w *weeks) age() {
	err := filepath.WalkDir(w.board.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(w.begun.Add(-time.Hour)) {
			err = os.Chtimes(path, w.now(), w.now())
		}
		return err
	})
	w.check("set the times of files", err)
}

// boxes are the journals there are, with the time of their last change.
func (w *weeks) boxes() map[string]time.Time {
	dirs, err := os.ReadDir(filepath.Join(w.board.Home, "boxes"))
	w.check("boxes", err)
	boxes := map[string]time.Time{}
	for _, d := range dirs {
		if info, err := os.Stat(mailbox.JournalPath(w.board.Home, d.Name())); err == nil {
			boxes[d.Name()] = info.ModTime()
		}
	}
	return boxes
}

// busyHour wakes one session again and again. It reads whenever its bell rings.
func (w *weeks) busyHour() {
	for len(w.live()) < 4 {
		w.comes(w.day())
	}
	w.board.Waker.Mode = wake.ModeNative
	defer func() { w.board.Waker.Mode = wake.ModeOff }()
	target, senders := w.live()[0], w.live()[1:4]
	w.hooked(target)
	w.reads(target)
	if n := w.wakesUntilHeld(target, senders[0]); n != 20 {
		w.Errorf("one sender woke a session %d times within an hour, want 20", n)
	}
	if n := w.wakesUntilHeld(target, senders[1]) + w.wakesUntilHeld(target, senders[2]); n != wake.DefaultBudget-20 {
		w.Errorf("and others %d times, want %d", n, wake.DefaultBudget-20)
	}
	w.tick(time.Hour)
	if n := w.wakesUntilHeld(target, senders[0]); n != 20 {
		w.Errorf("an hour later it was woken %d times, want 20", n)
	}
}

// wakesUntilHeld sends until a message wakes the target no more, and counts those that
// did.
func (w *weeks) wakesUntilHeld(target, from *agent) (landed int) {
	for range 100 {
		rung := w.onBell(target)
		res := w.sendsTo(from, target, false)
		got, err := rung()
		w.check("read at the bell", err)
		w.tick(10 * time.Second)
		if got != nil {
			w.judgeRead(target, got)
		} else {
			w.reads(target)
		}
		switch {
		case res.Wake == nil:
			w.Fatalf("nothing is said about waking %s: %+v", target.entry.Name, res)
		case res.Wake.Outcome == string(wake.Native):
			landed++
		case res.Wake.Outcome == string(wake.Held):
			return landed
		}
		// Else the bell rang and this machine was too slow for the waker's patience.
	}
	w.Fatalf("%s can be woken for ever", target.entry.Name)
	return 0
}

// ends brings everybody back, lets them read and close what they owe, and then leaves
// the home alone for 31 days.
func (w *weeks) ends() {
	for _, a := range w.agents {
		if !a.live {
			w.resumes(a)
		}
		w.reads(a)
		for w.closes(a) {
		}
	}
	for _, a := range w.agents {
		w.reads(a) // the results
		w.judgeWork(a)
	}
	for id, l := range w.letters {
		if l.task && !l.closed {
			w.Errorf("%s was never closed: it is in nobody's open work", id)
		}
	}
	for _, a := range w.agents {
		w.leaves(a)
	}
	w.age()
	w.tick(31 * 24 * time.Hour)
	// A box that moved goes in the night after the one that it went on as.
	for before := -1; before != w.removed; {
		before = w.removed
		w.night()
		w.tick(24 * time.Hour)
	}
	left := slices.DeleteFunc(slices.Collect(maps.Keys(w.boxes())), func(key string) bool { return strings.HasPrefix(key, "r-") })
	if len(left) > 0 {
		w.Errorf("after a month of silence these boxes are left: %q", left)
	}
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// house is a peermux home in which this process stands for the live sessions.
type house struct {
	t    *testing.T
	host Host
	app  App
	now  time.Time
}

func newHouse(t *testing.T) *house {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, now: time.Now()}
	home := filepath.Join(base, "peermux")
	now := func() time.Time { return h.now }
	env := func(key string) string {
		return map[string]string{"HOME": base, "PEERMUX_HOME": home, "PEERMUX_WAKE": wake.ModeOff}[key]
	}
	self, err := proc.Self()
	board, boardErr := switchboard.Open(switchboard.Place{Home: home, UserHome: base, Env: env, Now: now})
	if err := errors.Join(err, boardErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(board.Watch.Close)
	h.host = Host{Self: self.ID, Board: board}
	h.app = h.add("voice")
	return h
}

func (h *house) add(name string) App {
	h.t.Helper()
	app, err := Add(h.host.Board.Home, AddRequest{Name: name, Now: h.now})
	if err != nil {
		h.t.Fatal(err)
	}
	return app
}

// session makes this process one live session.
func (h *house) session(id string) registry.Entry {
	h.t.Helper()
	e := registry.Entry{
		V: 1, PID: h.host.Self.PID, Start: h.host.Self.Start, SessionID: id, SessionSource: "meta", Name: "ann",
		Client: registry.Client{Kind: registry.Claude, PID: h.host.Self.PID, Start: h.host.Self.Start, Mode: registry.Interactive},
		Box:    mailbox.SessionKey(id), CWD: "/p", Project: "/p", StartedAt: h.now, SeenAt: h.now,
	}
	e, err := h.host.Board.Register(e, "ann")
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

func (h *house) end() {
	h.t.Helper()
	if err := h.host.Board.Registry.Remove(h.host.Self.PID, h.host.Self.Start); err != nil {
		h.t.Fatal(err)
	}
}

// in works in the door as one round of a server does.
func (h *house) in(work func(*door) error) {
	h.t.Helper()
	d, leave, err := enter(h.host.Board, h.app.Name, h.host.Self)
	if err != nil {
		h.t.Fatal(err)
	}
	defer leave()
	if err := work(d); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) folder(e registry.Entry) (f folder) {
	h.t.Helper()
	h.in(func(d *door) (err error) {
		f, err = d.ensure(e)
		return err
	})
	return f
}

// takeAll takes what was dropped.
func (h *house) takeAll(f folder, e registry.Entry) (t taken) {
	h.t.Helper()
	h.in(func(d *door) (err error) {
		t, err = d.take(context.Background(), f, e)
		return err
	})
	return t
}

func (h *house) write(path, text string) {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// names lists a folder.
func (h *house) names(dir string) string {
	h.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// bodies are what a box holds.
func (h *house) bodies(key string) []string {
	h.t.Helper()
	st, err := h.host.Board.Store.State(key)
	if err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, it := range st.Items {
		list = append(list, it.Body)
	}
	return list
}

const (
	idA = "01KBB0T6Z2AAAAAAAAAAAAAAA1"
	idB = "01KBB0T6Z2AAAAAAAAAAAAAAA2"
)

const hello = "---\nkind: tell\n---\nhello\n"

// The folder of a session that ended stays in gone/ for a day after the app was
// there, and for as long as the app is away.
func TestGoneForADay(t *testing.T) {
	h := newHouse(t)
	e := h.session("session-1")
	f := h.folder(e)
	h.write(f.out(idA+".md"), "---\n---\nx\n")
	h.end()
	gone := filepath.Join(h.app.Dir, goneName, filepath.Base(f.path))
	for _, s := range []struct {
		name   string
		later  time.Duration
		active bool
		left   bool
	}{
		{"just ended", 0, false, true},
		{"away for a week", 7 * 24 * time.Hour, false, true},
		{"back", time.Minute, true, true},
		{"an hour later", time.Hour, false, true},
		{"a day later", 24 * time.Hour, false, false},
	} {
		h.now = h.now.Add(s.later)
		h.in(func(d *door) error {
			if s.active {
				if err := d.active(); err != nil {
					return err
				}
			}
			return d.sweep()
		})
		if got := h.names(filepath.Join(gone, outName)); (got == idA+".md") != s.left {
			t.Errorf("%s: gone/ has %q", s.name, got)
		}
	}
	if got := h.names(f.path); got != "" {
		t.Errorf("the folder is still there: %s", got)
	}
}

// A session that goes on finds its folder again, with what was in it.
func TestFolderComesBack(t *testing.T) {
	h := newHouse(t)
	e := h.session("session-1")
	f := h.folder(e)
	h.write(f.out(idA+".md"), "---\n---\nx\n")
	h.end()
	h.in((*door).sweep)
	e = h.session("session-1")
	again := h.folder(e)
	if again.path != f.path || h.names(again.out()) != idA+".md" || !again.card.EndedAt.IsZero() {
		t.Errorf("got %+v with %s", again, h.names(again.out()))
	}
}

// The waiting message: once an episode, also over a restart, and withdrawn.
func TestWaitingEpisode(t *testing.T) {
	h := newHouse(t)
	if _, err := SetWait(h.host.Board.Home, "voice", 5); err != nil {
		t.Fatal(err)
	}
	e := h.session("session-1")
	f := h.folder(e)
	since := h.now
	round := func(word string, later time.Duration) string {
		h.now = h.now.Add(later)
		h.in(func(d *door) error {
			_, err := d.tend(f, e, h.status(word, since))
			return err
		})
		ids, err := messages(f.out())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(ids, " ")
	}
	if got := round(registry.Waiting, time.Minute); got != "" {
		t.Errorf("too early: %s", got)
	}
	first := round(registry.Waiting, 5*time.Minute)
	if len(first) != 26 {
		t.Fatalf("not told: %q", first)
	}
	if got := round(registry.Waiting, time.Hour); got != first {
		t.Errorf("told again: %s", got)
	}
	if got := round(registry.Working, time.Second); got != "" {
		t.Errorf("not withdrawn: %s", got)
	}
	it, err := h.host.Board.Store.Find(h.app.Box(), first)
	if err != nil || it.Closed != "retracted" {
		t.Errorf("%+v, %v", it, err)
	}
	since = h.now
	if second := round(registry.Waiting, 5*time.Minute); len(second) != 26 || second == first {
		t.Errorf("the second episode: %q", second)
	}
}

// A full disk: the drop stays, and is taken when there is room. The limit is a
// process's, so it runs in one of its own.
func TestFullDisk(t *testing.T) {
	if os.Getenv(limitVar) == "" {
		apart(t)
		return
	}
	h := newHouse(t)
	e := h.session("session-1")
	f := h.folder(e)
	h.write(f.in(idA+".md"), hello)
	h.write(f.in(idB+".md"), "no front matter")
	m := mailbox.Message{From: switchboard.PartyOf(e), Body: strings.Repeat("x", 1000)}
	at, err := h.host.Board.Store.Append(h.app.Box(), &m, mailbox.AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	ignoreXFSZ(t)
	for limit := uint64(0); limit < 1200; limit += 50 {
		err := limited(was, limit, func() error {
			d, leave, err := enter(h.host.Board, "voice", h.host.Self)
			if err != nil {
				return err
			}
			defer leave()
			_, takeErr := d.take(context.Background(), f, e)
			return errors.Join(takeErr, d.flush(), d.sweep())
		})
		if limit == 0 && err == nil {
			t.Fatal("the limit is not felt")
		}
	}
	h.takeAll(f, e)
	h.in((*door).flush)
	want := fmt.Sprintf("%s.seen.md %s.bad.md %s.why.txt", idA, idB, idB)
	if got := h.names(f.in()); got != want {
		t.Errorf("in/ has %s", got)
	}
	if got := h.names(f.out()); got != at.ID+".md" {
		t.Errorf("out/ has %s", got)
	}
	if got := h.bodies(e.Box); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("the box has %q", got)
	}
}

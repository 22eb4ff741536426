package wake

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/tmux"
	"peermux/mailbox"
	"peermux/registry"
)

const pasted = `"\x1b[200~` + Line + `\x1b[201~"`

// rig is a stand-in in a pane of a tmux server of its own, with mail in its box.
type rig struct {
	t      testing.TB
	runner *tmux.Runner
	waker  *Waker
	entry  registry.Entry
	dir    string
}

// start brings up a stand-in with one unshown message.
func start(t testing.TB, s standIn) *rig {
	t.Helper()
	r := prepare(t, s.Kind)
	r.launch(s)
	r.mail("first")
	return r
}

func prepare(t testing.TB, kind string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmx") // short: a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	home := filepath.Join(dir, "home")
	store, err := mailbox.Open(filepath.Join(dir, "pm"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir}
	r.waker = &Waker{
		Home: filepath.Join(dir, "pm"), Store: store,
		Registry: registry.Open(filepath.Join(dir, "pm"), time.Now),
		Env:      func(string) string { return "" }, Now: time.Now,
	}
	r.entry = registry.Entry{
		V: 1, SessionID: "stand-in", Box: mailbox.SessionKey("stand-in"), Name: "stand-in",
		Client: registry.Client{Kind: kind, Mode: registry.Interactive},
	}
	r.runner = &tmux.Runner{
		Socket: filepath.Join(dir, "s"),
		// LC_ALL=C and no -u would turn the prompt glyphs into "_".
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "TERM=xterm-256color"},
	}
	t.Cleanup(func() {
		if _, err := r.runner.Run(context.Background(), "", "kill-server"); err != nil && !errors.Is(err, tmux.ErrNoServer) {
			t.Error(err)
		}
	})
	return r
}

// launch starts the stand-in in a shell's pane and waits until it is ready.
func (r *rig) launch(s standIn) {
	r.t.Helper()
	s.Dir, s.Home, s.Box = r.dir, r.waker.Home, r.entry.Box
	conf, err := json.Marshal(s)
	if err != nil {
		r.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "pid")); err != nil {
		r.t.Fatal(err)
	}
	r.tmux("-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "20",
		"-e", "PEERMUX_STANDIN="+string(conf), "sh", "-c", self+"; PEERMUX_STANDIN= exec sh")
	r.until("the stand-in is up", func() bool { return r.file("pid") != "" })
	pid, err := strconv.Atoi(r.file("pid"))
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := proc.Stat(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	r.entry.Client.PID, r.entry.Client.Start = info.PID, info.Start
	r.entry.PID, r.entry.Start = info.PID, info.Start
	r.until("the stand-in has drawn", func() bool {
		screen, err := r.runner.Capture(context.Background(), "%0", tmux.CaptureOptions{})
		return err == nil && strings.TrimSpace(screen) != ""
	})
}

func (r *rig) tmux(args ...string) string {
	r.t.Helper()
	out, err := r.runner.Run(context.Background(), "", args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) file(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (r *rig) mail(body string) {
	r.t.Helper()
	m := &mailbox.Message{Kind: "note", Body: body, From: mailbox.Party{Name: "peer", Box: "s-peer"}}
	if _, err := r.waker.Store.Append(r.entry.Box, m, mailbox.AppendOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) unshown() int {
	r.t.Helper()
	n, err := r.waker.Store.Pending(r.entry.Box)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) wake() Result {
	return r.waker.Wake(context.Background(), r.entry, Options{From: "s-peer"})
}

// patience is how long a test waits for what comes at once on an idle machine.
const patience = 30 * time.Second

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatalf("not seen in %v: %s\nlog:\n%s", patience, what, r.file("log"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// log is what the stand-in saw, without the times.
func (r *rig) log() []string {
	var lines []string
	for line := range strings.Lines(r.file("log")) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines = append(lines, what)
	}
	return lines
}

// times are when the reads came, in order.
func (r *rig) times() []time.Time {
	var times []time.Time
	for line := range strings.Lines(r.file("log")) {
		stamp, what, _ := strings.Cut(line, " ")
		if us, err := strconv.ParseInt(stamp, 10, 64); err == nil && strings.HasPrefix(what, "read") {
			times = append(times, time.UnixMicro(us))
		}
	}
	return times
}

func (r *rig) expect(got Result, outcome Outcome, log ...string) {
	r.t.Helper()
	if got.Outcome != outcome {
		r.t.Errorf("got %+v, want %s", got, outcome)
	}
	// The stand-in notes what it did after it has done it.
	deadline := time.Now().Add(patience)
	for len(r.log()) < len(log) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if a, b := strings.Join(r.log(), "\n"), strings.Join(log, "\n"); a != b {
		r.t.Errorf("the stand-in saw:\n%s\nwant:\n%s", a, b)
	}
}

const (
	readPaste = "read " + pasted
	readEnter = `read "\r"`
	submitted = `SUBMIT "` + Line + `"`
)

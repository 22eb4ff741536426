package wake

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

func TestWakeInTmux(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := start(t, standIn{Kind: kind})
			r.mail("second")
			r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 2")
			r.expect(r.wake(), NotNeeded, readPaste, readEnter, submitted, "SHOWN 2")
			if r.unshown() != 0 {
				t.Error("mail is unshown")
			}
		})
	}
}

// TestBehaviours: for each way in which a client can be in the wrong moment,
// exactly the right bytes and the right outcome.
func TestBehaviours(t *testing.T) {
	tests := []struct {
		name   string
		s      standIn
		want   Outcome
		reason string // part of it
		log    []string
	}{
		{"enter in a burst is a newline", standIn{Kind: "codex", BurstNewline: true}, Submitted, "",
			[]string{readPaste, readEnter, submitted, "SHOWN 1"}},
		{"the first Enter is swallowed", standIn{Kind: "claude", SwallowEnter: 1}, Submitted, "",
			[]string{readPaste, readEnter, readEnter, submitted, "SHOWN 1"}},
		{"every Enter is swallowed", standIn{Kind: "claude", SwallowEnter: 9}, TypedNotSubmitted, "still stands in the composer",
			[]string{readPaste, readEnter, readEnter}},
		{"a draft", standIn{Kind: "claude", Draft: "do not del"}, Held, "a draft is in the composer", nil},
		{"a draft of blanks", standIn{Kind: "claude", Draft: "  "}, Held, "cursor", nil},
		{"a draft that ends in our line", standIn{Kind: "claude", Draft: "x " + Line}, Held, "a draft is in the composer", nil},
		{"our line, but nobody typed it", standIn{Kind: "claude", Draft: Line}, Held, "a draft is in the composer", nil},
		{"ghost text", standIn{Kind: "claude", Ghost: "Try \"fix the tests\""}, Submitted, "",
			[]string{readPaste, readEnter, submitted, "SHOWN 1"}},
		{"a dialog opens after the paste", standIn{Kind: "claude", OnPaste: "dialog"}, TypedNotSubmitted, "permission prompt",
			[]string{readPaste}},
		{"copy mode before Enter", standIn{Kind: "claude", OnPaste: "copy-mode"}, TypedNotSubmitted, "copy mode",
			[]string{readPaste}},
		{"it dies and a shell takes its place", standIn{Kind: "claude", OnPaste: "die"}, TypedNotSubmitted, "not running",
			[]string{readPaste}},
		{"a person types on", standIn{Kind: "claude", OnPaste: "draft"}, TypedNotSubmitted, "a draft is in the composer",
			[]string{readPaste}},
		{"the mail is read by somebody else meanwhile", standIn{Kind: "claude", OnPaste: "read"}, Submitted, "",
			[]string{readPaste, "SHOWN 1", readEnter, submitted, "SHOWN 0"}},
		{"the paste is dropped", standIn{Kind: "claude", OnPaste: "forget"}, TypedNotSubmitted, "empty again",
			[]string{readPaste}},
		{"no sign of a turn", standIn{Kind: "claude", Deaf: true, Silent: true}, TypedNotSubmitted, "no turn was seen",
			[]string{readPaste, readEnter, submitted}},
		{"an unknown client", standIn{Kind: "other"}, Held, "no recogniser for other", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, tt.s)
			got := r.wake()
			r.expect(got, tt.want, tt.log...)
			if !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got reason %q, want %q in it", got.Reason, tt.reason)
			}
			if times := r.times(); len(times) > 1 && times[1].Sub(times[0]) < 150*time.Millisecond {
				t.Errorf("text and Enter came only %v apart", times[1].Sub(times[0]))
			}
			reason, _, held := r.waker.Held(r.entry.Box)
			if want := tt.want != Submitted; held != want || held && !strings.Contains(reason, tt.reason) {
				t.Errorf("held %v: %q, want %v", held, reason, want)
			}
		})
	}
}

func TestStates(t *testing.T) {
	t.Run("copy mode", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		r.tmux("copy-mode", "-t", "%0")
		r.expect(r.wake(), Held)
		r.tmux("send-keys", "-t", "%0", "-X", "cancel")
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		p, err := os.FindProcess(r.entry.Client.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), Held)
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
	})
	t.Run("read meanwhile", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		claim, err := r.waker.Store.Claim(r.entry.Box, mailbox.ClaimOptions{Via: "tool", PID: os.Getpid(), Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Shown(); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), NotNeeded)
	})
	t.Run("another process in the pane under the same id", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		old := r.entry
		pane, err := r.runner.Pane(context.Background(), "%0")
		if err != nil {
			t.Fatal(err)
		}
		r.tmux("kill-server")
		r.until("the old ones are gone", func() bool {
			_, err := proc.Stat(pane.ServerPID)
			return err != nil && !proc.Alive(old.Client.ID())
		})
		r.launch(standIn{Kind: "claude"}) // %0 again, on the same socket
		r.entry = old
		r.expect(r.wake(), NoRoute)
	})
	t.Run("no pane at all", func(t *testing.T) {
		t.Parallel()
		r := prepare(t, "claude")
		self, err := proc.Self()
		if err != nil {
			t.Fatal(err)
		}
		r.entry.Client.PID, r.entry.Client.Start = self.PID, self.Start
		r.entry.Client.Kind = "other"
		r.mail("first")
		r.expect(r.wake(), NoRoute)
	})
	t.Run("a server that was named with -L", func(t *testing.T) {
		t.Parallel()
		r := prepare(t, "claude")
		// tmux makes <folder>/tmux-<uid>/<name> of it.
		folder := filepath.Join(r.dir, fmt.Sprintf("tmux-%d", os.Getuid()))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		r.runner.Socket = filepath.Join(folder, "other")
		r.launch(standIn{Kind: "claude"})
		r.mail("first")
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
	})
	t.Run("an agent in a split, and another one active", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		r.tmux("split-window", "-t", "%0", "cat >"+filepath.Join(r.dir, "neighbour")) // active now
		r.until("the neighbour is up", func() bool { _, err := os.Stat(filepath.Join(r.dir, "neighbour")); return err == nil })
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
		if got := r.file("neighbour"); got != "" {
			t.Errorf("the neighbour got %q", got)
		}
	})
	t.Run("a child that inherited the pane", func(t *testing.T) {
		t.Parallel()
		// A daemon started from a pane has its TMUX_PANE, and no right to it.
		r := start(t, standIn{Kind: "claude"})
		daemon := exec.Command("setsid", "sleep", "1000")
		daemon.Env = []string{"PATH=" + os.Getenv("PATH"), "TMUX=" + r.runner.Socket + ",1,0", "TMUX_PANE=%0"}
		daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := daemon.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = daemon.Wait() // it was killed
		})
		info, err := proc.Stat(daemon.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		r.entry.Client.Kind, r.entry.Client.PID, r.entry.Client.Start = "codex", info.PID, info.Start
		r.expect(r.wake(), NoRoute)
	})
	t.Run("modes and urgency", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		if got := r.waker.Wake(context.Background(), r.entry, Options{Urgency: "low"}); got.Outcome != NotNeeded {
			t.Errorf("urgency low: got %+v", got)
		}
		for mode, want := range map[string]Outcome{ModeOff: NoRoute, "Off": NoRoute, ModeNative: NoRoute} {
			w := *r.waker
			w.Mode = mode
			if got := w.Wake(context.Background(), r.entry, Options{}); got.Outcome != want {
				t.Errorf("mode %s: got %+v, want %s", mode, got, want)
			}
		}
		r.expect(Result{}, "")
	})
	t.Run("vim's keys", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "claude"})
		settings := filepath.Join(r.dir, "home", ".claude", "settings.json")
		if err := os.WriteFile(settings, []byte(`{"editorMode": "vim"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), Held) // nothing says INSERT
		if err := os.WriteFile(settings, []byte(`{"editorMode": "normal"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
	})
	t.Run("a client with a rule", func(t *testing.T) {
		t.Parallel()
		r := start(t, standIn{Kind: "other", Ghost: "Type your message"})
		rule := "[client.other]\nprompt = \"> \"\nplaceholder = \"Type your message\"\nidle = [\"ready\"]\nbusy = [\"thinking\"]\n"
		if err := os.WriteFile(filepath.Join(r.waker.Home, "wake.toml"), []byte(rule), 0o600); err != nil {
			t.Fatal(err)
		}
		r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
	})
}

// TestHangingTmux: a tmux that does not answer costs a few seconds and no more.
func TestHangingTmux(t *testing.T) {
	r := start(t, standIn{Kind: "claude"})
	path := os.Getenv("PATH")
	hang := filepath.Join(r.dir, "tmux")
	if err := os.WriteFile(hang, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", r.dir+":"+path)
	got := r.wake()
	if got.Outcome != NoRoute || !strings.Contains(got.Reason, "did not answer in time") {
		t.Errorf("got %+v", got)
	}
	t.Setenv("PATH", path)
	r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
}

func TestTwoWakersAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t, standIn{Kind: "claude"})
	results := make([]Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = r.wake() })
	}
	wg.Wait()
	woken := 0
	for _, got := range results {
		switch got.Outcome {
		case Submitted:
			woken++
		case NotNeeded:
		default:
			t.Errorf("got %+v", got)
		}
	}
	if woken != 1 {
		t.Errorf("%d of them say submitted, want 1", woken)
	}
	r.expect(Result{}, "", readPaste, readEnter, submitted, "SHOWN 1")
}

// TestKilledBetweenPasteAndEnter: the next wake presses Enter and types nothing.
func TestKilledBetweenPasteAndEnter(t *testing.T) {
	t.Parallel()
	r := start(t, standIn{Kind: "claude", SwallowEnter: 0})
	job, err := json.Marshal(map[string]any{"home": r.waker.Home, "entry": r.entry})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PEERMUX_WAKER="+string(job), "TMUX_TMPDIR="+r.dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v, want a killed waker: %s", err, out)
	}
	r.until("the paste has arrived", func() bool { return len(r.log()) == 1 })
	r.expect(r.wake(), Submitted, readPaste, readEnter, submitted, "SHOWN 1")
}

// wakerMain wakes, and is killed as soon as the line was pasted.
func wakerMain(job string) {
	var j struct {
		Home  string
		Entry registry.Entry
	}
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		panic(err)
	}
	store, err := mailbox.Open(j.Home, time.Now)
	if err != nil {
		panic(err)
	}
	w := &Waker{Home: j.Home, Store: store, Registry: registry.Open(j.Home, time.Now), Env: os.Getenv, Now: time.Now}
	unlock, err := w.lock(context.Background(), "wake-"+j.Entry.Box)
	if err != nil || unlock == nil {
		panic(fmt.Sprint("no lock: ", err))
	}
	rec, err := w.load(j.Entry.Box)
	if err != nil {
		panic(err)
	}
	a := &attempt{Waker: w, entry: j.Entry, rec: rec}
	p, route, why := a.findPane(context.Background())
	if p == nil {
		panic(why)
	}
	a.typeInto(context.Background(), route, &fatalPaste{terminal: p})
}

// fatalPaste is a pane whose waker dies right after the paste.
type fatalPaste struct{ terminal }

func (f *fatalPaste) Paste(ctx context.Context, text string) error {
	if err := f.terminal.Paste(ctx, text); err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // never reached further
}

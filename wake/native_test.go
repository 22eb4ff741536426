package wake

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// idle makes a live session of this test process that its hooks call idle.
func idle(t *testing.T, kind string) *rig {
	t.Helper()
	r := prepare(t, kind)
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	r.entry.PID, r.entry.Start = self.PID, self.Start
	r.entry.Client.PID, r.entry.Client.Start = self.PID, self.Start
	r.status(registry.Idle)
	return r
}

func (r *rig) status(word string) {
	r.t.Helper()
	if err := r.waker.Registry.SetStatus(r.entry.Box, word, time.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// hooked says that a SessionStart hook has run in the session.
func (r *rig) hooked(headless bool) {
	r.t.Helper()
	drop := registry.Drop{
		V: 1, Box: r.entry.Box, Client: registry.Claude, SessionID: r.entry.SessionID, Event: "SessionStart", At: time.Now(), Headless: headless,
		PIDs: []proc.ID{r.entry.Client.ID()}, Hooks: map[string]time.Time{"SessionStart": time.Now()},
	}
	if err := r.waker.Registry.PutDrop(drop); err != nil {
		r.t.Fatal(err)
	}
}

// show marks all mail of the box as shown, as a hook does.
func (r *rig) show() error {
	claim, err := r.waker.Store.Claim(r.entry.Box, mailbox.ClaimOptions{Via: "FileChanged", PID: r.entry.Client.PID, Start: r.entry.Client.Start, Limit: 99})
	if err != nil {
		return err
	}
	return claim.Shown()
}

// onBell shows the mail when the bell is written, as Claude's hook does.
func (r *rig) onBell() {
	path := mailbox.BellPath(r.waker.Home, r.entry.Box)
	before, _ := os.ReadFile(path)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if now, err := os.ReadFile(path); err == nil && string(now) != string(before) {
				done <- r.show()
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
		done <- nil
	}()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

func TestBell(t *testing.T) {
	t.Run("rings and is answered", func(t *testing.T) {
		t.Parallel()
		r := idle(t, "claude")
		r.hooked(false)
		r.mail("first")
		r.onBell()
		if got := r.wake(); got.Outcome != Native || got.Route != routeBell {
			t.Errorf("got %+v", got)
		}
		if got := r.wake(); got.Outcome != NotNeeded {
			t.Errorf("a second time: got %+v", got)
		}
	})
	t.Run("a dialog is open", func(t *testing.T) {
		t.Parallel()
		r := idle(t, "claude")
		r.hooked(false)
		r.status(registry.Waiting)
		r.mail("first")
		got := r.wake()
		if got.Outcome != Held || got.Route != routeBell || !strings.Contains(got.Reason, "waits for its user") {
			t.Errorf("got %+v", got)
		}
		if _, err := os.Stat(mailbox.BellPath(r.waker.Home, r.entry.Box)); err != nil {
			t.Errorf("the bell was not rung: %v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		r := idle(t, "claude")
		r.hooked(false)
		r.mail("first")
		if got := r.wake(); got.Outcome == Native || got.Outcome == Submitted {
			t.Errorf("got %+v without any proof", got)
		}
		if reason, _, held := r.waker.Held(r.entry.Box); !held || reason == "" {
			t.Errorf("held %v: %q", held, reason)
		}
	})
	t.Run("its sender goes away", func(t *testing.T) {
		t.Parallel()
		r := idle(t, "claude")
		r.waker.Mode = ModeNative
		r.hooked(false)
		r.mail("first")
		ctx, cancel := context.WithCancel(t.Context())
		r.listens(1, func() error { cancel(); return nil })
		if got := r.waker.Wake(ctx, r.entry, Options{From: "s-peer"}); got.Outcome != Failed || !strings.Contains(got.Reason, "broken off") {
			t.Errorf("got %+v", got)
		}
		if u := r.unshown(); u != 1 {
			t.Errorf("%d messages wait", u)
		}
	})
	for name, prepare := range map[string]func(*rig){
		"no hook has run":  func(*rig) {},
		"headless":         func(r *rig) { r.hooked(true) },
		"a headless entry": func(r *rig) { r.hooked(false); r.entry.Client.Mode = registry.Headless },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := idle(t, "claude")
			prepare(r)
			r.mail("first")
			if got := r.wake(); got.Outcome != NoRoute {
				t.Errorf("got %+v", got)
			}
			if _, err := os.Stat(mailbox.BellPath(r.waker.Home, r.entry.Box)); err == nil {
				t.Error("the bell was rung")
			}
		})
	}
}

// fakeCodex is this test program under the name codex: as the session's process
// it waits, and as "codex queue" it logs what it was given.
func fakeCodex() {
	dir := filepath.Dir(os.Args[0])
	if len(os.Args) < 2 || os.Args[1] != "queue" {
		_, _ = io.Copy(io.Discard, os.Stdin) // lives until its test ends
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, "queued"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%q home=%s\n", os.Args[1:], os.Getenv("CODEX_HOME"))
	switch os.Getenv("HOME") {
	case "/fails":
		fmt.Fprintln(os.Stderr, "Error: no rollout found for thread id")
		os.Exit(1)
	case "/silent":
		return
	}
	fmt.Println("Queued message 1 for thread x.")
}

// codex starts the stand-in for a session's process. Its HOME says how queue
// behaves.
func codex(t *testing.T, home string) *rig {
	t.Helper()
	r := prepare(t, "codex")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(r.dir, "codex")
	// A child that another test forks meanwhile would hold the file open for writing,
	// and what is open for writing cannot be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(program, self, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CODEX_HOME=/the/codex/home"}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r.until("it runs its own program", func() bool { return proc.Exe(info.PID) == program })
	r.entry.Client.PID, r.entry.Client.Start = info.PID, info.Start
	r.entry.PID, r.entry.Start = info.PID, info.Start
	return r
}

func TestQueue(t *testing.T) {
	want := fmt.Sprintf("%q home=/the/codex/home\n", []string{"queue", "--thread", "stand-in", "--message=" + Line})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/works")
		r.mail("first")
		if got := r.wake(); got.Outcome != Native || got.Route != routeQueue {
			t.Errorf("got %+v", got)
		}
		r.mail("second")
		if got := r.wake(); got.Outcome != NotNeeded || !strings.Contains(got.Reason, "on its way") {
			t.Errorf("one is outstanding: got %+v", got)
		}
		if got := r.file("queued"); got != want {
			t.Errorf("codex was run with %s, want %s", got, want)
		}
		if err := r.show(); err != nil {
			t.Fatal(err)
		}
		r.mail("third")
		if got := r.wake(); got.Outcome != Native {
			t.Errorf("after mail was shown: got %+v", got)
		}
		if got := r.file("queued"); got != want+want {
			t.Errorf("codex was run with %s", got)
		}
	})
	t.Run("a dialog is open", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/works")
		r.status(registry.Waiting)
		r.mail("first")
		if got := r.wake(); got.Outcome != Held || r.file("queued") != "" {
			t.Errorf("got %+v, queued %q", got, r.file("queued"))
		}
	})
	t.Run("working", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/works")
		r.status(registry.Working)
		r.mail("first")
		if got := r.wake(); got.Outcome != NotNeeded || r.file("queued") != "" {
			t.Errorf("got %+v, queued %q", got, r.file("queued"))
		}
	})
	t.Run("queue fails", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/fails")
		r.mail("first")
		if got := r.wake(); got.Outcome == Native || r.file("queued") != want {
			t.Errorf("got %+v, queued %q", got, r.file("queued"))
		}
	})
	t.Run("queue does not confirm", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/silent")
		r.mail("first")
		if got := r.wake(); got.Outcome == Native {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("no thread id yet", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/works")
		r.entry.SessionID = ""
		r.mail("first")
		if got := r.wake(); got.Outcome != NoRoute || r.file("queued") != "" {
			t.Errorf("got %+v, queued %q", got, r.file("queued"))
		}
	})
}

func TestEconomy(t *testing.T) {
	t.Run("a budget per hour", func(t *testing.T) {
		t.Parallel()
		r := codex(t, "/works")
		limit := "budget_per_hour = 3\n"
		r.mail("first") // makes the home
		if err := private.WriteFile(filepath.Join(r.waker.Home, "wake.toml"), []byte(limit)); err != nil {
			t.Fatal(err)
		}
		ahead := time.Duration(0)
		r.waker.Now = func() time.Time { return time.Now().Add(ahead) }
		woken := 0
		for range 1000 {
			r.mail("again")
			switch got := r.wake(); got.Outcome {
			case Native:
				woken++
				if err := r.show(); err != nil {
					t.Fatal(err)
				}
			case Held:
				if !strings.Contains(got.Reason, "3 times in the last hour") {
					t.Fatalf("got %+v", got)
				}
			default:
				t.Fatalf("got %+v", got)
			}
		}
		if woken != 3 {
			t.Errorf("woken %d times, want 3", woken)
		}
		ahead = time.Hour
		if got := r.wake(); got.Outcome != Native {
			t.Errorf("an hour later: got %+v", got)
		}
	})
	t.Run("two that only thank each other", func(t *testing.T) {
		now := time.Now()
		rec := &record{}
		for range pairBudget {
			rec.land("s-peer", now)
		}
		if why := rec.spent("s-peer", DefaultBudget, now); !strings.Contains(why, "by the same sender") {
			t.Errorf("got %q", why)
		}
		if why := rec.spent("s-other", DefaultBudget, now); why != "" {
			t.Errorf("another sender: got %q", why)
		}
		if why := rec.spent("s-peer", DefaultBudget, now.Add(time.Hour+time.Second)); why != "" {
			t.Errorf("an hour later: got %q", why)
		}
	})
}

func TestExplainChangesNothing(t *testing.T) {
	r := start(t, standIn{Kind: "claude"})
	got := r.waker.Explain(context.Background(), r.entry)
	if got.Outcome != Submitted || got.Route != routeTmux {
		t.Errorf("got %+v", got)
	}
	facts := map[string]Fact{}
	for _, f := range got.Facts {
		facts[f.Name] = f
		if f.Source == "" {
			t.Errorf("%s has no source", f.Name)
		}
	}
	for name, value := range map[string]string{"alive": "yes", "unshown": "1", "composer": "empty (the composer is empty)", "foreground": "yes", "mode": "auto"} {
		if facts[name].Value != value {
			t.Errorf("%s: got %q, want %q", name, facts[name].Value, value)
		}
	}
	if !strings.HasPrefix(facts["status"].Value, "idle") || facts["status"].Source == "" {
		t.Errorf("status: got %+v", facts["status"])
	}
	if len(r.log()) != 0 || r.unshown() != 1 {
		t.Errorf("the stand-in saw %q", r.log())
	}
	if _, err := os.Stat(filepath.Join(r.waker.Home, "wake")); err == nil {
		t.Error("a record was written")
	}
	data, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(data), `"source":"kernel"`) {
		t.Errorf("got %s (%v)", data, err)
	}
}

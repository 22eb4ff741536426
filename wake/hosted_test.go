package wake

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"peermux/internal/proc"
	"peermux/internal/ptyhost"
)

// hostMain is "peermux run" in this test program.
func hostMain() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	code, err := ptyhost.Run(ptyhost.Options{
		Home: os.Getenv("PEERMUX_TEST_HOME"), Command: []string{self},
		Env:    append(os.Environ(), "PEERMUX_TEST_HOST=leader"),
		Leader: []string{self}, In: os.Stdin, Out: os.Stdout,
	})
	if err != nil {
		panic(err)
	}
	os.Exit(code)
}

func leaderMain() {
	// The program is this one again, and is a stand-in only without the variable.
	if err := os.Unsetenv("PEERMUX_TEST_HOST"); err != nil {
		panic(err)
	}
	if err := ptyhost.Lead(os.Args[1:]); err != nil {
		panic(err)
	}
}

// host starts a stand-in under a PTY host on a terminal that no tmux knows.
func host(t *testing.T, s standIn) (r *rig, keyboard *os.File) {
	t.Helper()
	r = prepare(t, s.Kind)
	s.Dir, s.Home, s.Box = r.dir, r.waker.Home, r.entry.Box
	conf, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	r.mail("first") // makes the home, in which the host puts its socket
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: 90, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(r.dir, "home"), "TERM=xterm-256color",
		"PEERMUX_TEST_HOST=host", "PEERMUX_TEST_HOME=" + r.waker.Home, "PEERMUX_STANDIN=" + string(conf),
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go func() { // somebody looks at the terminal
		buf := make([]byte, 4096)
		for {
			if _, err := master.Read(buf); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		// A pending read keeps the master open, so closing it would hang up nobody.
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it ends by SIGHUP
		master.Close()
	})
	r.until("the stand-in is up", func() bool { return r.file("pid") != "" })
	pid, err := strconv.Atoi(r.file("pid"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	r.entry.Client.PID, r.entry.Client.Start = info.PID, info.Start
	r.entry.PID, r.entry.Start = info.PID, info.Start
	a := &attempt{Waker: r.waker, entry: r.entry, rec: &record{}}
	r.until("the host has read what the stand-in has drawn", func() bool {
		term, _, _ := a.findHost(context.Background())
		if term == nil {
			return false
		}
		seen, err := term.Look(context.Background())
		return err == nil && readComposer(s.Kind, seen.Screen, nil).State != Unknown
	})
	return r, master
}

func TestWakeUnderHost(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, _ := host(t, standIn{Kind: kind})
			got := r.wake()
			r.expect(got, Submitted, readPaste, readEnter, submitted, "SHOWN 1")
			if got.Route != routeHost {
				t.Errorf("got route %q", got.Route)
			}
		})
	}
	t.Run("a draft, and the person goes on", func(t *testing.T) {
		t.Parallel()
		r, keyboard := host(t, standIn{Kind: "claude"})
		if _, err := keyboard.WriteString("draft"); err != nil {
			t.Fatal(err)
		}
		r.until("the draft is there", func() bool { return len(r.log()) > 0 })
		if got := r.wake(); got.Outcome != Held || !strings.Contains(got.Reason, "a draft") {
			t.Errorf("got %+v", got)
		}
		if _, err := keyboard.WriteString("\r"); err != nil {
			t.Fatal(err)
		}
		r.until("the person's turn shows the mail", func() bool { return r.unshown() == 0 })
		for _, line := range r.log() {
			if strings.Contains(line, "Peer mail") {
				t.Errorf("a line was typed: %s", line)
			}
		}
	})
	t.Run("a dialog opens after the paste", func(t *testing.T) {
		t.Parallel()
		r, _ := host(t, standIn{Kind: "claude", OnPaste: "dialog"})
		r.expect(r.wake(), TypedNotSubmitted, readPaste)
	})
	t.Run("the host's socket is another's", func(t *testing.T) {
		t.Parallel()
		r, _ := host(t, standIn{Kind: "claude"})
		other, _ := host(t, standIn{Kind: "claude"})
		r.entry.Client = other.entry.Client
		a := &attempt{Waker: r.waker, entry: r.entry, rec: &record{}}
		a.entry.Client.PID = os.Getpid() // a process of another terminal
		if term, _, why := a.findHost(context.Background()); term != nil {
			t.Errorf("a host was found for a stranger: %s", why)
		}
	})
}

package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server starts a tmux server on a socket of its own and ends it with the test.
func server(t *testing.T, command ...string) *Runner {
	t.Helper()
	// Not t.TempDir: a unix socket path is limited to about 104 bytes.
	dir, err := os.MkdirTemp("", "pmx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &Runner{
		Socket: filepath.Join(dir, "s"),
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TERM=xterm-256color"},
	}
	if len(command) == 0 {
		command = []string{"sleep", "1000"}
	}
	args := append([]string{"-f", "/dev/null", "new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "--"}, command...)
	if _, err := r.Run(context.Background(), "", args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := r.Run(context.Background(), "", "kill-server"); err != nil && !errors.Is(err, ErrNoServer) {
			t.Errorf("kill-server: %v", err)
		}
	})
	return r
}

// until waits for a state.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not seen in 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestPanesWithHostileNames(t *testing.T) {
	r := server(t)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "a\n%0|x-:-y")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if _, err := r.Run(ctx, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	run("new-window", "-d", "-n", "w-:-x|'\"", "-c", dir, "sleep 1000")
	run("select-pane", "-t", "%1", "-T", "title -:- | ❯ #x")

	// tmux asks the kernel for the folder, which has no answer until the new
	// process leads its terminal (3.3a).
	var panes []Pane
	until(t, "two panes, the second with a folder", func() bool {
		var err error
		if panes, err = r.Panes(ctx); err != nil {
			t.Fatal(err)
		}
		return len(panes) == 2 && panes[1].CWD != ""
	})
	p := panes[1]
	if p.ID != "%1" || p.Title != "title -:- | ❯ #x" || p.Window != "w-:-x|'\"" {
		t.Errorf("got %+v", p)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || p.CWD != real {
		t.Errorf("cwd: got %q, want %q (%v)", p.CWD, real, err)
	}
	if p.Socket != r.Socket || p.PID == 0 || p.ServerPID == 0 || p.Width != 80 || p.TTY == "" || p.SessionCreated == 0 {
		t.Errorf("got %+v", p)
	}
}

func TestErrors(t *testing.T) {
	r := server(t)
	ctx := context.Background()
	hang := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(hang, []byte("#!/bin/sh\nsleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		r    Runner
		id   string
		want error
	}{
		{"no such pane", *r, "%99", ErrNoPane},
		{"a session name", *r, "main", ErrNoPane},
		{"a window name that looks like a pane", *r, "main:%0", ErrNoPane},
		{"no server", Runner{Socket: r.Socket + "x"}, "%0", ErrNoServer},
		{"no tmux", Runner{Bin: "tmux-that-is-not-there"}, "%0", ErrNoServer},
		{"hanging tmux", Runner{Bin: hang, Timeout: 50 * time.Millisecond}, "%0", ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tt.r.Pane(ctx, tt.id); !errors.Is(err, tt.want) {
				t.Errorf("Pane: got %v, want %v", err, tt.want)
			}
			if err := tt.r.Paste(ctx, tt.id, "Hello."); !errors.Is(err, tt.want) {
				t.Errorf("Paste: got %v, want %v", err, tt.want)
			}
			if err := tt.r.Enter(ctx, tt.id); !errors.Is(err, tt.want) {
				t.Errorf("Enter: got %v, want %v", err, tt.want)
			}
			if _, err := tt.r.Capture(ctx, tt.id, CaptureOptions{}); !errors.Is(err, tt.want) {
				t.Errorf("Capture: got %v, want %v", err, tt.want)
			}
		})
	}
}

// TestKeysAreRefused: nothing reaches a pane that is dead, in a mode, or not the
// one that was looked at.
func TestKeysAreRefused(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r := server(t, "sh", "-c", "stty raw -echo; exec cat >"+out)
	ctx := context.Background()
	p, err := r.Pane(ctx, "%0")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "cat is up", func() bool { _, err := os.Stat(out); return err == nil })

	refused := func(what string, q Pane) {
		t.Helper()
		if err := r.PasteInto(ctx, q, "Hello."); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: paste: got %v, want ErrChanged", what, err)
		}
		if err := r.EnterInto(ctx, q); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: enter: got %v, want ErrChanged", what, err)
		}
	}
	other := p
	other.PID++
	refused("other process in the pane", other)
	other = p
	other.ServerPID++
	refused("other server", other)
	if _, err := r.Run(ctx, "", "copy-mode", "-t", "%0"); err != nil {
		t.Fatal(err)
	}
	refused("copy mode", p)
	if _, err := r.Run(ctx, "", "send-keys", "-t", "%0", "-X", "cancel"); err != nil {
		t.Fatal(err)
	}

	if err := r.PasteInto(ctx, p, "Hello."); err != nil {
		t.Fatal(err)
	}
	if err := r.EnterInto(ctx, p); err != nil {
		t.Fatal(err)
	}
	read := func() string { b, _ := os.ReadFile(out); return string(b) }
	until(t, "text and Enter arrive", func() bool { return strings.HasSuffix(read(), "\r") })
	if got := read(); got != "Hello.\r" {
		t.Errorf("the pane got %q, want %q", got, "Hello.\r")
	}
	if buffers, err := r.Run(ctx, "", "list-buffers"); err != nil || buffers != "" {
		t.Errorf("left buffers %q (%v)", buffers, err)
	}

	if _, err := r.Run(ctx, "", "set-option", "-p", "-t", "%0", "remain-on-exit", "on"); err != nil {
		t.Fatal(err)
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "pane is dead", func() bool { q, err := r.Pane(ctx, "%0"); return err == nil && q.Dead })
	refused("dead pane", p)
}

func TestTextIsChecked(t *testing.T) {
	r := &Runner{Bin: "tmux-that-must-not-run"}
	for _, text := range []string{"", "a\n", "a\r", "\x1b[201~", "a\x7f", "ü", "\u202e", strings.Repeat("a", 201)} {
		if err := r.Paste(context.Background(), "%0", text); err == nil || errors.Is(err, ErrNoServer) {
			t.Errorf("%q: got %v, want a refusal before tmux runs", text, err)
		}
	}
}

func TestLookUnderCLocale(t *testing.T) {
	r := server(t, "sh", "-c", "printf '\\033[2mghost\\033[0m \\342\\235\\257\\302\\240x'; exec sleep 1000")
	var screen string
	until(t, "the program has printed", func() bool {
		var err error
		_, screen, err = r.Look(context.Background(), "%0")
		return err == nil && strings.Contains(screen, "x")
	})
	if !strings.Contains(screen, "\x1b[2mghost") || !strings.Contains(screen, "❯\u00a0x") {
		t.Errorf("got %q", screen)
	}
}

func TestSockets(t *testing.T) {
	r := server(t)
	env := map[string]string{"TMUX": r.Socket + ",123,0", "TMUX_TMPDIR": filepath.Dir(r.Socket)}
	got := Sockets(func(k string) string { return env[k] })
	if len(got) == 0 || got[0] != r.Socket {
		t.Errorf("got %q, want %q first", got, r.Socket)
	}
	for in, want := range map[string]string{"": "", "/a": "", "/a,1": "", "/a,1,2": "/a", "/a,b,1,2": "/a,b"} {
		if got := SocketOf(in); got != want {
			t.Errorf("SocketOf(%q): got %q, want %q", in, got, want)
		}
	}
}

func FuzzParsePanes(f *testing.F) {
	const sep = "|sep|"
	f.Add("%0" + sep + "1" + sep)
	f.Add(strings.Repeat("%1"+sep, 19) + "\nrest")
	f.Fuzz(func(t *testing.T, out string) {
		panes, rest, err := parsePanes(out, sep)
		if err == nil && len(rest) > len(out) {
			t.Errorf("%d panes and %d bytes left of %d", len(panes), len(rest), len(out))
		}
	})
}

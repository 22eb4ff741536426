package ptyhost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"peermux/internal/frame"
	"peermux/internal/proc"
)

// The host, its leader and a hosted program are this test program, told by its
// environment and arguments what to be.
func TestMain(m *testing.M) {
	switch os.Getenv("PEERMUX_PTYHOST_TEST") {
	case "host":
		os.Exit(hostMain())
	case "leader":
		if err := Lead(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hostMain() int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	env := append(os.Environ(), "PEERMUX_PTYHOST_TEST=leader")
	code, err := Run(Options{
		Home: os.Getenv("PEERMUX_HOME"), Command: os.Args[1:], Env: env,
		Leader: []string{self}, In: os.Stdin, Out: os.Stdout,
		Started: func(pid int, socket string) {
			text := fmt.Sprintf("%d %s", pid, socket)
			if err := os.WriteFile(filepath.Join(os.Getenv("PEERMUX_HOME"), "started"), []byte(text), 0o600); err != nil {
				panic(err)
			}
		},
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "host: %v\r\n", err)
	}
	return code
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		command []string
		want    int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 7"}, 7},
		{[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{[]string{"sh", "-c", "kill -KILL $$"}, 128 + 9},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.command, " "), func(t *testing.T) {
			t.Parallel()
			s := sit(t, tt.command...)
			before := s.file("started")
			if got := s.exit(); got != tt.want {
				t.Errorf("got exit code %d, want %d", got, tt.want)
			}
			if raw(s.modes()) {
				t.Error("the terminal was left in raw mode")
			}
			if _, socket, _ := strings.Cut(before, " "); fileExists(socket) {
				t.Errorf("%s was left behind", socket)
			}
		})
	}
}

func fileExists(path string) bool { _, err := os.Lstat(path); return err == nil }

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "program-that-is-not-there")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PEERMUX_HOME=" + home, "PEERMUX_PTYHOST_TEST=host"}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, &stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 127 || !strings.Contains(stderr.String(), "program-that-is-not-there") {
		t.Errorf("got %v, %q; want exit code 127 and the reason", err, stderr.String())
	}
}

func TestNoTerminal(t *testing.T) {
	t.Parallel()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := Run(Options{Home: t.TempDir(), Command: []string{"true"}, In: in, Out: in}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("got %v, want ErrNoTerminal", err)
	}
}

// TestBytes: every byte value passes unchanged in both directions.
func TestBytes(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "stty raw -echo; echo ready; exec cat")
	s.shows("ready\n")
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	all = bytes.Repeat(all, 64)
	before := len(s.output())
	for len(all) > 0 { // in pieces, as the terminal's queue is 4 KiB
		n := min(1024, len(all))
		s.typ(string(all[:n]))
		all = all[n:]
		want := before + n
		s.until("the bytes come back", func() bool { return len(s.output()) >= want })
		if got := s.output()[before:want]; got[0] != 0 && n == 1024 {
			t.Fatalf("the first byte is %q", got[0])
		}
		before = want
	}
	got := s.output()[len("ready\n"):]
	for i := range len(got) {
		if got[i] != byte(i%256) {
			t.Fatalf("byte %d is %d, want %d", i, got[i], byte(i%256))
		}
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flood")
	line := []byte("\x1b[32m" + strings.Repeat("flood ", 12) + "❯\x1b[0m\r\n")
	data := bytes.Repeat(line, (8<<20)/len(line))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sit(t, "sh", "-c", "stty raw -echo; exec cat "+file)
	if code := s.exit(); code != 0 {
		t.Errorf("got exit code %d", code)
	}
	s.until("all of it arrives", func() bool { return len(s.output()) >= len(data) })
	if sha256.Sum256([]byte(s.output())) != sha256.Sum256(data) {
		t.Error("the output was changed on its way")
	}
}

func TestWindowSize(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.01; done")
	s.shows("30 90")
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 101, Rows: 41}); err != nil {
		t.Fatal(err)
	}
	s.shows("41 101")
	_, socket := s.started()
	look, err := Client{Socket: socket}.Look(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if look.Screen.Width != 101 || look.Screen.Height != 41 {
		t.Errorf("the model is %d x %d", look.Screen.Width, look.Screen.Height)
	}
	s.typ("\x03")
	if code := s.exit(); code != 128+2 {
		t.Errorf("after Ctrl-C: got exit code %d", code)
	}
}

// TestSignals: what is sent to the host reaches the program.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "trap 'echo got term; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
	s.shows("ready")
	if err := s.host.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.shows("got term")
	if code := s.exit(); code != 3 {
		t.Errorf("got exit code %d, want 3", code)
	}
}

// TestHangup: closing the window ends the program as it would without a host.
func TestHangup(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "trap 'echo hup >"+filepath.Join("$PEERMUX_HOME", "hup")+"; exit 0' HUP; echo ready; while :; do sleep 0.01; done")
	s.shows("ready")
	pid, _ := s.started()
	if err := s.host.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := s.exit(); code != 128+1 && code != 0 {
		t.Errorf("got exit code %d", code)
	}
	s.until("the program has got SIGHUP", func() bool { return s.file("hup") != "" })
	s.until("the program is gone", func() bool { return state(pid) == 0 })
}

// TestJobControl: Ctrl-Z stops the program and the host, and "fg" continues both.
func TestJobControl(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := shell(t)
	s.typ(self + " cat\n")
	s.until("the program has started", func() bool { return s.file("started") != "" })
	pid, _ := s.started()
	host := parentOf(t, parentOf(t, pid))
	s.until("raw mode", func() bool { return raw(s.modes()) })
	s.typ("one\n")
	s.shows("one\r\none")

	s.typ("\x1a")
	s.until("both are stopped", func() bool { return state(pid) == 'T' && state(host) == 'T' })
	s.typ("stty -a | grep -c ' icanon '; echo in-the-shell=$((40+2))\n")
	s.shows("1\r\nin-the-shell=42") // not in raw mode

	s.typ("fg\n")
	s.until("both run", func() bool { return state(pid) == 'S' && state(host) != 'T' })
	s.until("raw mode again", func() bool { return raw(s.modes()) })
	s.typ("two\n")
	s.shows("two\r\ntwo")
	s.typ("\x04")
	s.until("the host has ended", func() bool { return state(host) == 0 })
	s.typ("echo code=$?\n")
	s.shows("code=0")
	s.typ("exit\n")
	s.exit()
}

// TestHostIsKilled: the leader gives the terminal back, and the program is told.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := shell(t)
	// The shell itself does nothing for the terminal: it runs a script.
	s.typ("sh -c '" + self + " cat; echo modes; sleep 1000'\n")
	s.until("the program has started", func() bool { return s.file("started") != "" })
	pid, socket := s.started()
	s.until("raw mode", func() bool { return raw(s.modes()) })
	if err := unix.Kill(parentOf(t, parentOf(t, pid)), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("the modes are back", func() bool { return !raw(s.modes()) })
	s.shows("\x1b[?1049l")
	s.until("the program is gone", func() bool { return state(pid) == 0 })
	s.typ("\x03")
	if !fileExists(socket) {
		t.Fatalf("%s should have been left behind by a killed host", socket)
	}
	// The next host sweeps.
	path, l, err := listen(s.home)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	defer l.Close()
	if fileExists(socket) {
		t.Errorf("%s was not swept", socket)
	}
}

// TestLeaderIsKilled: without its leader the session ends, and the host with it.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	s := sit(t, "cat")
	pid, _ := s.started()
	if err := unix.Kill(parentOf(t, pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.exit()
	if raw(s.modes()) {
		t.Error("the terminal was left in raw mode")
	}
	s.until("the program is gone", func() bool { return state(pid) == 0 })
}

func TestControl(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "stty raw -echo; printf '\\033]2;the title\\007\\033[?2004hhello \\033[2mghost\\033[0m'; exec cat >$PEERMUX_HOME/keys")
	pid, socket := s.started()
	c, ctx := Client{Socket: socket}, context.Background()
	var look Look
	s.until("the screen", func() bool {
		var err error
		look, err = c.Look(ctx)
		return err == nil && look.Screen.Lines[0].Text() == "hello ghost"
	})
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	if look.Program != pid || look.TTY != info.TTY || look.Ended || look.Screen.Title != "the title" || look.Screen.Lines[0].Typed() != "hello" {
		t.Errorf("got %+v", look)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v (%v)", info.Mode(), err)
	}
	s.typ("x")
	s.until("the key arrives", func() bool { return s.file("keys") == "x" })
	for what, err := range map[string]error{"paste": c.Paste(ctx, look.Typed), "enter": c.Enter(ctx, look.Typed)} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s after a key: got %v, want ErrRefused", what, err)
		}
	}
	if look, err = c.Look(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Paste(ctx, look.Typed), c.Enter(ctx, look.Typed)); err != nil {
		t.Error(err)
	}
	want := "x\x1b[200~" + frame.WakeLine + "\x1b[201~\r"
	s.until("the keys arrive", func() bool { return len(s.file("keys")) >= len(want) })
	if got := s.file("keys"); got != want {
		t.Errorf("the program got %q, want %q", got, want)
	}
	if _, err := c.ask(ctx, request{Op: "type"}); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("an unknown operation: got %v", err)
	}
}

// TestLeftBehind: a process that the program leaves behind keeps nobody waiting,
// and what was written last still arrives.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	s := sit(t, "sh", "-c", "trap '' HUP; sleep 1000 & echo $! >$PEERMUX_HOME/left; seq 3000; echo the-end; exit 4")
	if code := s.exit(); code != 4 {
		t.Errorf("got exit code %d, want 4", code)
	}
	s.shows("3000\r\nthe-end")
	left, err := strconv.Atoi(strings.TrimSpace(s.file("left")))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(left, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestNested: a host in a host, and each has its own socket.
func TestNested(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := sit(t, "sh", "-c", "PEERMUX_PTYHOST_TEST=host exec "+self+" sh -c 'stty size; echo outer=$PEERMUX_PTY_HOST; cat'")
	s.shows("30 90")
	s.shows("outer=" + filepath.Join(s.home, "hosts"))
	_, socket := s.started() // of the inner one, which wrote last
	if !strings.Contains(s.output(), "outer="+socket+"\r\n") {
		t.Errorf("the program's host is %s", socket)
	}
	s.typ("deep\n")
	s.shows("deep\r\ndeep")
	s.typ("\x04")
	if code := s.exit(); code != 0 {
		t.Errorf("got exit code %d", code)
	}
}

func TestLongHome(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	path, l, err := listen(home)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(path))
	defer l.Close()
	if len(path) > maxSocketPath || !strings.HasPrefix(path, "/tmp/peermux-") {
		t.Errorf("got %q", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v (%v)", info.Mode(), err)
	}
}

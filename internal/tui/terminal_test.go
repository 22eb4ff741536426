package tui

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"peermux/internal/agentsim"
	"peermux/internal/screen"
	"peermux/registry"
)

// syncBuffer collects output and lets a test wait for it.
type syncBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const patience = 20 * time.Second

func (b *syncBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(b.String(), text) {
			return
		}
	}
	t.Fatalf("no %q in:\n%s", text, b.String())
}

// TestMain lets the test program be the screen itself, on a terminal of its own, or
// a stand-in agent.
func TestMain(m *testing.M) {
	if agentsim.Wanted() {
		os.Exit(agentsim.Main())
	}
	if os.Getenv("TUI_TEST_HOME") != "" {
		os.Exit(runScreen())
	}
	os.Exit(m.Run())
}

// TestOnATerminal runs the real program on a PTY, resizes it, changes the home
// under it, and leaves it with q.
func TestOnATerminal(t *testing.T) {
	f := shop(t, time.Now())
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TUI_TEST_HOME=" + f.board.Home, "TERM=xterm-256color", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 120})
	check(t, err)
	defer terminal.Close()
	model := &shared{m: screen.NewModel(120, 30)}
	go model.copy(terminal)

	model.waitFor(t, "Which port does the test database")
	model.waitFor(t, "3 sessions, 1 working")
	check(t, f.board.Registry.SetStatus(f.names["api"].Box, registry.Working, time.Now()))
	model.waitFor(t, "3 sessions, 2 working")
	check(t, pty.Setsize(terminal, &pty.Winsize{Rows: 15, Cols: 60}))
	model.resize(60, 15)
	model.waitFor(t, "2 working")
	_, err = terminal.Write([]byte("q"))
	check(t, err)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		check(t, err)
	case <-time.After(patience):
		check(t, cmd.Process.Kill())
		t.Fatalf("q does not end it; it shows\n%s", model.text())
	}
}

func runScreen() int {
	home := os.Getenv("TUI_TEST_HOME")
	b, actor, err := boardAt(home)
	if err == nil {
		err = Run(context.Background(), Options{Board: b, Actor: actor, Now: time.Now, Environ: os.Environ()})
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// shared is a screen model that is written while it is looked at.
type shared struct {
	mu sync.Mutex
	m  *screen.Model
}

func (s *shared) copy(from *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		s.mu.Lock()
		_, _ = s.m.Write(buf[:n]) // the model takes anything
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *shared) resize(w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Resize(w, h)
}

func (s *shared) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, l := range s.m.Screen().Lines {
		lines = append(lines, l.Text())
	}
	return strings.Join(lines, "\n")
}

func (s *shared) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(s.text(), text) {
			return
		}
	}
	t.Fatalf("no %q on the screen:\n%s", text, s.text())
}

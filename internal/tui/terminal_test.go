package tui

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/ptytest"
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
	terminal := ptytest.Start(t, cmd, 120, 30)

	terminal.Shows("Which port does the test database")
	terminal.Shows("3 sessions, 1 working")
	check(t, f.board.Registry.SetStatus(f.names["api"].Box, registry.Working, time.Now()))
	terminal.Shows("3 sessions, 2 working")
	terminal.Resize(60, 15)
	terminal.Shows("2 working")
	terminal.Type("q")
	check(t, terminal.Wait())
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

package mcpserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"peermux/mailbox"
	"peermux/mcpserver"
	"peermux/registry"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// roleVar makes the test binary play a part: the server that is tested, or a
// client that starts it and passes its own stdin and stdout on, as a coding
// agent's process does.
const roleVar = "PEERMUX_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "server":
		os.Exit(serve())
	case "client", "wrapper":
		os.Exit(host())
	}
	os.Exit(m.Run())
}

func serve() int {
	s := mcpserver.New(mcpserver.Options{
		Home: os.Getenv("PEERMUX_HOME"), Version: "1.2.3", In: os.Stdin, Out: os.Stdout, Env: os.Getenv, Now: time.Now,
	})
	if err := s.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// host starts the next process below and waits for it. A wrapper stands for npx
// and the like between client and server.
func host() int {
	// The server gets the signals that a terminal sends to the whole group; the
	// client itself lives on.
	signal.Ignore(syscall.SIGINT)
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	next := "server"
	if os.Getenv("PEERMUX_TEST_WRAPPED") != "" && os.Getenv(roleVar) == "client" {
		next = "wrapper"
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"="+next)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1
	}
	if os.Getenv(roleVar) == "client" {
		fmt.Fprintf(os.Stderr, "server %d\n", cmd.Process.Pid)
	}
	if err := cmd.Wait(); err != nil {
		return 3
	}
	return 0
}

// house is a peermux home with a folder of Claude's beside it.
type house struct {
	t    testing.TB
	home string
	dir  string // the project
	env  map[string]string
}

func newHouse(t testing.TB) *house {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, home: filepath.Join(base, "peermux"), dir: filepath.Join(base, "project"), env: map[string]string{}}
	h.env = map[string]string{
		"HOME": filepath.Join(base, "home"), "PEERMUX_HOME": h.home, "CLAUDE_CONFIG_DIR": filepath.Join(base, "claude"),
		"PATH": os.Getenv("PATH"), "PEERMUX_WAKE": "off",
		// A program built with -race otherwise sleeps for a second before it ends.
		"GORACE": "atexit_sleep_ms=0 log_path=" + filepath.Join(base, "race"),
	}
	t.Cleanup(func() { noRaces(t, filepath.Join(base, "race.*")) })
	for _, dir := range []string{h.dir, h.env["HOME"], filepath.Join(h.env["CLAUDE_CONFIG_DIR"], "sessions")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// noRaces fails the test for what the race detector wrote in the processes that it
// started, also in those that were killed.
func noRaces(t testing.TB, pattern string) {
	reports, err := filepath.Glob(pattern)
	if err != nil {
		t.Error(err)
	}
	for _, file := range reports {
		report, err := os.ReadFile(file)
		t.Errorf("a race in a process of this test: %s, %v", report, err)
	}
}

func (h *house) store() *mailbox.Store {
	h.t.Helper()
	s, err := mailbox.Open(h.home, time.Now)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *house) registry() *registry.Registry { return registry.Open(h.home, time.Now) }

package registry_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

// asSleeper makes the test binary stand in for a client that does nothing.
const asSleeper = "PEERMUX_TEST_SLEEPER"

func TestMain(m *testing.M) {
	if os.Getenv(asSleeper) != "" {
		time.Sleep(10 * time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sleeper is a process that lives until the test ends, or until it is killed.
type sleeper struct {
	proc.ID
	cmd *exec.Cmd
}

func start(t *testing.T) *sleeper {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &sleeper{cmd: cmd}
	t.Cleanup(func() { s.kill(t) })
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.ID = info.ID
	return s
}

// kill ends the process and reaps it.
func (s *sleeper) kill(t *testing.T) {
	t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("waiting for a killed process: %v", err)
	}
}

func entry(server proc.ID, name string) registry.Entry {
	return registry.Entry{
		PID: server.PID, Start: server.Start, Box: "s-" + name, Name: name, SessionID: "session-" + name,
		Client: registry.Client{Kind: "claude", Mode: registry.Interactive},
		CWD:    "/p", Project: "/p", StartedAt: time.Unix(1000, 0),
	}
}

func mustPut(t *testing.T, r *registry.Registry, entries ...registry.Entry) {
	t.Helper()
	for _, e := range entries {
		if err := r.Put(e); err != nil {
			t.Fatal(err)
		}
	}
}

func names(entries []registry.Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

func live(t *testing.T, r *registry.Registry) string {
	t.Helper()
	entries, err := r.Live()
	if err != nil {
		t.Fatal(err)
	}
	return names(entries)
}

func file(home string, e registry.Entry) string {
	return filepath.Join(home, "sessions", strconv.Itoa(e.PID)+".json")
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// edit changes the fields of an entry's file.
func edit(t *testing.T, name string, change func(map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	change(fields)
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

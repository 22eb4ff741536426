//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCodexHome makes a config.toml for the mock in which Codex asks nothing:
// folder trusted, no update check, the newer model's offer answered.
func writeCodexHome(t *testing.T, home, cwd, url string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(home, ".codex"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, ".codex", "config.toml"), fmt.Appendf(nil, `# written by hand
model = "gpt-5.5"
model_provider = "mock"   # a comment that stays
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = %q
wire_api = "responses"
env_key = "MOCK_KEY"

[analytics]
enabled = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects.%q]
trust_level = "trusted"
`, url, cwd), 0o600))
}

// startCodex starts an interactive Codex, waits until it takes input and finds
// its thread: the writer lock that is new.
func (b *bench) startCodex(t *testing.T, name string, args ...string) *session {
	t.Helper()
	before := map[string]bool{}
	for _, id := range b.threads() {
		before[id] = true
	}
	s := b.start(t, name, "codex", append([]string{"codex"}, args...)...)
	// While it starts (it installs its daemon) the composer is there, but the
	// footer has only "? for shortcuts".
	s.waitScreen(t, 60*time.Second, `^  ← for agents`)
	eventually(t, 10*time.Second, "the thread of "+name, func() bool {
		for _, id := range b.threads() {
			if !before[id] {
				s.thread = id
			}
		}
		return s.thread != ""
	})
	return s
}

// threads are the ids of the threads that are loaded.
func (b *bench) threads() []string {
	entries, err := os.ReadDir(filepath.Join(b.home, ".codex", "thread-writer-locks"))
	if err != nil {
		return nil // before the first thread
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".lock"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// codexIdle reads the pane's title: a braille spinner stands before it while
// Codex works, "Action Required" while it asks.
func (s *session) codexIdle() bool {
	title, err := s.b.tmux("display-message", "-p", "-t", s.pane, "#{pane_title}")
	if err != nil {
		return false
	}
	title = strings.TrimSpace(title)
	if title == "" || strings.Contains(title, "Action Required") {
		return false
	}
	first := []rune(title)[0]
	return first < 0x2800 || first > 0x28ff
}

// stopCodexDaemon ends the daemon that the first TUI of a home left behind, and
// the loop that updates it.
func (b *bench) stopCodexDaemon(t *testing.T) {
	dir := filepath.Join(b.home, ".codex")
	if _, err := os.Stat(filepath.Join(dir, "app-server-daemon", "daemon.pid")); err != nil {
		return
	}
	socket, err := os.Readlink(filepath.Join(dir, "app-server-control", "app-server-control.sock"))
	if err == nil && strings.Contains(socket, "/codex-daemon-") {
		defer os.Remove(socket) // it lies outside the bench's folder
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(b.clients, "codex"), "app-server", "daemon", "stop")
	cmd.Dir, cmd.Env = b.dir, b.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("codex app-server daemon stop: %v: %s", err, out)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "app-server-daemon", "daemon-updater.pid"))
	if err != nil {
		return
	}
	var updater struct{ PID int }
	if err := json.Unmarshal(raw, &updater); err == nil && b.owns(updater.PID) {
		if p, err := os.FindProcess(updater.PID); err == nil {
			_ = p.Signal(os.Interrupt) // endProcesses looks whether it went
		}
	}
}

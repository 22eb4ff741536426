//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
)

// writeClaudeHome makes a home in which Claude Code asks nothing at its start:
// onboarding done, the key approved (by its last 20 characters), the folder
// trusted, the bypass question answered.
func writeClaudeHome(t *testing.T, home, cwd string) {
	t.Helper()
	writeJSON(t, filepath.Join(home, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
		"customApiKeyResponses": map[string]any{"approved": []string{apiKey[len(apiKey)-20:]}, "rejected": []string{}},
		"projects":              map[string]any{cwd: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	writeJSON(t, filepath.Join(home, ".claude", "settings.json"), map[string]any{"skipDangerousModePermissionPrompt": true})
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, append(raw, '\n'), 0o600))
}

// startClaude starts an interactive Claude Code and waits until it takes input.
func (b *bench) startClaude(t *testing.T, name string, args ...string) *session {
	t.Helper()
	s := b.launchClaude(t, name, args...)
	s.readyClaude(t)
	return s
}

// launchClaude is startClaude without the wait. Without a permission mode it
// would start in auto mode, whose check cannot run against a mock and asks at
// each tool (2.1.328).
func (b *bench) launchClaude(t *testing.T, name string, args ...string) *session {
	t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--permission-mode") {
		args = append(args, "--permission-mode", "bypassPermissions")
	}
	return b.start(t, name, "claude", append([]string{"claude"}, args...)...)
}

func (s *session) readyClaude(t *testing.T) {
	t.Helper()
	s.waitScreen(t, 30*time.Second, `^❯`)
	s.waitIdle(t, 10*time.Second)
}

// startPair starts one of each client, side by side: a start takes seconds.
func (b *bench) startPair(t *testing.T) (claude, codex *session) {
	t.Helper()
	claude = b.launchClaude(t, "claude")
	codex = b.startCodex(t, "codex")
	claude.readyClaude(t)
	return claude, codex
}

// claudeState is Claude's own session file.
type claudeState struct {
	PID        int    `json:"pid"`
	SessionID  string `json:"sessionId"`
	Status     string `json:"status"`
	WaitingFor string `json:"waitingFor"`
	Name       string `json:"name"`
	Tmux       string `json:"tmux"` // "<session>:@<window>.%<pane>"; not in 2.1.197
}

// claude reads the session file of the client in this pane.
func (s *session) claude() (claudeState, error) {
	files, err := filepath.Glob(filepath.Join(s.b.home, ".claude", "sessions", "*.json"))
	if err != nil {
		return claudeState{}, err
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // ended meanwhile
		}
		var c claudeState
		if json.Unmarshal(raw, &c) == nil && s.holds(c) {
			return c, nil
		}
	}
	return claudeState{}, fmt.Errorf("no session file is of pane %s", s.pane)
}

// holds reports whether a Claude is the one in this pane: it says so itself, or is
// a child of the pane's shell.
func (s *session) holds(c claudeState) bool {
	if c.Tmux != "" {
		return strings.HasSuffix(c.Tmux, "."+s.pane)
	}
	shell, err := s.b.tmux("display-message", "-p", "-t", s.pane, "#{pane_pid}")
	if err != nil {
		return false
	}
	info, err := proc.Stat(c.PID)
	return err == nil && strconv.Itoa(info.PPID) == strings.TrimSpace(shell)
}

// waitDialog waits until Claude's own record knows of the dialog on its screen: it
// is written a moment after it was drawn.
func (s *session) waitDialog(t *testing.T) {
	t.Helper()
	eventually(t, 10*time.Second, s.name+" to wait for its user", func() bool {
		c, err := s.claude()
		return err == nil && c.Status == "waiting"
	})
}

package switchboard

import (
	"path/filepath"
	"strconv"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/registry"
)

// StatusOf asks the best witness what a session is doing. Claude's own record lies
// in the folder that its process was told to use, which need not be ours.
func (b *Board) StatusOf(e registry.Entry) detect.Status {
	return detect.StatusOf(e, b.Registry, b.statusFacts(e))
}

func (b *Board) statusFacts(e registry.Entry) detect.StatusFacts {
	return detect.StatusFacts{Env: b.clientEnv(e), Now: b.Now}
}

func (b *Board) claudeDir(e registry.Entry) string { return detect.ClaudeDir(b.clientEnv(e)) }

// clientEnv is the environment of a session's client as far as the system shows
// it (on Linux, of own processes), and ours where it does not.
func (b *Board) clientEnv(e registry.Entry) func(string) string {
	theirs := proc.Env(e.Client.PID, "HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")
	if len(theirs) == 0 {
		return b.Env
	}
	return func(key string) string { return theirs[key] }
}

// ClaudeSessionFile is the file in which the session's Claude Code process says
// who it is and what it does.
func (b *Board) ClaudeSessionFile(e registry.Entry) string {
	return filepath.Join(b.claudeDir(e), "sessions", strconv.Itoa(e.Client.PID)+".json")
}

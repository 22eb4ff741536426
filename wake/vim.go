package wake

import (
	"encoding/json"
	"os"
	"path/filepath"

	"peermux/detect"
	"peermux/registry"
)

// maxSettings bounds what is read of Claude's files; ~/.claude.json grows with
// every project.
const maxSettings = 16 << 20

// vim reports whether the session's Claude edits its prompt in vim's way. In
// normal mode a pasted line is put into the composer, and Enter does not submit
// it; nothing on the screen tells normal mode from a composer without vim
// (2.1.328), so the settings are asked, once per attempt.
func (a *attempt) vim() bool {
	if a.vimKeys == nil {
		keys := a.entry.Client.Kind == registry.Claude && a.vimSet()
		a.vimKeys = &keys
	}
	return *a.vimKeys
}

func (a *attempt) vimSet() bool {
	env := a.clientEnv(a.entry)
	dir := detect.ClaudeDir(env)
	global := filepath.Join(env("HOME"), ".claude.json")
	if env("CLAUDE_CONFIG_DIR") != "" {
		global = filepath.Join(dir, ".claude.json")
	}
	return editorMode(filepath.Join(dir, "settings.json")) == "vim" || editorMode(global) == "vim"
}

// editorMode reads one setting. A file that is not there, too large or no JSON sets
// nothing.
func editorMode(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var settings struct {
		EditorMode string `json:"editorMode"`
	}
	if json.Unmarshal(data, &settings) != nil {
		return ""
	}
	return settings.EditorMode
}

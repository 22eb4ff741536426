//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSetupAndRemove: setup changes the clients' files, a second run changes no
// byte, and --remove gives back what was there.
func TestSetupAndRemove(t *testing.T) {
	b := newBench(t)
	files := []string{".claude.json", ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json"}
	before := contents(t, b.home, files)
	b.setup(t)
	installed := contents(t, b.home, files)
	for _, f := range files {
		if bytes.Equal(before[f], installed[f]) {
			t.Errorf("setup did not touch %s", f)
		}
		if !strings.Contains(string(installed[f]), "peermux") {
			t.Errorf("%s does not name peermux", f)
		}
	}
	b.setup(t)
	for f, now := range contents(t, b.home, files) {
		if !bytes.Equal(now, installed[f]) {
			t.Errorf("the second setup changed %s", f)
		}
	}
	b.peermuxOK(t, "setup", "--remove")
	for f, now := range contents(t, b.home, files) {
		if !bytes.Equal(now, before[f]) {
			t.Errorf("after --remove %s is\n%s\nwant\n%s", f, now, before[f])
		}
	}
}

// contents reads files; one that is not there is nil.
func contents(t *testing.T, dir string, files []string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out[f] = raw
	}
	return out
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUpAndDown starts both clients from a file, in a worktree that up makes, each
// with a first prompt, and ends them; a person's own pane is left alone.
func TestUpAndDown(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"-c", "user.name=e2e", "-c", "user.email=e2e@localhost", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if _, code := b.run(t, nil, "git", args...); code != 0 {
			t.Fatal("git", args)
		}
	}
	side := filepath.Join(filepath.Dir(b.work), "shop-side")
	b.trustFolder(t, side)
	b.setup(t)
	person := b.start(t, "person", "", "cat")
	before, err := b.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}")
	must(t, err)

	plan := "session = \"fleet\"\n"
	for _, client := range []string{"claude", "codex"} {
		plan += fmt.Sprintf("[[agent]]\nname = \"the-%s\"\nclient = %q\nworktree = \"side\"\nprompt = \"FIRST-%s [[say BEGUN]]\"\n", client, client, client)
	}
	must(t, os.WriteFile(filepath.Join(b.work, "peermux.toml"), []byte(plan), 0o600))
	inTmux := []string{"TMUX=" + filepath.Join(b.dir, "tmux") + ",1,0"}
	peermux := filepath.Join(b.peermux, "peermux")
	up := func() string {
		out, code := b.run(t, inTmux, peermux, "up", "--wait", "50s")
		if code != 0 {
			screens, _ := b.tmux("capture-pane", "-p", "-t", "fleet:the-claude") // only for who reads this
			more, _ := b.tmux("capture-pane", "-p", "-t", "fleet:the-codex")
			t.Fatalf("peermux up: exit %d\n%s\n%s", code, indent(screens), indent(more))
		}
		return out
	}
	for _, client := range []string{"claude", "codex"} {
		if out := up(); !strings.Contains(out, "the-"+client) {
			t.Errorf("up does not speak of the-%s:\n%s", client, out)
		}
		// The second time it starts nothing: what runs is left alone.
	}
	for _, client := range []string{"claude", "codex"} {
		b.firstPrompt(t, client, side)
	}

	if _, code := b.run(t, inTmux, peermux, "down", "fleet"); code != 0 {
		t.Errorf("peermux down: exit %d", code)
	}
	eventually(t, 20*time.Second, "only the person's pane to be left", func() bool {
		after, err := b.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}")
		return err == nil && after == before
	})
	// Codex's threads live in its daemon, which outlives their terminals.
	eventually(t, 20*time.Second, "Claude Code not to be listed", func() bool {
		return !slices.ContainsFunc(b.listed(t), func(r listedSession) bool { return r.Client == "claude" })
	})
	person.typ(t, "still here")
	person.waitScreen(t, 10*time.Second, "still here")
}

// firstPrompt checks that a session runs in a folder and that its model was given
// its first prompt once.
func (b *bench) firstPrompt(t *testing.T, client, dir string) {
	t.Helper()
	prompt := "FIRST-" + client
	var row listedSession
	eventually(t, 40*time.Second, prompt+" to reach the model", func() bool {
		for _, r := range b.listed(t) {
			if r.Client == client && r.SessionID != "" {
				row = r
			}
		}
		all := b.model.Of(row.SessionID)
		return row.SessionID != "" && len(all) > 0 && all[len(all)-1].Told(prompt) > 0
	})
	if row.CWD != dir {
		t.Errorf("%s runs in %s, want %s", client, row.CWD, dir)
	}
	for _, q := range b.model.Of(row.SessionID) {
		if n := q.Told(prompt); n != 1 {
			t.Errorf("%s's model was told %s %d times", client, prompt, n)
		}
	}
}

type listedSession struct {
	Name      string `json:"name"`
	Client    string `json:"client"`
	SessionID string `json:"session_id"`
	CWD       string `json:"cwd"`
}

func (b *bench) listed(t *testing.T) []listedSession {
	t.Helper()
	var list struct{ Sessions []listedSession }
	must(t, json.Unmarshal([]byte(b.peermuxOK(t, "list", "--scope", "global", "--json")), &list))
	return list.Sessions
}

// trustFolder answers both clients' question whether to trust one more folder.
func (b *bench) trustFolder(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(b.home, ".claude.json")
	raw, err := os.ReadFile(path)
	must(t, err)
	var settings map[string]any
	must(t, json.Unmarshal(raw, &settings))
	settings["projects"].(map[string]any)[dir] = map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}
	writeJSON(t, path, settings)
	f, err := os.OpenFile(filepath.Join(b.home, ".codex", "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(f, "\n[projects.%q]\ntrust_level = \"trusted\"\n", dir)
	must(t, err)
	must(t, f.Close())
}

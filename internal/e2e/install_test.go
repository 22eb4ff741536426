//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// headless runs one turn without a screen and returns what the client printed,
// the notices on stderr included.
func (b *bench) headless(t *testing.T, client, prompt string, args ...string) string {
	t.Helper()
	words := map[string]string{
		"claude": "claude -p --permission-mode bypassPermissions", "codex": "codex exec --skip-git-repo-check",
	}[client]
	script := words + ` "$@" 2>&1 </dev/null`
	if client == "claude" {
		args = append(args, "--") // some of its flags take any number of words
	}
	out, code := b.run(t, nil, "bash", append([]string{"-c", script, "bash"}, append(args, prompt)...)...)
	if code != 0 {
		t.Fatalf("%s: exit %d", client, code)
	}
	return out
}

// quiet fails when a client had something to say about our hooks or settings.
func quiet(t *testing.T, out string) {
	t.Helper()
	for _, word := range []string{"Failed", "failed", "warning:", "did not load", "skipped", "ignored"} {
		if strings.Contains(out, word) {
			t.Errorf("the client says %q:\n%s", word, out)
		}
	}
}

// TestHooksRunAndFailOpen: each client runs every hook without a word; it goes
// on without a word when the programs are gone; and after --remove the files
// are what they were.
func TestHooksRunAndFailOpen(t *testing.T) {
	b := newBench(t)
	b.peermux = ownPrograms(t, b)
	files := []string{".claude/settings.json", ".codex/config.toml", ".codex/hooks.json"}
	before := contents(t, b.home, files)
	b.setup(t)

	shell := map[string]string{"claude": `[[tool Bash {"command":"echo a"}]]`, "codex": `[[tool exec_command {"cmd":"echo a"}]]`}
	turn := func(client string) string {
		out := b.headless(t, client, "go "+shell[client]+" [[say all-done]]")
		if !strings.Contains(out, "all-done") {
			t.Errorf("%s did not end its turn:\n%s", client, out)
		}
		quiet(t, out)
		return out
	}
	turn("claude")
	out := turn("codex")
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} {
		if !strings.Contains(out, "hook: "+event+" Completed") {
			t.Errorf("Codex did not run %s:\n%s", event, out)
		}
	}
	away := b.peermux + ".away"
	must(t, os.Rename(b.peermux, away))
	turn("claude")
	turn("codex")
	must(t, os.Rename(away, b.peermux))

	b.peermuxOK(t, "setup", "--remove")
	for f, now := range contents(t, b.home, files) {
		if string(now) != string(before[f]) {
			t.Errorf("after --remove %s is\n%s\nwant\n%s", f, now, before[f])
		}
	}
}

// ownPrograms copies the programs into the bench, in a folder with a blank.
func ownPrograms(t *testing.T, b *bench) string {
	t.Helper()
	dir := filepath.Join(b.dir, "some bin")
	must(t, os.Mkdir(dir, 0o755))
	for _, name := range []string{"peermux", "peermux-hook"} {
		in, err := os.Open(filepath.Join(b.peermux, name))
		must(t, err)
		out, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE, 0o755)
		must(t, err)
		_, err = io.Copy(out, in)
		must(t, err)
		must(t, out.Close())
		must(t, in.Close())
	}
	return dir
}

// TestTrustOfOthers: a hook of somebody else that stands behind ours, and that
// the person trusts, still runs after ours are gone.
func TestTrustOfOthers(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	path := filepath.Join(b.home, ".codex", "hooks.json")
	mark := filepath.Join(b.dir, "theirs")
	var file map[string]map[string][]any
	raw, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(raw, &file))
	theirs := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "echo x >> " + mark}}}
	file["hooks"]["Stop"] = append(file["hooks"]["Stop"], theirs)
	writeJSON(t, path, file)

	b.headless(t, "codex", "one [[say one]]")
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("an untrusted hook ran: the case shows nothing")
	}
	s := b.start(t, "review", "codex", "codex")
	s.waitScreen(t, 60*time.Second, `2\. Trust all and continue`)
	// A key that comes with the first sight of the dialog is dropped.
	eventually(t, 20*time.Second, "the second choice", func() bool {
		if s.shows(`^› 2\. Trust all`) {
			return true
		}
		s.key(t, "2")
		return false
	})
	s.key(t, "Enter")
	s.waitScreen(t, 60*time.Second, `^  ← for agents`)
	b.headless(t, "codex", "two [[say two]]")
	if got := lines(mark); got != 1 {
		t.Fatalf("the trusted hook ran %d times", got)
	}
	b.peermuxOK(t, "setup", "--remove")
	quiet(t, b.headless(t, "codex", "three [[say three]]"))
	if got := lines(mark); got != 2 {
		t.Errorf("after our removal it ran %d times in all, want 2", got)
	}
}

// TestPlugin: the plugin folder passes Claude's own check and works in both
// clients without any change to their settings by us.
func TestPlugin(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "plugin")
	b.peermuxOK(t, "setup", "--plugin", dir)
	if out, code := b.run(t, nil, "bash", "-c", `claude plugin validate "$1"`, "bash", dir); code != 0 || !strings.Contains(out, "Validation passed") {
		t.Errorf("claude plugin validate: exit %d\n%s", code, out)
	}
	out := b.headless(t, "claude", `go [[tool mcp__plugin_peermux_peermux__get_my_session {}]] [[say all-done]]`, "--plugin-dir", dir)
	quiet(t, out)
	b.answered(t, "claude", `fired`)

	for _, words := range [][]string{{"marketplace", "add", dir}, {"add", "peermux@peermux"}} {
		if _, code := b.run(t, nil, "bash", append([]string{"-c", `codex plugin "$@"`, "bash"}, words...)...); code != 0 {
			t.Fatalf("codex plugin %v: exit %d", words, code)
		}
	}
	b.headless(t, "codex", `go [[tool mcp__peermux__get_my_session {}]] [[say all-done]]`)
	b.answered(t, "codex", `fired`)
}

// answered fails unless the last request of a client's model carries text, as
// the result of a tool does.
func (b *bench) answered(t *testing.T, client, text string) {
	t.Helper()
	api := map[string]string{"claude": "anthropic", "codex": "openai"}[client]
	requests := b.model.Requests()
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].API == api && !requests[i].Aux {
			if requests[i].Told(text) == 0 {
				t.Errorf("%s: the tool's result did not reach the model", client)
			}
			return
		}
	}
	t.Errorf("%s: no request", client)
}

func lines(path string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0 // never written
	}
	return strings.Count(string(raw), "\n")
}

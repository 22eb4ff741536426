package wake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"peermux/internal/screen"
)

// sample is one captured screen of a real client, with what the client's own
// session file said at that moment.
func sample(t testing.TB, path string) Facts {
	t.Helper()
	f := Facts{
		Client: "claude", ClientAlive: true, Unshown: 1, Status: "unknown",
		Terminal: true, Foreground: true,
	}
	if strings.HasPrefix(filepath.Base(filepath.Dir(path)), "codex") {
		f.Client = "codex"
	}
	text, err := os.ReadFile(path + ".ansi")
	if err != nil {
		t.Fatal(err)
	}
	f.Screen.Lines = screen.Parse(string(text))
	readMeta(t, path+".meta", &f)

	data, err := os.ReadFile(path + ".session.json")
	if err != nil {
		return f // Codex has no such file, and Claude none before its first dialogs
	}
	var session struct{ Status, WaitingFor string }
	if err := json.Unmarshal(data, &session); err != nil {
		t.Fatal(err)
	}
	f.Status, f.WaitingFor = session.Status, session.WaitingFor
	if f.Status == "busy" {
		f.Status = "working"
	}
	return f
}

func readMeta(t testing.TB, path string, f *Facts) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		switch key {
		case "title":
			f.Screen.Title = value
		case "in_mode":
			f.InMode = !strings.HasPrefix(value, "0")
		case "cursor":
			if _, err := fmt.Sscanf(value, "%d,%d", &f.Screen.CursorX, &f.Screen.CursorY); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// screens says for each captured screen what the gate answers when the client's
// own status is known (want), and when only the screen speaks (alone).
var screens = map[string]struct {
	want  string
	alone ComposerState
}{
	"claude-2.1.197/auto-idle":            {"yes", Empty},
	"claude-2.1.197/bash-mode":            {"held: the composer is in shell mode", Dialog},
	"claude-2.1.197/busy":                 {"not_needed: it is working", Busy},
	"claude-2.1.197/busy-draft":           {"not_needed: it is working", Draft},
	"claude-2.1.197/busy-queued":          {"not_needed: it is working", Busy},
	"claude-2.1.197/bypass-busy":          {"not_needed: it is working", Busy},
	"claude-2.1.197/bypass-idle":          {"yes", Empty},
	"claude-2.1.197/copy-mode":            {"held: its pane is in copy mode or another mode", Empty},
	"claude-2.1.197/copy-mode-draft":      {"held: its pane is in copy mode or another mode", Draft},
	"claude-2.1.197/draft":                {"held: a draft is in the composer", Draft},
	"claude-2.1.197/draft-2-lines":        {"held: a draft is in the composer", Draft},
	"claude-2.1.197/draft-back":           {"held: a draft is in the composer", Draft},
	"claude-2.1.197/first-trust":          {"held: its state is not known", Unknown},
	"claude-2.1.197/idle-after":           {"yes", Empty},
	"claude-2.1.197/idle-fresh":           {"yes", Empty},
	"claude-2.1.197/model-dialog":         {"held: it waits for its user: dialog open", Unknown},
	"claude-2.1.197/permission":           {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.197/permission-copy-mode": {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.197/permission-mcp":       {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.197/question":             {"held: it waits for its user: permission prompt", Dialog},
	"claude-2.1.197/slash-menu":           {"held: a draft is in the composer", Draft},
	"claude-2.1.197/stashed":              {"held: a draft is stashed", Draft},
	"claude-2.1.197/transcript":           {"held: its screen is not recognised: no input box is on the screen", Unknown},

	"claude-2.1.328/agents":               {"held: the list of agents is open", Dialog},
	"claude-2.1.328/help":                 {"held: its screen is not recognised: the line below the input box is not that of a conversation", Unknown},
	"claude-2.1.328/history":              {"held: its screen is not recognised: no input box is on the screen", Unknown},
	"claude-2.1.328/rewind":               {"held: its screen is not recognised: no input box is on the screen", Unknown},
	"claude-2.1.328/vim-idle":             {"yes", Empty},
	"claude-2.1.328/vim-normal":           {"held: its composer is in vim's normal mode, where Enter does not submit", Empty},
	"claude-2.1.328/auto-dialog":          {"held: it waits for its user: dialog open", Unknown},
	"claude-2.1.328/auto-idle":            {"yes", Empty},
	"claude-2.1.328/bash-mode":            {"held: the composer is in shell mode", Dialog},
	"claude-2.1.328/busy":                 {"not_needed: it is working", Busy},
	"claude-2.1.328/busy-draft":           {"not_needed: it is working", Draft},
	"claude-2.1.328/busy-queued":          {"not_needed: it is working", Busy},
	"claude-2.1.328/bypass-busy":          {"not_needed: it is working", Busy},
	"claude-2.1.328/bypass-idle":          {"yes", Empty},
	"claude-2.1.328/copy-mode":            {"held: its pane is in copy mode or another mode", Empty},
	"claude-2.1.328/copy-mode-draft":      {"held: its pane is in copy mode or another mode", Draft},
	"claude-2.1.328/draft":                {"held: a draft is in the composer", Draft},
	"claude-2.1.328/draft-2-lines":        {"held: a draft is in the composer", Draft},
	"claude-2.1.328/draft-back":           {"held: a draft is in the composer", Draft},
	"claude-2.1.328/first-key":            {"held: its state is not known", Unknown},
	"claude-2.1.328/first-trust":          {"held: its state is not known", Unknown},
	"claude-2.1.328/idle-after":           {"yes", Empty},
	"claude-2.1.328/idle-fresh":           {"yes", Empty},
	"claude-2.1.328/model-dialog":         {"held: it waits for its user: dialog open", Unknown},
	"claude-2.1.328/permission":           {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.328/permission-copy-mode": {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.328/permission-mcp":       {"held: it waits for its user: permission prompt", Unknown},
	"claude-2.1.328/question":             {"held: it waits for its user: input needed", Dialog},
	"claude-2.1.328/slash-menu":           {"held: a draft is in the composer", Draft},
	"claude-2.1.328/stashed":              {"held: a draft is stashed", Draft},
	"claude-2.1.328/transcript":           {"held: its screen is not recognised: no input box is on the screen", Unknown},

	"codex-0.171.0/agents":             {"held: its screen is not recognised: no composer is on the screen", Unknown},
	"codex-0.171.0/history":            {"held: a draft is in the composer", Draft},
	"codex-0.171.0/escaped-once":       {"held: its screen is not recognised: the lines below the composer are not those of an idle Codex", Unknown},
	"codex-0.171.0/approval":           {"held: the title says that an action is required", Dialog},
	"codex-0.171.0/approval-copy-mode": {"held: its pane is in copy mode or another mode", Dialog},
	"codex-0.171.0/approval-mcp":       {"held: the title says that an action is required", Dialog},
	"codex-0.171.0/busy":               {"held: the title shows a running turn", Busy},
	"codex-0.171.0/busy-draft":         {"held: the title shows a running turn", Busy},
	"codex-0.171.0/busy-queued":        {"held: the title shows a running turn", Busy},
	"codex-0.171.0/copy-mode":          {"held: its pane is in copy mode or another mode", Empty},
	"codex-0.171.0/draft":              {"held: a draft is in the composer", Draft},
	"codex-0.171.0/first-hooks":        {"held: a dialog is open", Dialog},
	"codex-0.171.0/first-trust":        {"held: a dialog is open", Dialog},
	"codex-0.171.0/idle-after":         {"yes", Empty},
	"codex-0.171.0/idle-fresh":         {"yes", Empty},
	"codex-0.171.0/model-dialog":       {"held: a dialog is open", Dialog},
	"codex-0.171.0/queue-returned":     {"held: a draft is in the composer", Draft},
	"codex-0.171.0/slash-menu":         {"held: a draft is in the composer", Draft},
	"codex-0.171.0/starting":           {"held: its screen is not recognised: the lines below the composer are not those of an idle Codex", Unknown},
	// Captured after the view was closed again: the screen is that of idle-after.
	"codex-0.171.0/transcript": {"yes", Empty},
}

func said(v Verdict) string {
	switch {
	case v.Do && v.EnterOnly:
		return "enter only"
	case v.Do:
		return "yes"
	}
	return string(v.Outcome) + ": " + v.Reason
}

func TestDecideOnEveryScreen(t *testing.T) {
	files, err := filepath.Glob("testdata/screens/*/*.ansi")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		path := strings.TrimSuffix(file, ".ansi")
		name := strings.TrimPrefix(path, "testdata/screens/")
		tt, ok := screens[name]
		if !ok {
			t.Errorf("no verdict is written down for %s", name)
			continue
		}
		seen++
		f := sample(t, path)
		f.Vim = strings.Contains(name, "/vim-")
		if got := said(Decide(f)); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if got := readComposer(f.Client, f.Screen, nil); got.State != tt.alone {
			t.Errorf("%s: composer is %q (%s), want %q", name, got.State, got.Why, tt.alone)
		}
	}
	if seen != len(screens) {
		t.Errorf("%d screens are there, %d verdicts", seen, len(screens))
	}
}

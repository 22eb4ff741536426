package wake

import (
	"strings"
	"testing"

	"peermux/internal/screen"
)

func TestConfig(t *testing.T) {
	good := `
budget_per_hour = 5
unattended = true

[broadcast]
wake = "high"

[client.gemini]
prompt = "> "
placeholder = "Type your message"
idle = ["no sandbox"]
busy = ["esc to cancel"]
dialog = ["Apply this change?"]
`
	c, err := parseConfig([]byte(good))
	if err != nil || c.BudgetPerHour != 5 || !c.Unattended || c.Broadcast.Wake != broadcastHigh || c.Client["gemini"].Placeholder != "Type your message" {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err := parseConfig(nil); err != nil || c.BudgetPerHour != DefaultBudget || c.Broadcast.Wake == broadcastHigh {
		t.Errorf("empty: got %+v, %v", c, err)
	}
	bad := map[string]string{
		"budget_per_hour = -1":    "want 0 to 3600",
		"budget_per_hour = \"x\"": "line 1, column 19",
		"budget = 3":              `unknown key "budget"`,
		"[client.x]\nprompt = \"> \"\nidle = [\"a\"]\nxx=1": `unknown key "client.x.xx"`,
		"[client.x]\nprompt = \"> \"":                       "idle is missing",
		"[client.x]\nidle = [\"a\"]":                        "prompt is missing",
		"[client.x]\nprompt = \">\"\nidle = [\"\"]":         "can not be on one row",
		"[client.x]\nprompt = \">\"\nidle = [\"a\\nb\"]":    "can not be on one row",
		"[client.claude]\nprompt = \">\"\nidle = [\"a\"]":   "its own recogniser",
		"[client":                        "line 1",
		"[broadcast]\nwake = \"normal\"": `broadcast.wake is "normal": want "never" or "high"`,
		"[broadcast]\nwake = true":       "line 2, column 8",
		"[broadcast]\nsleep = \"high\"":  `unknown key "broadcast.sleep"`,
		"broadcast = \"high\"":           "line 1",
	}
	for text, want := range bad {
		if _, err := parseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestRule(t *testing.T) {
	rule := Rule{Prompt: "> ", Placeholder: "Type here", Idle: []string{"ready"}, Busy: []string{"thinking"}, Dialog: []string{"Apply?"}}
	tests := []struct {
		name   string
		screen string
		x, y   int
		want   ComposerState
		text   string
	}{
		{"empty", "chat\n> \nready", 2, 1, Empty, ""},
		{"placeholder", "> Type here\nready", 2, 0, Empty, ""},
		{"dim placeholder", "> \x1b[2mTry this\x1b[0m\nready", 2, 0, Empty, ""},
		{"in a frame", "╭───╮\n│ >        │\n╰───╯\nready", 4, 1, Empty, ""},
		{"draft", "> half\nready", 6, 0, Draft, "half"},
		{"draft in a frame", "│ > half   │\nready", 8, 0, Draft, "half"},
		{"blanks typed", ">   \nready", 4, 0, Draft, ""},
		{"old prompt above", "> said\n> \nready", 2, 1, Empty, ""},
		{"busy", "thinking\n> \nready", 2, 1, Busy, ""},
		{"dialog", "Apply?\n> \nready", 2, 1, Dialog, ""},
		{"not idle", "> \nstarting", 2, 0, Unknown, ""},
		{"no prompt", "ready", 0, 0, Unknown, ""},
		{"nothing", "", 0, 0, Unknown, ""},
	}
	for _, tt := range tests {
		s := screen.Screen{Lines: screen.Parse(tt.screen), CursorX: tt.x, CursorY: tt.y}
		if got := rule.composer(s); got.State != tt.want || got.Text != tt.text {
			t.Errorf("%s: got %+v, want %q with %q", tt.name, got, tt.want, tt.text)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("budget_per_hour = 5\n[client.x]\nprompt=\"> \"\nidle=[\"a\"]")
	f.Add("[[client]]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig([]byte(text))
		if err == nil && (c.BudgetPerHour < 0 || c.BudgetPerHour > 3600) {
			t.Errorf("budget %d", c.BudgetPerHour)
		}
	})
}

// FuzzComposer: no screen makes a recogniser fail, and only a composer without
// text is ever empty.
func FuzzComposer(f *testing.F) {
	rule := strings.Repeat("─", 20)
	f.Add("x\n"+rule+"\n❯\u00a0\n"+rule+"\n  ? for shortcuts", 2, 2, "")
	f.Add("› \n\n  model · /dir\n  ← for agents · ? for shortcuts", 2, 0, "⠹ busy")
	f.Add(rule+"\n"+rule, 0, 0, "")
	f.Fuzz(func(t *testing.T, text string, x, y int, title string) {
		s := screen.Screen{Lines: screen.Parse(text), CursorX: x, CursorY: y, Title: title}
		rules := map[string]Rule{"other": {Prompt: "> ", Idle: []string{"ready"}}}
		for _, kind := range []string{"claude", "codex", "other", "unknown"} {
			c := readComposer(kind, s, rules)
			if c.State == Empty && (c.Text != "" || kind == "unknown") {
				t.Errorf("%s: %+v", kind, c)
			}
			if c.Why == "" {
				t.Errorf("%s: %q without a reason", kind, c.State)
			}
		}
	})
}

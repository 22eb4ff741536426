package wake

import (
	"strings"
	"unicode/utf8"

	"peermux/internal/screen"
	"peermux/registry"
)

// Composer is what a client's screen says about its input box.
type Composer struct {
	State ComposerState
	Text  string // what is typed in it, for Draft
	Why   string // for a person: what on the screen says so
}

// ComposerState tells whether a line may be typed.
type ComposerState string

// Unknown is the zero value: a screen nobody recognised is never typed into.
const (
	Unknown ComposerState = ""
	Empty   ComposerState = "empty"
	Draft   ComposerState = "draft"  // text that is in the box
	Dialog  ComposerState = "dialog" // keys would answer or navigate something
	Busy    ComposerState = "busy"   // a turn is running, or messages are queued
)

// readComposer reads the composer of a client on its screen.
func readComposer(kind string, s screen.Screen, rules map[string]Rule) Composer {
	switch kind {
	case registry.Claude:
		return claudeComposer(s)
	case registry.Codex:
		return codexComposer(s)
	}
	if rule, ok := rules[kind]; ok {
		return rule.composer(s)
	}
	return Composer{Why: "no recogniser for " + kind + " (see wake.toml)"}
}

// sign is a text that marks a state wherever it stands near the composer.
type sign struct {
	text  string
	state ComposerState
	why   string
}

// claudeSigns are looked for from the box downward, where the conversation cannot
// put text. Claude Code 2.1.197 and 2.1.328.
var claudeSigns = [...]sign{
	{"esc to interrupt", Busy, "a turn is running"},
	{"Esc to cancel", Dialog, "a dialog is open"},
	{"esc to cancel", Dialog, "a dialog is open"},
	{"Enter to", Dialog, "a dialog is open"},
	{"ctrl+o to toggle", Dialog, "the transcript view is open"},
	{"Esc to close", Dialog, "a view is open"},
	{"-- VISUAL", Dialog, "the composer is in vim's visual mode"},
	{"stashed", Draft, "a draft is stashed"}, // 2.1.197: in the footer
}

// claudeFooter are texts of which one stands below the box of a conversation in
// every permission mode, also under a status line of the person's own. Other views
// have a box that looks the same: the list of agents starts a new session with
// what is typed there (2.1.328).
var claudeFooter = [...]string{"? for shortcuts", "(shift+tab to cycle)", " mode on", "← for agents"}

const (
	claudeAgents      = "claude agents" // the end of the title in the list of agents
	claudeAgentsInput = "describe a task for a new session"
	claudeInsert      = "-- INSERT --" // with vim's keys
)

// claudeQueued is Claude's placeholder while messages wait for the running turn.
// It looks like an empty box (cursor column 2, dim).
const claudeQueued = "Press up to edit queued messages"

// claudeComposer reads the box: a line that starts with "❯" and a no-break space,
// between two rules. A dialog replaces the box, so its absence is never "empty".
func claudeComposer(s screen.Screen) Composer {
	if strings.HasSuffix(s.Title, claudeAgents) {
		return Composer{State: Dialog, Why: "the list of agents is open"}
	}
	top, bottom, ok := lastBox(s.Lines)
	if !ok {
		return Composer{Why: "no input box is on the screen"}
	}
	if below := signIn(s.Lines[bottom:], claudeSigns[:]); below.State != Unknown {
		return below
	}
	first := s.Lines[top+1]
	prompt, _, _ := strings.Cut(first.Text(), "\u00a0")
	if prompt == "!" {
		return Composer{State: Dialog, Why: "the composer is in shell mode"}
	}
	if prompt != "❯" || !strings.HasPrefix(first.Text(), "❯\u00a0") {
		return Composer{Why: "the input box does not start with Claude's prompt"}
	}
	// 2.1.328 says "draft stashed" above the box.
	if top > 0 && strings.HasSuffix(s.Lines[top-1].Text(), "draft stashed") {
		return Composer{State: Draft, Why: "a draft is stashed"}
	}
	if strings.Contains(first.Text(), claudeAgentsInput) {
		return Composer{State: Dialog, Why: "the list of agents is open"}
	}
	if strings.Contains(first.Text(), claudeQueued) {
		return Composer{State: Busy, Why: "messages are queued for the running turn"}
	}
	c := boxContent(s, "❯", s.Lines[top+1:bottom], top+1)
	if c.State == Empty && !onScreen(s.Lines[bottom:], claudeFooter[:]) {
		return Composer{Why: "the line below the input box is not that of a conversation"}
	}
	return c
}

// boxContent tells draft from empty for box lines that start at row.
func boxContent(s screen.Screen, prompt string, lines []screen.Line, row int) Composer {
	var typed []string
	for i, l := range lines {
		text := l.Typed()
		if i == 0 {
			text = strings.TrimPrefix(text, prompt)
		}
		typed = append(typed, strings.Trim(text, " \u00a0"))
	}
	text := strings.TrimRight(strings.Join(typed, "\n"), "\n")
	if text != "" {
		return Composer{State: Draft, Text: text, Why: "a draft is in the composer"}
	}
	// An empty box has the cursor right behind the prompt. Blanks that somebody
	// typed show no text, but move it.
	if s.CursorY != row || s.CursorX != utf8.RuneCountInString(prompt)+1 {
		return Composer{State: Draft, Why: "the cursor is not at the start of the composer"}
	}
	return Composer{State: Empty, Why: "the composer is empty"}
}

// lastBox finds the bottom-most pair of rules with something between them that
// is a prompt; old prompts in the conversation stand above it.
func lastBox(lines []screen.Line) (top, bottom int, ok bool) {
	bottom = -1
	for i := len(lines) - 1; i >= 0; i-- {
		if !isRule(lines[i].Text()) {
			continue
		}
		if bottom < 0 {
			bottom = i
			continue
		}
		return i, bottom, bottom-i > 1
	}
	return 0, 0, false
}

// isRule reports whether a line is one drawn across the screen.
func isRule(text string) bool {
	n := 0
	for _, r := range text {
		if r != '─' {
			return false
		}
		n++
	}
	return n >= 10
}

func signIn(lines []screen.Line, signs []sign) Composer {
	for _, l := range lines {
		text := l.Text()
		for _, s := range signs {
			if strings.Contains(text, s.text) {
				return Composer{State: s.state, Why: s.why}
			}
		}
	}
	return Composer{}
}

// codexSigns mark a dialog or a running turn near the composer. Codex 0.171.0.
var codexSigns = [...]sign{
	{"esc to interrupt", Busy, "a turn is running"},
	{"Queued follow-up inputs", Busy, "messages are queued for the running turn"},
	{"tab to queue message", Busy, "a turn is running"},
	{"Press enter to", Dialog, "a dialog is open"},
	{"enter to submit", Dialog, "a dialog is open"},
	{"enter select", Dialog, "a dialog is open"},
	{"enter confirm", Dialog, "a dialog is open"},
	{"enter continue", Dialog, "a dialog is open"},
	{"esc to cancel", Dialog, "a dialog is open"},
	{"esc back", Dialog, "a dialog is open"},
}

// codexReach is how many rows above the composer are still the client's own:
// "• Working" and the queued messages stand there.
const codexReach = 6

// codexComposer reads the bottom-most line that starts with "›". The title says
// most: a spinner while busy, "[ ! ]" or "[ . ]" while an approval waits.
func codexComposer(s screen.Screen) Composer {
	if c := codexTitle(s.Title); c.State != Unknown {
		return c
	}
	row := -1
	for i := len(s.Lines) - 1; i >= 0 && row < 0; i-- {
		if text := s.Lines[i].Text(); text == "›" || strings.HasPrefix(text, "› ") {
			row = i
		}
	}
	if row < 0 {
		return Composer{Why: "no composer is on the screen"}
	}
	if c := signIn(s.Lines[max(0, row-codexReach):], codexSigns[:]); c.State != Unknown {
		return c
	}
	end := row + 1
	for end < len(s.Lines) && s.Lines[end].Text() != "" {
		end++
	}
	c := boxContent(s, "›", s.Lines[row:end], row)
	if c.State != Empty {
		return c
	}
	// An empty composer has two lines below it: model and folder, then the hints.
	// While Codex starts (before trust and hook dialogs) only the hints are there.
	below := 0
	for _, l := range s.Lines[end:] {
		if l.Text() != "" {
			below++
		}
	}
	hints := signIn(s.Lines[end:], []sign{{"? for shortcuts", Empty, ""}}).State == Empty
	if below < 2 || !hints {
		return Composer{Why: "the lines below the composer are not those of an idle Codex"}
	}
	return c
}

func codexTitle(title string) Composer {
	r, _ := utf8.DecodeRuneInString(title)
	switch {
	case strings.HasPrefix(title, "[ ! ]"), strings.HasPrefix(title, "[ . ]"):
		return Composer{State: Dialog, Why: "the title says that an action is required"}
	case r >= '\u2800' && r <= '\u28ff': // Braille patterns: the spinner
		return Composer{State: Busy, Why: "the title shows a running turn"}
	}
	return Composer{}
}

package wake

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"peermux/internal/private"
	"peermux/internal/screen"
	"peermux/registry"
)

// Rule lets a person describe the idle screen of a client that peermux does not
// know, so that it may be woken by typing. It stands in $PEERMUX_HOME/wake.toml:
//
//	[client.gemini]                       # the client's kind, as "peermux list" shows it
//	prompt = "> "                         # what the input line starts with
//	placeholder = "Type your message"     # optional: what an empty input shows
//	idle = ["no sandbox"]                 # each must be on the screen when it is idle
//	busy = ["esc to cancel"]              # any of them: a turn is running
//	dialog = ["Apply this change?"]       # any of them: keys would answer something
//
// Claude Code and Codex have recognisers of their own and take no rule. Texts are
// compared as they stand on one row of the screen.
type Rule struct {
	Prompt      string   `toml:"prompt"`
	Placeholder string   `toml:"placeholder"`
	Idle        []string `toml:"idle"`
	Busy        []string `toml:"busy"`
	Dialog      []string `toml:"dialog"`
}

// config is the file wake.toml.
type config struct {
	// BudgetPerHour is how often one session may be woken.
	BudgetPerHour int `toml:"budget_per_hour"`
	// Unattended allows to wake Codex threads whose terminal is closed.
	Unattended bool `toml:"unattended"`
	Broadcast  struct {
		// Wake is never, or high: an urgent broadcast wakes who is idle. No tool and
		// no command sets it, only the person.
		Wake string `toml:"wake"`
	} `toml:"broadcast"`
	Client map[string]Rule `toml:"client"`
}

// DefaultBudget is how many wakes one session gets per hour unless wake.toml has
// another budget_per_hour.
const DefaultBudget = 40

// Words of broadcast.wake; the first is the default.
const (
	broadcastNever = "never"
	broadcastHigh  = "high"
)

const maxConfig = 64 << 10

// loadConfig reads wake.toml. A missing file is the default; a wrong one is an
// error that names line and column, and nothing of it counts.
func loadConfig(home string) (config, error) {
	def := config{BudgetPerHour: DefaultBudget}
	path := filepath.Join(home, "wake.toml")
	data, err := private.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return def, nil
	}
	if err != nil {
		return def, err
	}
	c, err := parseConfig(data)
	if err != nil {
		return def, fmt.Errorf("%s: %v", path, err)
	}
	return c, nil
}

func parseConfig(data []byte) (config, error) {
	c := config{BudgetPerHour: DefaultBudget}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return config{}, tomlError(err)
	}
	if c.BudgetPerHour < 0 || c.BudgetPerHour > 3600 {
		return config{}, fmt.Errorf("budget_per_hour is %d: want 0 to 3600", c.BudgetPerHour)
	}
	switch c.Broadcast.Wake {
	case "", broadcastNever, broadcastHigh:
	default:
		return config{}, fmt.Errorf("broadcast.wake is %q: want %q or %q", c.Broadcast.Wake, broadcastNever, broadcastHigh)
	}
	for kind, rule := range c.Client {
		if err := rule.check(kind); err != nil {
			return config{}, fmt.Errorf("client.%s: %w", kind, err)
		}
	}
	return c, nil
}

// tomlError says where the file is wrong.
func tomlError(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		row, col := unknown.Errors[0].Position()
		return fmt.Errorf("line %d, column %d: unknown key %q", row, col, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, col := wrong.Position()
		return fmt.Errorf("line %d, column %d: %s", row, col, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return err
}

func (r Rule) check(kind string) error {
	if kind == registry.Claude || kind == registry.Codex {
		return errors.New("peermux has its own recogniser for this client; remove the table")
	}
	if strings.TrimSpace(r.Prompt) == "" {
		return errors.New("prompt is missing: give what the input line starts with")
	}
	if len(r.Idle) == 0 {
		return errors.New("idle is missing: give a text that is on the screen only when the client is idle")
	}
	all := append(append(append([]string{r.Prompt}, r.Idle...), r.Busy...), r.Dialog...)
	for _, text := range all {
		if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\n\r\t\x1b") {
			return fmt.Errorf("%q can not be on one row of a screen", text)
		}
	}
	return nil
}

// frameRunes are what boxes are drawn with; an input line often stands in one.
const frameRunes = "│┃║|"

// composer reads the bottom-most line that starts with the prompt.
func (r Rule) composer(s screen.Screen) Composer {
	if onScreen(s.Lines, r.Dialog) {
		return Composer{State: Dialog, Why: "a dialog is open"}
	}
	if onScreen(s.Lines, r.Busy) {
		return Composer{State: Busy, Why: "a turn is running"}
	}
	for _, text := range r.Idle {
		if !onScreen(s.Lines, []string{text}) {
			return Composer{Why: fmt.Sprintf("%q is not on the screen", text)}
		}
	}
	for row := len(s.Lines) - 1; row >= 0; row-- {
		rest, column, ok := r.inputLine(s.Lines[row])
		if !ok {
			continue
		}
		if rest != "" && rest != r.Placeholder {
			return Composer{State: Draft, Text: rest, Why: "a draft is in the composer"}
		}
		if s.CursorY != row || s.CursorX != column {
			return Composer{State: Draft, Why: "the cursor is not at the start of the composer"}
		}
		return Composer{State: Empty, Why: "the composer is empty"}
	}
	return Composer{Why: fmt.Sprintf("no line starts with %q", r.Prompt)}
}

// inputLine splits a line into what stands behind the prompt and the column where
// that begins.
func (r Rule) inputLine(l screen.Line) (rest string, column int, ok bool) {
	text := strings.ReplaceAll(l.Typed(), "\u00a0", " ")
	full := text
	text = strings.TrimLeft(text, frameRunes+" ")
	lead := utf8.RuneCountInString(full) - utf8.RuneCountInString(text)
	prompt := strings.TrimRight(r.Prompt, " ")
	rest, ok = strings.CutPrefix(text, prompt)
	if !ok {
		return "", 0, false
	}
	rest = strings.Trim(rest, frameRunes+" ")
	return rest, lead + utf8.RuneCountInString(strings.TrimLeft(r.Prompt, " ")), true
}

func onScreen(lines []screen.Line, texts []string) bool {
	for _, l := range lines {
		row := strings.ReplaceAll(l.Text(), "\u00a0", " ")
		for _, text := range texts {
			if strings.Contains(row, text) {
				return true
			}
		}
	}
	return false
}

package wake

import (
	"peermux/internal/frame"
	"peermux/internal/screen"
	"peermux/registry"
)

// Line is what a wake types or queues: constant, so that no word of a peer ever
// reaches a terminal; under 200 bytes; it starts with a letter (no command, no
// shell mode, no mention) and ends in a full stop (no completion, no
// continuation).
const Line = frame.WakeLine

// Facts is everything the gate looks at, gathered in one moment. Decide reads
// nothing else.
type Facts struct {
	Client      string // kind: claude, codex, …
	ClientAlive bool
	Headless    bool // a -p or exec run: it has no composer
	Unshown     int  // messages that may wake it and that it was not shown

	Status     string // idle, working, waiting, unknown: what the client says
	WaitingFor string // with waiting: for what

	Terminal    bool   // a pane or PTY host was found and proven to be the client's
	TerminalWhy string // how, or why not
	Dead        bool   // the pane's program has ended
	InMode      bool   // tmux keeps the keys for itself (copy mode, a menu)
	Foreground  bool   // the client is in the foreground of that terminal

	Vim    bool // Claude's composer takes vim's keys
	Screen screen.Screen
	Rules  map[string]Rule // of wake.toml, for clients without a recogniser

	Typed        bool // an earlier wake typed our line and did not see it submitted
	TypedJustNow bool // it did so a moment ago: a turn may be about to start
}

// Verdict is the answer of the gate.
type Verdict struct {
	Do        bool    // may type
	EnterOnly bool    // our line already stands in the composer
	Outcome   Outcome // of the wake, when Do is false
	Reason    string  // for a person: the first check that failed
}

// Decide is the gate in front of a terminal: the checks in order, and the first
// one that fails is the reason. It is pure. When in doubt it says no.
func Decide(f Facts) Verdict {
	no := func(o Outcome, reason string) Verdict { return Verdict{Outcome: o, Reason: reason} }
	switch {
	case f.Unshown == 0:
		return no(NotNeeded, nothingUnshown)
	case !f.ClientAlive:
		return no(NoRoute, "the session is not running")
	case f.Headless:
		return no(NoRoute, "a headless run has no composer")
	case f.Status == registry.Working:
		return no(NotNeeded, isWorking)
	case f.Status == registry.Waiting:
		return no(Held, waiting(f.WaitingFor))
	case f.Status != registry.Idle && f.Client == registry.Claude:
		// Claude's screen cannot tell busy from idle once text is in the box, and
		// its session file always can (2.1.197, 2.1.328).
		return no(Held, "its state is not known")
	case !f.Terminal:
		return no(NoRoute, f.TerminalWhy)
	case f.Dead:
		return no(NoRoute, "the program in its pane has ended")
	case f.InMode:
		return no(Held, "its pane is in copy mode or another mode")
	case !f.Foreground:
		return no(Held, "it is not in the foreground of its terminal")
	}

	c := readComposer(f.Client, f.Screen, f.Rules)
	switch {
	case f.Vim && c.State != Unknown && !onScreen(f.Screen.Lines, []string{claudeInsert}):
		return no(Held, "its composer is in vim's normal mode, where Enter does not submit")
	case c.State == Empty && f.TypedJustNow:
		return no(Held, "a line was typed into it a moment ago")
	case c.State == Empty:
		return Verdict{Do: true, Reason: c.Why}
	case isLine(c) && f.Typed:
		return Verdict{Do: true, EnterOnly: true, Reason: "the line of an earlier wake stands in the composer"}
	case c.State == Unknown:
		return no(Held, "its screen is not recognised: "+c.Why)
	}
	return no(Held, c.Why)
}

func waiting(what string) string {
	if what == "" {
		return "it waits for its user"
	}
	return "it waits for its user: " + what
}

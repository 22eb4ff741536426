package switchboard

import (
	"peermux/registry"
	"peermux/wake"
)

// Outlooks: what will become of a message, as far as can be known when it was
// just stored.
const (
	ShownSoon = "shown_soon" // it works, and its hooks show mail at the next tool call
	Woken     = "woken"      // it was idle and begins a turn now
	NextTurn  = "next_turn"  // it is idle; shown when its next turn begins
	Held      = "held"       // something stands in the way
	NoReader  = "no_reader"  // nobody is there; kept
)

// prospect is all that an outlook rests on.
type prospect struct {
	name     string
	live     bool
	headless bool
	status   string // registry.Idle, Working, Waiting or Unknown
	waitsFor string // what its user is asked, when status is Waiting
	hooks    bool   // a hook of ours has shown that it works in this session
	asking   bool   // it is blocked in a question of its own
	shown    bool   // the message was shown while the wake was going on
	low      bool   // urgency low: nobody is woken for it
	noWake   bool   // the sender, or its user, wants no wake
	wake     *wake.Result
}

// foresee words the outlook. It never promises what nothing supports: a session
// whose hooks were never seen sees mail only when it reads it.
func foresee(p prospect) (outlook, why string) {
	switch {
	case !p.live:
		return NoReader, p.name + " is not running; the message is kept and shown when that conversation is resumed"
	case p.shown:
		return ShownSoon, p.name + " has been shown the message already"
	case p.asking && p.hooks:
		return ShownSoon, p.name + " is waiting for an answer to a question of its own and sees mail when that wait ends"
	case p.status == registry.Working && p.hooks:
		return ShownSoon, p.name + " is working; its hooks show the message at its next tool call or at the end of its turn"
	case woken(p.wake): // whose hooks may be about to run for the first time
		return Woken, p.name + " was idle and has been woken"
	case p.headless && !p.hooks:
		return NoReader, p.name + " is a headless run without hooks; it sees mail only if it calls read_my_messages before it ends"
	case p.status == registry.Working:
		return Held, p.name + " is working, but no peermux hook has run in it: it sees mail only when it calls read_my_messages; peermux doctor tells what is missing"
	case p.status == registry.Waiting:
		return Held, p.name + " is waiting for its user" + inBrackets(p.waitsFor) + "; the message is shown after that"
	}
	return foreseeIdle(p)
}

// foreseeIdle is foresee for a session that may have to be woken.
func foreseeIdle(p prospect) (outlook, why string) {
	later := "; the message is shown when its next turn begins"
	if !p.hooks {
		later = ", and no peermux hook has run in it: it sees the message only when it calls read_my_messages"
	}
	switch {
	case p.low:
		return NextTurn, p.name + " is not woken for urgency low" + later
	case p.noWake:
		return NextTurn, "no wake was wanted" + later
	case p.wake == nil:
		return NextTurn, p.name + " was not woken" + later
	}
	switch p.wake.Outcome {
	case wake.Held, wake.TypedNotSubmitted:
		return Held, p.name + " could not be woken yet: " + p.wake.Reason + "; its own server tries again when that changes"
	case wake.NotNeeded:
		return ShownSoon, "no wake was needed: " + p.wake.Reason
	}
	return NextTurn, p.name + " was not woken: " + p.wake.Reason + later
}

func woken(r *wake.Result) bool {
	return r != nil && (r.Outcome == wake.Submitted || r.Outcome == wake.Native)
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// foreseeElsewhere is the outlook for boxes that no session owns.
func foreseeElsewhere(d dest, workers []string) (outlook, why string) {
	switch d.kind {
	case registry.ToRepo:
		if len(workers) == 0 {
			return NoReader, "no session works in " + d.party.Name + " now; the message waits for the next one that starts there"
		}
		return NextTurn, "it is shown to the sessions in " + d.party.Name + " (" + joinNames(workers) + ") when one of them starts a session, clears it or reads its mail"
	case registry.ToApp:
		return NextTurn, "it waits in the app's box until the app collects it"
	}
	return NextTurn, "it waits for " + d.label() + ", who sees it with peermux inbox or peermux top"
}

func joinNames(names []string) string {
	const most = 5
	out := ""
	for i, n := range names {
		if i == most {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += n
	}
	return out
}

// hooksSeen tells whether the hooks of a session work, from when they last
// fired. A session that has been up for a while and fired none has none.
func hooksSeen(d registry.Drop, ok bool) bool {
	if !ok {
		return false
	}
	for _, event := range []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionStart"} {
		if !d.Hooks[event].IsZero() {
			return true
		}
	}
	return false
}

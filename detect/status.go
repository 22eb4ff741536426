package detect

import (
	"context"
	"time"

	"peermux/internal/transcript"
	"peermux/registry"
)

// Status sources, the best first.
const (
	FromClient = "client"     // the client's own record: Claude's of its process, Codex's of its thread
	FromHooks  = "hooks"      // the word that hooks wrote
	FromAge    = "age"        // the word that hooks wrote is too old to be believed
	FromNobody = "no_witness" // nothing is known
)

// Status is what a session is doing.
type Status struct {
	Word       string // registry.Idle, Working, Waiting or Unknown
	Source     string
	WaitingFor string // what the person is asked, in the client's words
	Since      time.Time
}

// StatusFacts tells StatusOf where to look.
type StatusFacts struct {
	Env func(string) string // of the session's client
	Now func() time.Time
}

const (
	// doubtAfter is how old "working" and "waiting" may be before Codex's own
	// record is asked as well: hooks renew the word at every tool.
	doubtAfter = 3 * time.Second
	// staleAfter is longer than a turn goes on without a tool call that begins or
	// ends.
	staleAfter = 30 * time.Minute
	// startSlack is how long before a session's server a turn of the same process
	// may have begun: Codex starts the server when it opens the thread.
	startSlack = 10 * time.Second
)

// StatusOf tells what a session is doing, from the best witness there is. A
// status that is not understood is Unknown, and nothing weaker is asked instead.
//
// Where the client has no record, a word from an earlier process of the session is
// not believed, nor a "working" that nothing has renewed for half an hour: that is
// the trace of a turn that ended without a hook. A dialog may stand open for days.
func StatusOf(e registry.Entry, r *registry.Registry, f StatusFacts) Status {
	if e.Client.Kind == registry.Claude {
		s, err := ReadClaudeSession(ClaudeDir(f.Env), e.Client.PID)
		if err == nil && s.check(e.Client.ID()) == nil && s.Status != "" {
			return claudeStatus(s)
		}
	}
	word, at := r.Status(e.Box)
	age := f.Now().Sub(at)
	if word == registry.Idle || word != registry.Unknown && age < doubtAfter {
		return Status{Word: word, Source: FromHooks, Since: at}
	}
	turn, recorded := codexTurn(e, f.Env)
	stale := at.Before(e.StartedAt.Add(-startSlack)) || word == registry.Working && age >= staleAfter
	switch {
	case recorded && !turn.Running:
		return Status{Word: registry.Idle, Source: FromClient, Since: later(turn.At, at)}
	case word == registry.Unknown && recorded:
		return Status{Word: registry.Working, Source: FromClient, Since: turn.At}
	case word == registry.Unknown:
		return Status{Word: registry.Unknown, Source: FromNobody}
	case stale && !recorded:
		return Status{Word: registry.Unknown, Source: FromAge, Since: at}
	}
	return Status{Word: word, Source: FromHooks, Since: at}
}

// codexTurn reads where a Codex thread stands in its rollout. Codex's daemon would
// tell as well, but not for nothing: whoever asks it becomes part of the user agent
// under which it then calls the model, and it knows no thread of `codex
// --no-daemon` (0.171.0).
func codexTurn(e registry.Entry, env func(string) string) (turn transcript.TurnMark, recorded bool) {
	if e.Client.Kind != registry.Codex {
		return turn, false
	}
	file, ok := transcript.CodexPath(CodexHome(env), e.SessionID)
	if !ok {
		return turn, false
	}
	turn, ok, err := transcript.LastTurn(context.Background(), file)
	// A turn that began in an earlier process and has no end was killed with it.
	if err != nil || !ok || turn.Running && turn.At.Before(e.StartedAt.Add(-startSlack)) {
		return turn, false
	}
	return turn, true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// claudeStatus translates Claude's words (2.1.197 and 2.1.328: idle, busy,
// waiting).
func claudeStatus(s ClaudeSession) Status {
	st := Status{Word: registry.Unknown, Source: FromClient, Since: s.StatusUpdatedAt}
	switch s.Status {
	case "idle":
		st.Word = registry.Idle
	case "busy":
		st.Word = registry.Working
	case "waiting":
		st.Word, st.WaitingFor = registry.Waiting, s.WaitingFor
	}
	return st
}

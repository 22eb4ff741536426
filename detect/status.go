package detect

import (
	"time"

	"peermux/registry"
)

// Status sources, the best first.
const (
	FromClient = "client"     // Claude's own record of its process
	FromHooks  = "hooks"      // the word that hooks wrote
	FromNobody = "no_witness" // nothing is known
)

// Status is what a session is doing.
type Status struct {
	Word       string // registry.Idle, Working, Waiting or Unknown
	Source     string
	WaitingFor string // what the person is asked, in the client's words
	Since      time.Time
	Age        time.Duration // how long ago that was; 0 when Since is unknown
}

// StatusFacts tells Status where to look.
type StatusFacts struct {
	ClaudeDir string // Claude's folder, as of the session's client
	Now       time.Time
	// Codex asks Codex itself for the state of a thread; nil where it cannot be
	// asked.
	Codex func(thread string) (Status, bool)
}

// StatusOf tells what a session is doing, from the best witness there is. A
// status that is not understood is Unknown, and nothing weaker is asked instead.
func StatusOf(e registry.Entry, r *registry.Registry, f StatusFacts) Status {
	s := witness(e, r, f)
	if !s.Since.IsZero() {
		s.Age = max(0, f.Now.Sub(s.Since))
	}
	return s
}

func witness(e registry.Entry, r *registry.Registry, f StatusFacts) Status {
	switch e.Client.Kind {
	case registry.Claude:
		s, err := ReadClaudeSession(f.ClaudeDir, e.Client.PID)
		if err == nil && s.check(e.Client.ID()) == nil && s.Status != "" {
			return claudeStatus(s)
		}
	case registry.Codex:
		if f.Codex != nil && e.SessionID != "" {
			if s, ok := f.Codex(e.SessionID); ok {
				return s
			}
		}
	}
	if word, at := r.Status(e.Box); word != registry.Unknown {
		return Status{Word: word, Source: FromHooks, Since: at}
	}
	return Status{Word: registry.Unknown, Source: FromNobody}
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

package registry

import "peermux/internal/proc"

// Ways in which a session begins, in the clients' own words: the source of their
// SessionStart event (Claude Code 2.1.328, Codex 0.171.0).
const (
	SourceStartup = "startup"
	SourceResume  = "resume"
	SourceClear   = "clear"
	SourceFork    = "fork"
	SourceCompact = "compact"
)

// Step is what is known when a session begins, or is found under another id than
// before.
type Step struct {
	SessionID string
	// Source is what the client said of the beginning; "" while no hook has.
	Source string
	Client Client
	// Server is the MCP server of the session, if it is the one that asks.
	Server proc.ID
	// TranscriptSeen tells that the session's transcript was read, and
	// ForkedFrom which session it was copied from, if from any.
	TranscriptSeen bool
	ForkedFrom     string
	// Inherits tells that this thread has taken the place of the previous one in
	// its terminal, and that the previous one has ended. Only for Codex, where
	// one process holds many threads.
	Inherits bool
}

// Verdict says whether mail follows a session to its new id.
type Verdict struct {
	Move bool
	From string // the box to be moved, when Move
	// Wait: it cannot be told yet; ask again when the transcript is there or a
	// hook has reported.
	Wait   bool
	Reason string
}

// Succession decides whether the mail of the entry prev belongs to the session
// that step describes: it does when one process of the client went on from the
// one to the other, unless the new one is a copy that leaves the old one intact.
// The function is pure; the caller moves the box.
//
//	/clear, in-session /resume (Claude)          moves
//	/branch, --fork-session, /fork               does not
//	/compact, --resume or --continue elsewhere   the id stays, and with it the box
//	/clear (Codex)                               moves
//	/new, /resume (Codex)                        moves once the old thread has ended
//	a thread or process of its own               does not
func Succession(prev Entry, step Step) Verdict {
	sameClient := prev.Client.PID != 0 && prev.Client.ID() == step.Client.ID()
	sameServer := step.Server.PID != 0 && prev.ID() == step.Server
	switch {
	case step.SessionID == "":
		return Verdict{Reason: "the new session is not known"}
	case prev.SessionID == step.SessionID:
		return Verdict{Reason: "the session kept its id"}
	case !sameClient:
		return Verdict{Reason: "another process of the client: the sessions have nothing to do with each other"}
	case sameServer && prev.SessionID == "":
		return Verdict{Move: true, From: prev.Box, Reason: "the session was not identified until now"}
	case step.Client.Mode == Subagent || prev.Client.Mode == Subagent:
		return Verdict{Reason: "a subagent's mail is its own"}
	case step.Source == SourceFork:
		return Verdict{Reason: "a fork takes nothing along"}
	case step.Client.Kind == Codex:
		return codexSuccession(prev, step)
	case step.Source == "" && !step.TranscriptSeen:
		return Verdict{Wait: true, Reason: "whether it is a fork is not known yet"}
	case step.Source == "" && step.ForkedFrom != "" && step.ForkedFrom == prev.SessionID:
		return Verdict{Reason: "a fork takes nothing along"}
	}
	return Verdict{Move: true, From: prev.Box, Reason: "the same client process went on under a new id"}
}

// codexSuccession: /clear says that one thread replaces another. After /new and
// /resume the old thread can be gone back to until Codex unloads it, a minute
// after the last terminal left it.
func codexSuccession(prev Entry, step Step) Verdict {
	switch {
	case step.ForkedFrom != "":
		return Verdict{Reason: "a fork takes nothing along"}
	case step.Source == SourceClear:
		return Verdict{Move: true, From: prev.Box, Reason: "the thread was cleared"}
	case step.Inherits:
		return Verdict{Move: true, From: prev.Box, Reason: "the old thread has ended, and its terminal shows this one"}
	}
	return Verdict{Reason: "one Codex process holds many threads, and the old one may go on"}
}

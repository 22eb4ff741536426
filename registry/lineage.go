package registry

// Step is what is known when a session begins, or is found under another id than
// before.
type Step struct {
	SessionID string
	// Source is what the client says of the beginning: startup, resume, clear,
	// compact; "" when only the changed id was seen.
	Source string
	Client Client
	// ForkedFrom is the session that this one was copied from, if it was.
	ForkedFrom string
}

// Verdict says whether mail follows a session to its new id.
type Verdict struct {
	Move   bool
	From   string // the box to be moved, when Move
	Reason string
}

// Succession decides whether the mail of the entry prev belongs to the session
// that step describes: it does when one process of the client went from the one
// to the other. prev is the last entry of that client's process. The function is
// pure; the caller moves the box.
func Succession(prev Entry, step Step) Verdict {
	sameProcess := prev.Client.PID != 0 && prev.Client.ID() == step.Client.ID()
	switch {
	case step.SessionID == "":
		return Verdict{Reason: "the new session is not known"}
	case prev.SessionID == step.SessionID:
		return Verdict{Reason: "the session kept its id"}
	case !sameProcess:
		return Verdict{Reason: "another process of the client: the sessions have nothing to do with each other"}
	case step.ForkedFrom != "" && step.ForkedFrom == prev.SessionID:
		return Verdict{Reason: "a fork takes nothing along"}
	case prev.SessionID == "":
		return Verdict{Move: true, From: prev.Box, Reason: "the session was not identified until now"}
	}
	return Verdict{Move: true, From: prev.Box, Reason: "the same client process went on under a new id"}
}

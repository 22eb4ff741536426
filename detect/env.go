package detect

import "peermux/registry"

// sessionVariable is what Claude gives its MCP servers, hooks and shells. A
// server keeps the value of its start over /clear and /resume.
const sessionVariable = "CLAUDE_CODE_SESSION_ID"

// byEnv takes the session id that Claude put into our environment, unless it was
// inherited from an agent further up.
func byEnv(f Facts, c client) Outcome {
	o := Outcome{Strategy: EnvVariable, Outcome: Abstained}
	id := f.Env(sessionVariable)
	switch {
	case c.kind != registry.Claude && id != "":
		o.Outcome, o.Reason = NotApplicable, sessionVariable+" is inherited: the client is not Claude Code"
	case c.kind != registry.Claude:
		o.Outcome, o.Reason = NotApplicable, "only Claude Code tells the session by a variable"
	case id == "":
		o.Reason = sessionVariable + " is not set"
	case !validID(id):
		o.Reason = sessionVariable + " is malformed"
	case f.Processes.Env(c.PID, sessionVariable)[sessionVariable] == id:
		o.Reason = sessionVariable + " is inherited: the client itself was started with it"
		o.Candidates = []string{id}
	default:
		o.Outcome, o.SessionID = Fired, id
		o.Reason = sessionVariable + " was set by the client when it started this process"
	}
	return o
}

package detect

import (
	"fmt"

	"peermux/registry"
)

// sessionVariable is what a client gives the processes that it starts. Claude Code
// sets its own for MCP servers, hooks and shells; a server keeps the value of its
// start over /clear and /resume. Codex sets its own in shells only (0.171.0).
func sessionVariable(kind string) string {
	switch kind {
	case registry.Claude:
		return "CLAUDE_CODE_SESSION_ID"
	case registry.Codex:
		return "CODEX_THREAD_ID"
	}
	return ""
}

// byEnv takes the session id that the client put into our environment, unless it
// was inherited from an agent further up.
func byEnv(f Facts, c client) Outcome {
	o := Outcome{Strategy: EnvVariable, Outcome: Abstained}
	name := sessionVariable(c.kind)
	if name == "" {
		o.Outcome, o.Reason = NotApplicable, "this client tells no session by a variable"
		return o
	}
	id := f.Env(name)
	switch {
	case id == "":
		o.Reason = name + " is not set"
	case !validID(id):
		o.Reason = name + " is malformed"
	case f.System.Env(c.PID, name)[name] == id:
		o.Reason = name + " is inherited: the client itself was started with it"
		o.Candidates = []string{id}
	default:
		o.Outcome, o.SessionID = Fired, id
		o.Reason = fmt.Sprintf("%s was set by the client when it started this process", name)
	}
	return o
}

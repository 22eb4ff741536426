package detect

import (
	"encoding/json"

	"peermux/registry"
)

// callMeta is the part of a tools/call's _meta that identifies a Codex thread
// (0.171.0). sessionId, and session_id below x-codex-turn-metadata, name the root
// of a tree of threads; threadId names the thread itself.
type callMeta struct {
	ThreadID  string `json:"threadId"`
	SessionID string `json:"sessionId"`
}

// byMeta takes the thread id that Codex sends with every tool call.
func byMeta(f Facts, c client) Outcome {
	o := Outcome{Strategy: Meta}
	m, ok := readMeta(f.Meta)
	switch {
	case c.kind != registry.Codex:
		o.Outcome, o.Reason = NotApplicable, "only Codex sends the thread's id with a tool call"
	case len(f.Meta) == 0:
		o.Outcome, o.Reason = Abstained, "no tool was called yet"
	case !ok:
		o.Outcome, o.Reason = Abstained, "the last tool call named no thread"
	default:
		o.Outcome, o.SessionID, o.Reason = Fired, m.ThreadID, "the last tool call came from this thread"
	}
	return o
}

func readMeta(raw json.RawMessage) (callMeta, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return callMeta{}, false
	}
	m := callMeta{ThreadID: text(fields["threadId"]), SessionID: text(fields["sessionId"])}
	return m, validID(m.ThreadID)
}

// subthread reports whether the call came from a thread below another one.
func subthread(raw json.RawMessage) bool {
	m, ok := readMeta(raw)
	return ok && validID(m.SessionID) && m.SessionID != m.ThreadID
}

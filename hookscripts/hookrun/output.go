package hookrun

import (
	"encoding/json"

	"peermux/registry"
)

// context is the output by which both clients take text into the model's
// context. Plain stdout would do for some events and be ignored for others.
type contextOutput struct {
	Specific specific `json:"hookSpecificOutput"`
}

type specific struct {
	Event   string   `json:"hookEventName"`
	Context string   `json:"additionalContext,omitempty"`
	Watch   []string `json:"watchPaths,omitempty"`
}

// blockOutput keeps a turn going. Only for Stop: after a tool, Codex would
// replace the tool's result by the reason.
type blockOutput struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// emit writes text in the form that the client takes for this event, in one
// write. watch is for Claude Code's SessionStart.
//
// At Stop, Claude Code continues the turn with the additional context as a
// system reminder, where a block would put a peer's words into a user message
// (2.1.197, 2.1.328). Codex 0.171.0 knows only the block there.
func (h *hook) emit(text string, watch []string) error {
	var v any = contextOutput{specific{h.Event, text, watch}}
	if h.Client == registry.Codex && h.Event == "Stop" {
		v = blockOutput{"block", text}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = h.Stdout.Write(append(data, '\n'))
	return err
}

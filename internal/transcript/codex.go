package transcript

import (
	"encoding/json"
	"strings"
	"time"

	"peermux/internal/frame"
)

// codexDecoder reads lines of a Codex rollout (0.171.0, and the forms before
// it back to lines that are a bare item without an envelope).
//
// What the model saw and said are the response items; the event messages tell
// the same again for the screen, so of those only what has no item is taken: a
// turn's end, an interrupt, prompts that were taken back.
type codexDecoder struct {
	skipped *skipped
}

// codexLine is a line's envelope.
type codexLine struct {
	typ     string
	at      time.Time
	payload []byte
}

func (l *codexLine) set(key, value []byte) bool {
	switch string(key) {
	case "type":
		l.typ = text(value)
	case "timestamp":
		l.at = stamp(value)
	case "payload":
		l.payload = value
	}
	return true
}

// codexItem is a payload; which fields are filled depends on its type.
type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	CallID    string          `json:"call_id"`
	ID        string          `json:"id"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
	Status    string          `json:"status"`
	Message   string          `json:"message"`
	Reason    string          `json:"reason"`
	NumTurns  int             `json:"num_turns"`
	Metadata  struct {
		Kinds []string `json:"content_item_kinds"`
		Items []struct {
			Provenance struct {
				Type string `json:"type"`
			} `json:"provenance"`
		} `json:"content_item_metadata"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

func (d *codexDecoder) decode(data []byte) ([]event, bool) {
	var l codexLine
	if !members(data, l.set) {
		return nil, false
	}
	payload := l.payload
	switch l.typ {
	case "response_item", "event_msg", "compacted":
	case "token_usage_record": // after each answer, in versions that record the end of a turn
		return []event{{kind: kindStart}}, true
	case "session_meta", "turn_context", "world_state", "":
		return nil, true
	default:
		payload = data // before 0.32 a line was the item itself
	}
	if l.typ == "event_msg" && !codexEventMatters(payload) {
		return nil, true
	}
	var item codexItem
	if decode(payload, &item) != nil {
		return nil, false
	}
	var events []event
	switch l.typ {
	case "compacted":
		events = []event{{kind: kindPrompt, role: RoleSystem, text: "Conversation compacted. " + item.Message, ends: true}}
	case "event_msg":
		events = codexEvent(&item)
	default:
		events = d.item(&item)
	}
	for i := range events {
		events[i].at = l.at
	}
	return events, true
}

// codexEventMatters looks at the type alone: command output is written a second
// time as an event, in lines of up to megabytes.
func codexEventMatters(payload []byte) bool {
	matters := false
	members(payload, func(key, value []byte) bool {
		if string(key) != "type" {
			return true
		}
		switch text(value) {
		case "task_started", "task_complete", "turn_aborted", "thread_rolled_back", "error", "token_count":
			matters = true
		}
		return false
	})
	return matters
}

func codexEvent(item *codexItem) []event {
	switch item.Type {
	case "turn_aborted":
		words := "Interrupted by the user."
		if item.Reason != "" && item.Reason != "interrupted" {
			words = "Turn ended: " + item.Reason + "."
		}
		return []event{{kind: kindPrompt, role: RoleSystem, text: words, ends: true}}
	case "token_count":
		return []event{{kind: kindBreak}}
	case "task_started":
		return []event{{kind: kindStart}}
	case "thread_rolled_back":
		return []event{{kind: kindRollback, n: item.NumTurns}}
	case "error":
		return []event{{kind: kindPrompt, role: RoleSystem, text: "Error: " + item.Message, ends: true}}
	}
	return []event{{kind: kindEnd}}
}

// item reads a response item.
func (d *codexDecoder) item(item *codexItem) []event {
	id := item.CallID
	if id == "" {
		id = item.ID
	}
	switch item.Type {
	case "message":
		return codexMessage(item)
	case "reasoning":
		d.skipped.reasoning++
	case "function_call":
		name := item.Name
		if item.Namespace != "" {
			name = item.Namespace + "__" + name
		}
		return []event{{kind: kindCall, id: id, name: name, text: codexArguments(item.Arguments)}}
	case "custom_tool_call":
		return []event{{kind: kindCall, id: id, name: item.Name, text: rawWords(item.Input)}}
	case "tool_search_call":
		return []event{{kind: kindCall, id: id, name: "tool_search", text: codexArguments(item.Arguments)}}
	case "local_shell_call":
		return []event{{kind: kindCall, id: id, name: "local_shell", text: callInput(item.Action)}}
	case "web_search_call", "image_generation_call":
		// The service ran it; no output follows.
		name := strings.TrimSuffix(item.Type, "_call")
		return []event{
			{kind: kindCall, id: id, name: name, text: callInput(item.Action)},
			{kind: kindResult, id: id, failed: item.Status == "failed"},
		}
	case "function_call_output", "custom_tool_call_output", "mcp_tool_call_output":
		words, failed := codexOutput(item.Output)
		return []event{{kind: kindResult, id: id, text: words, failed: failed}}
	case "tool_search_output":
		return []event{{kind: kindResult, id: id, text: string(item.Tools)}}
	}
	return nil
}

// codexMessage tells the user's words, mail and the client's own apart.
func codexMessage(item *codexItem) []event {
	words := item.Content.words()
	if item.Role == "assistant" {
		return []event{{kind: kindSay, text: words}}
	}
	trimmed := strings.TrimSpace(words)
	fromHook := item.Role == "developer"
	if tag, inner := leadingTag(trimmed); tag == "hook_prompt" {
		words, fromHook = inner, true
	}
	switch {
	case trimmed == frame.WakeLine: // typed or queued by peermux, not by a person
		return []event{{kind: kindPrompt, role: RoleSystem, text: trimmed}}
	case isMail(words, fromHook):
		return []event{{kind: kindPrompt, role: RolePeer, text: mailText(words), ends: item.Role == "developer"}}
	case item.Role != "user" || trimmed == "" || codexHarness(item, trimmed):
		return []event{{kind: kindBreak}}
	}
	return []event{{kind: kindPrompt, role: RoleUser, text: trimmed}}
}

// codexHarness reports whether a message of role user is Codex's own. Since
// 0.171 each part says where it comes from; older lines are told by their tags.
func codexHarness(item *codexItem, words string) bool {
	if parts := item.Metadata.Items; len(parts) > 0 {
		for _, p := range parts {
			if p.Provenance.Type == "user" {
				return false
			}
		}
		return true
	}
	switch tag, _ := leadingTag(words); tag {
	case "environment_context", "user_instructions", "turn_aborted", "user_shell_command", "hook_prompt",
		"skill", "subagent_notification", "permissions", "collaboration_mode", "INSTRUCTIONS":
		return true
	}
	return strings.HasPrefix(words, "# AGENTS.md instructions")
}

// codexArguments renders arguments that are JSON inside a JSON string.
func codexArguments(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		inner := text(raw)
		return callInput(json.RawMessage(inner))
	}
	return callInput(raw)
}

// codexOutput is a tool's output: a string, blocks, or {content, success}. A
// command's output is headed by lines about time and exit code; of those only
// a failed exit code is worth the room.
func codexOutput(raw json.RawMessage) (words string, failed bool) {
	var wrapped struct {
		Content json.RawMessage `json:"content"`
		Success *bool           `json:"success"`
	}
	words = rawWords(raw)
	if strings.HasPrefix(words, "{") && decode([]byte(words), &wrapped) == nil && len(wrapped.Content) > 0 {
		words = rawWords(wrapped.Content)
		failed = wrapped.Success != nil && !*wrapped.Success
	}
	var old struct {
		Output   *string `json:"output"`
		Metadata struct {
			ExitCode int `json:"exit_code"`
		} `json:"metadata"`
	}
	if strings.HasPrefix(words, "{") && decode([]byte(words), &old) == nil && old.Output != nil {
		return *old.Output, failed || old.Metadata.ExitCode != 0
	}
	head, body, ok := strings.Cut(words, "Output:\n")
	if !ok || !strings.Contains(head, "Wall time:") || len(head) > 400 {
		return words, failed
	}
	if _, code, ok := strings.Cut(head, "Process exited with code "); ok && !strings.HasPrefix(code, "0\n") {
		code, _, _ = strings.Cut(code, "\n")
		return "Exit code " + code + "\n" + body, true
	}
	if strings.Contains(head, "Process running with session ID") {
		return strings.TrimSpace(head) + "\n" + body, failed
	}
	return body, failed
}

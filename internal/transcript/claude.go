package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"peermux/internal/frame"
)

// claudeDecoder reads lines of Claude Code (2.1.197 to 2.1.328).
//
// A message of the model is several lines, one for each content block, with
// one message.id. Results of tools are lines of type user. What hooks and the
// client itself put in front of the model are attachments. Everything else is
// the client's own bookkeeping.
type claudeDecoder struct {
	session    string // records of others are left out; empty: all are taken
	sidechains bool
	skipped    *skipped
}

// claudeLine holds what a read needs of a line.
type claudeLine struct {
	typ, subtype, session string
	uuid, parent, agent   string
	sidechain, meta       bool
	summary, apiError     bool
	at                    time.Time
	message, attachment   []byte
	content, origin       []byte
	compact               []byte
}

func (d *claudeDecoder) decode(data []byte) ([]event, bool) {
	var l claudeLine
	if !members(data, l.set) {
		return nil, false
	}
	if d.session != "" && l.session != "" && l.session != d.session {
		if l.message != nil {
			d.skipped.foreign++
		}
		return nil, true
	}
	if l.sidechain && !d.sidechains {
		if l.message != nil {
			d.skipped.subagent++
		}
		return nil, true
	}
	events, ok := d.events(&l)
	for i := range events {
		e := &events[i]
		e.at, e.agent, e.uuid, e.parent = l.at, l.agent, l.uuid, l.parent
	}
	if len(events) == 0 && l.uuid != "" {
		events = []event{{kind: kindLink, uuid: l.uuid, parent: l.parent}}
	}
	return events, ok
}

// set keeps the members that matter.
func (l *claudeLine) set(key, value []byte) bool {
	switch string(key) {
	case "type":
		l.typ = text(value)
	case "subtype":
		l.subtype = text(value)
	case "sessionId":
		l.session = text(value)
	case "uuid":
		l.uuid = text(value)
	case "parentUuid":
		l.parent = text(value)
	case "agentId":
		l.agent = text(value)
	case "isSidechain":
		l.sidechain = string(value) == "true"
	case "isMeta":
		l.meta = string(value) == "true"
	case "isCompactSummary":
		l.summary = string(value) == "true"
	case "isApiErrorMessage":
		l.apiError = string(value) == "true"
	case "timestamp":
		l.at = stamp(value)
	case "message":
		l.message = value
	case "attachment":
		l.attachment = value
	case "content":
		l.content = value
	case "origin":
		l.origin = value
	case "compactMetadata":
		l.compact = value
	}
	return true
}

func (d *claudeDecoder) events(l *claudeLine) ([]event, bool) {
	switch {
	case l.message == nil:
	case l.typ == "user":
		return d.user(l)
	case l.typ == "assistant":
		return d.assistant(l)
	}
	switch l.typ {
	case "attachment":
		return claudeAttachment(l), true
	case "system":
		return claudeSystem(l), true
	}
	return nil, true
}

// user reads a prompt, or the results of tools.
func (d *claudeDecoder) user(l *claudeLine) ([]event, bool) {
	var m struct {
		Content content `json:"content"`
	}
	if decode(l.message, &m) != nil {
		return nil, false
	}
	var events []event
	for _, b := range m.Content {
		if b.Type == "tool_result" {
			events = append(events, event{kind: kindResult, id: b.ToolUseID, text: rawWords(b.Content), failed: b.IsError})
		}
	}
	words := m.Content.words()
	switch {
	case l.summary:
		return append(events, event{kind: kindPrompt, role: RoleSystem, text: "Summary of the conversation so far: " + withoutReminders(words)}), true
	case words != "":
		if e := claudeWords(words, l); e.text != "" {
			events = append(events, e)
		}
	}
	return events, true
}

// claudeWords tells who speaks in a line of type user, since Claude also writes
// down as user what commands print, what hooks say and that the user pressed
// Escape. The text is "" when there is nothing to show.
func claudeWords(words string, l *claudeLine) event {
	trimmed := strings.TrimSpace(words)
	e := event{kind: kindPrompt, role: RoleSystem, ends: true}
	switch {
	case isMail(words, false):
		return event{kind: kindPrompt, role: RolePeer, text: mailText(words)}
	case trimmed == frame.WakeLine: // typed by peermux, not by a person
		return event{kind: kindPrompt, role: RoleSystem, text: trimmed}
	}
	tag, inner := leadingTag(trimmed)
	switch tag {
	case "command-name", "command-message":
		e.text = slashCommand(trimmed)
	case "local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr":
		e.text = strings.TrimSpace(inner + "\n" + between(trimmed, "<bash-stderr>", "</bash-stderr>"))
	case "bash-input":
		e.role, e.text = RoleUser, "! "+inner
	case "task-notification":
		e.text, e.ends = between(trimmed, "<summary>", "</summary>"), false
	case "teammate-message", "cross-session-message":
		e.role, e.text, e.ends = RolePeer, inner, false
	case "local-command-caveat":
	default:
		return claudePrompt(words, l)
	}
	return e
}

// claudePrompt is what a person, a program or another Claude said.
func claudePrompt(words string, l *claudeLine) event {
	e := event{kind: kindPrompt, role: RoleUser}
	if strings.HasPrefix(words, "Another Claude session") {
		if _, rest, ok := strings.Cut(words, "<cross-session-message "); ok {
			_, e.text, _ = strings.Cut(rest, ">")
			e.text, _, _ = strings.Cut(e.text, "</cross-session-message>")
			e.role = RolePeer
			return e
		}
	}
	if l.meta {
		return e
	}
	e.text = strings.TrimSpace(withoutReminders(words))
	switch {
	case strings.HasPrefix(e.text, "[Request interrupted by user"):
		e.role, e.ends = RoleSystem, true
	case !fromPerson(l.origin):
		e.role = RoleSystem
	}
	return e
}

// fromPerson reads the origin of a prompt; older versions and the SDK write none.
func fromPerson(origin []byte) bool {
	person := true
	members(origin, func(key, value []byte) bool {
		if string(key) == "kind" {
			k := text(value)
			person = k == "" || k == "human" || k == "sdk"
		}
		return true
	})
	return person
}

// assistant reads one content block of a message.
func (d *claudeDecoder) assistant(l *claudeLine) ([]event, bool) {
	var m struct {
		ID         string  `json:"id"`
		Model      string  `json:"model"`
		Content    content `json:"content"`
		StopReason string  `json:"stop_reason"`
	}
	if decode(l.message, &m) != nil {
		return nil, false
	}
	if m.Model == "<synthetic>" {
		// What the client writes in the model's place: API errors, and "No
		// response requested." between an interrupt and the next prompt.
		words := m.Content.words()
		if !l.apiError || words == "" {
			return nil, true
		}
		return []event{{kind: kindPrompt, role: RoleSystem, text: words, ends: true}}, true
	}
	var events []event
	ends := m.StopReason != "" && m.StopReason != "tool_use" && m.StopReason != "pause_turn"
	for _, b := range m.Content {
		switch {
		case b.Type == "text":
			events = append(events, event{kind: kindSay, group: m.ID, text: b.Text, ends: ends})
		case strings.HasSuffix(b.Type, "tool_use"):
			events = append(events, event{kind: kindCall, group: m.ID, id: b.ID, name: b.Name, text: callInput(b.Input)})
		case strings.HasSuffix(b.Type, "tool_result"):
			events = append(events, event{kind: kindResult, id: b.ToolUseID, text: rawWords(b.Content), failed: b.IsError})
		case strings.HasSuffix(b.Type, "thinking"):
			d.skipped.reasoning++
		}
	}
	return events, true
}

// claudeAttachment reads what was put in front of the model beside the
// conversation; only mail and the user's queued prompts belong to it.
func claudeAttachment(l *claudeLine) []event {
	var a struct {
		Type      string          `json:"type"`
		Content   json.RawMessage `json:"content"`
		Prompt    json.RawMessage `json:"prompt"`
		HookEvent string          `json:"hookEvent"`
		Origin    json.RawMessage `json:"origin"`
		Blocking  struct {
			Text string `json:"blockingError"`
		} `json:"blockingError"`
	}
	known := false
	members(l.attachment, func(key, value []byte) bool {
		switch {
		case string(key) != "type":
			return true
		case bytes.HasPrefix(value, []byte(`"hook_`)), bytes.HasPrefix(value, []byte(`"queued_`)):
			known = true
		}
		return false
	})
	if !known || decode(l.attachment, &a) != nil {
		return nil
	}
	if a.Type == "queued_command" {
		l.origin = a.Origin
		if e := claudeWords(rawWords(a.Prompt), l); e.text != "" {
			return []event{e}
		}
		return nil
	}
	words := a.Blocking.Text
	if a.Type == "hook_additional_context" {
		words = strings.Join(stringList(a.Content), "\n")
	}
	if !isMail(words, true) {
		return nil
	}
	// Mail shown at the end of a turn keeps the turn going; any other time it
	// changes nothing about who speaks next.
	return []event{{kind: kindPrompt, role: RolePeer, text: mailText(words), ends: a.HookEvent != "Stop"}}
}

// claudeSystem reads records of the client itself.
func claudeSystem(l *claudeLine) []event {
	switch l.subtype {
	case "compact_boundary":
		return []event{{kind: kindPrompt, role: RoleSystem, text: "Conversation compacted" + compactDetail(l.compact), ends: true}}
	case "turn_duration":
		return []event{{kind: kindEnd}}
	case "local_command":
		if e := claudeWords(text(l.content), l); e.text != "" {
			return []event{e}
		}
	case "api_error":
		return []event{{kind: kindPrompt, role: RoleSystem, text: "The model's service answered with an error; the client tries again."}}
	}
	return nil
}

func compactDetail(meta []byte) string {
	var m struct {
		Trigger   string `json:"trigger"`
		PreTokens int    `json:"preTokens"`
	}
	if len(meta) == 0 || decode(meta, &m) != nil || m.Trigger == "" {
		return "."
	}
	return " (" + m.Trigger + ")."
}

// stringList is a JSON string, or a list of them.
func stringList(raw json.RawMessage) []string {
	if len(raw) > 0 && raw[0] == '"' {
		return []string{text(raw)}
	}
	var list []string
	if decode(raw, &list) != nil {
		return nil
	}
	return list
}

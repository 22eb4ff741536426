package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// anthropicBody is what the mock reads of a Messages request.
type anthropicBody struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Tools    []any           `json:"tools"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// block is one content block; Content is a tool result's own list.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
}

// blocks reads a content, which is a string or a list. What is neither is kept
// as text, so that nothing that reached the model goes unseen.
func blocks(raw json.RawMessage) []block {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var list []block
	if json.Unmarshal(raw, &list) != nil {
		return []block{{Type: "text", Text: string(raw)}}
	}
	return list
}

func (b anthropicBody) messages() []Message {
	var out []Message
	for _, s := range blocks(b.System) {
		if s.Text != "" {
			out = append(out, Message{Role: "system", Text: s.Text})
		}
	}
	for _, m := range b.Messages {
		for _, c := range blocks(m.Content) {
			switch c.Type {
			case "text":
				out = append(out, Message{Role: m.Role, Text: c.Text})
			case "tool_use":
				out = append(out, Message{Role: "assistant", Text: c.Name + " " + string(c.Input)})
			case "tool_result":
				var parts []string
				for _, r := range blocks(c.Content) {
					parts = append(parts, r.Text)
				}
				out = append(out, Message{Role: "tool", Text: strings.Join(parts, "\n")})
			}
		}
	}
	return out
}

func (s *Server) anthropic(w http.ResponseWriter, r *http.Request) {
	raw, ok := s.body(w, r)
	if !ok {
		return
	}
	var body anthropicBody
	if err := json.Unmarshal(raw, &body); err != nil {
		refuse(w, err.Error())
		return
	}
	q := Request{API: "anthropic", Session: r.Header.Get("X-Claude-Code-Session-Id"), At: time.Now(),
		Messages: body.messages(), Body: raw, Aux: len(body.Tools) == 0}
	tokens := s.decide(&q)
	n := s.record.add(q)
	if q.Answer.Fail != "" {
		fail(w, r, q.Answer)
		return
	}

	message := map[string]any{"id": fmt.Sprintf("msg_mock%d", n), "type": "message", "role": "assistant",
		"model": body.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": tokens, "cache_creation_input_tokens": 0,
			"cache_read_input_tokens": 0, "output_tokens": 20}}
	content, stop := anthropicContent(n, q.Answer)
	if !body.Stream {
		message["content"], message["stop_reason"] = content, stop
		reply(w, http.StatusOK, message)
		return
	}
	st := newStream(w, r, n)
	st.send("message_start", map[string]any{"message": message})
	if !st.wait(q.Answer.Delay, func() { st.send("ping", map[string]any{}) }) {
		s.record.event("#%d CLIENT CLOSED", n)
		return
	}
	for i, c := range content {
		start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": c["text"]}
		if c["type"] == "tool_use" {
			start = map[string]any{"type": "tool_use", "id": c["id"], "name": c["name"], "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(c["input"].(json.RawMessage))}
		}
		st.send("content_block_start", map[string]any{"index": i, "content_block": start})
		st.send("content_block_delta", map[string]any{"index": i, "delta": delta})
		st.send("content_block_stop", map[string]any{"index": i})
	}
	st.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 20}})
	st.send("message_stop", map[string]any{})
}

// anthropicContent is an answer's content blocks and stop reason.
func anthropicContent(n int, step Step) ([]map[string]any, string) {
	if len(step.Calls) == 0 {
		return []map[string]any{{"type": "text", "text": step.Say}}, "end_turn"
	}
	var out []map[string]any
	if step.Say != "" {
		out = append(out, map[string]any{"type": "text", "text": step.Say})
	}
	for i, c := range step.Calls {
		out = append(out, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_mock%06d%d", n, i),
			"name": c.Name, "input": c.Input})
	}
	return out, "tool_use"
}

// decide fills in the answer of a request and returns the tokens to report.
func (s *Server) decide(q *Request) int {
	rules, tokens := s.settings()
	if q.Aux {
		q.Answer = Step{Say: "mock title"}
		return tokens
	}
	step, err := Decide(q.Messages, rules)
	if err != nil {
		s.record.event("BAD SCRIPT %v", err)
	}
	q.Answer = step
	return tokens
}

package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// openaiBody is what the mock reads of a Responses request.
type openaiBody struct {
	Model        string `json:"model"`
	Instructions string `json:"instructions"`
	Input        []item `json:"input"`
	Tools        []tool `json:"tools"`
}

type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Tools     []tool          `json:"tools"` // additional_tools and tool_search_output
}

// tool is a tool or, with type "namespace", an MCP server's group of tools.
type tool struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Tools []tool `json:"tools"`
}

func (b openaiBody) messages() []Message {
	var out []Message
	if b.Instructions != "" {
		out = append(out, Message{Role: "system", Text: b.Instructions})
	}
	for _, it := range b.Input {
		switch {
		case it.Type == "message" || it.Type == "":
			role := it.Role
			if role == "developer" {
				role = "system"
			}
			out = append(out, Message{Role: role, Text: joined(it.Content)})
		case strings.HasSuffix(it.Type, "_call"):
			out = append(out, Message{Role: "assistant", Text: it.Name + " " + string(it.Arguments) + string(it.Input)})
		case strings.HasSuffix(it.Type, "_output"):
			out = append(out, Message{Role: "tool", Text: joined(it.Output)})
		}
	}
	return out
}

func joined(raw json.RawMessage) string {
	var parts []string
	for _, b := range blocks(raw) {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// sideJob reports whether Codex asks for something beside the conversation: its
// requests for a title carry thread_source in their turn metadata, and requests
// that offer no shell are never a turn.
func (b openaiBody) sideJob(metadata string) bool {
	if strings.Contains(metadata, `"thread_source":"thread_title"`) {
		return true
	}
	shell := func(t tool) bool { return t.Name == "exec_command" || t.Name == "shell" }
	more := func(it item) bool { return it.Type == "additional_tools" }
	return !slices.ContainsFunc(b.Tools, shell) && !slices.ContainsFunc(b.Input, more)
}

func (s *Server) openai(w http.ResponseWriter, r *http.Request) {
	raw, ok := s.body(w, r)
	if !ok {
		return
	}
	var body openaiBody
	if err := json.Unmarshal(raw, &body); err != nil {
		refuse(w, err.Error())
		return
	}
	q := Request{API: "openai", Session: r.Header.Get("Thread-Id"), At: time.Now(), Messages: body.messages(),
		Body: raw, Aux: body.sideJob(r.Header.Get("X-Codex-Turn-Metadata"))}
	tokens := s.decide(&q)
	n := s.record.add(q)
	if q.Answer.Fail != "" {
		fail(w, r, q.Answer)
		return
	}

	st := &openaiStream{stream: newStream(w, r, n), id: fmt.Sprintf("resp_mock%d_%d", n, q.At.UnixNano())}
	st.send("response.created", map[string]any{"response": map[string]any{"id": st.id, "object": "response",
		"status": "in_progress", "model": body.Model, "output": []any{}}})
	alive := st.wait(q.Answer.Delay, func() {
		st.send("response.in_progress", map[string]any{"response": map[string]any{"id": st.id, "status": "in_progress"}})
	})
	if !alive {
		s.record.event("#%d CLIENT CLOSED", n)
		return
	}
	st.answer(q.Answer, func(pos int, c Call) map[string]any { return body.call(c, n, pos) })
	st.send("response.completed", map[string]any{"response": map[string]any{"id": st.id, "object": "response",
		"status": "completed", "model": body.Model, "output": st.output,
		"usage": map[string]any{"input_tokens": tokens, "output_tokens": 20, "total_tokens": tokens + 20,
			"input_tokens_details":  map[string]any{"cached_tokens": 0},
			"output_tokens_details": map[string]any{"reasoning_tokens": 0}}}})
}

// openaiStream numbers the events and gathers the output items.
type openaiStream struct {
	*stream
	id     string
	seq    int
	output []any
}

func (s *openaiStream) send(kind string, data map[string]any) {
	data["sequence_number"] = s.seq
	s.seq++
	s.stream.send(kind, data)
}

func (s *openaiStream) answer(step Step, call func(int, Call) map[string]any) {
	if step.Say != "" || len(step.Calls) == 0 {
		id := "msg_" + s.id
		text := map[string]any{"type": "output_text", "text": step.Say, "annotations": []any{}}
		item := func(status string, content ...any) map[string]any {
			return map[string]any{"id": id, "type": "message", "role": "assistant", "status": status, "content": append([]any{}, content...)}
		}
		s.send("response.output_item.added", map[string]any{"output_index": 0, "item": item("in_progress")})
		s.send("response.output_text.delta", map[string]any{"item_id": id, "output_index": 0, "content_index": 0, "delta": step.Say})
		s.send("response.output_item.done", map[string]any{"output_index": 0, "item": item("completed", text)})
		s.output = append(s.output, item("completed", text))
	}
	for _, c := range step.Calls {
		pos := len(s.output)
		it := call(pos, c)
		s.send("response.output_item.added", map[string]any{"output_index": pos, "item": it})
		s.send("response.output_item.done", map[string]any{"output_index": pos, "item": it})
		s.output = append(s.output, it)
	}
}

// call builds the item of one tool call in the form that Codex accepts: tool
// search, custom tool or function, with the namespace for an MCP tool, which may
// be listed, found by a search, or still deferred.
func (b openaiBody) call(c Call, n, pos int) map[string]any {
	out := map[string]any{"status": "completed", "call_id": fmt.Sprintf("call_mock%d_%d", n, pos)}
	if c.Name == "tool_search" {
		out["id"], out["type"] = fmt.Sprintf("ts_mock%d_%d", n, pos), "tool_search_call"
		out["execution"], out["arguments"] = "client", c.Input
		return out
	}
	name, namespace, custom := b.resolve(c.Name)
	out["name"] = name
	if namespace != "" {
		out["namespace"] = namespace
	}
	if custom {
		out["id"], out["type"], out["input"] = fmt.Sprintf("ctc_mock%d_%d", n, pos), "custom_tool_call", customInput(c.Input)
		return out
	}
	out["id"], out["type"], out["arguments"] = fmt.Sprintf("fc_mock%d_%d", n, pos), "function_call", string(c.Input)
	return out
}

// customInput is a custom tool's free text: a JSON string or {"raw": text}.
func customInput(in json.RawMessage) string {
	var text string
	if json.Unmarshal(in, &text) == nil {
		return text
	}
	var object struct {
		Raw *string `json:"raw"`
	}
	if json.Unmarshal(in, &object) == nil && object.Raw != nil {
		return *object.Raw
	}
	return string(in)
}

// resolve splits a script's tool name into Codex's name and namespace.
func (b openaiBody) resolve(full string) (name, namespace string, custom bool) {
	known := slices.Clone(b.Tools)
	for _, it := range b.Input {
		known = append(known, it.Tools...)
	}
	for _, t := range known {
		if inner, ok := strings.CutPrefix(full, strings.TrimRight(t.Name, "_")+"__"); ok && t.Type == "namespace" {
			return inner, t.Name, false
		}
		if t.Name == full {
			return full, "", t.Type == "custom"
		}
		for _, in := range t.Tools {
			if in.Name == full {
				return full, t.Name, in.Type == "custom"
			}
		}
	}
	if rest, ok := strings.CutPrefix(full, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			return tool, "mcp__" + server, false
		}
	}
	return full, "", false
}

// compact answers Codex's own compaction request.
func (s *Server) compact(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.body(w, r); !ok {
		return
	}
	s.record.event("COMPACT %s", r.Header.Get("Thread-Id"))
	reply(w, http.StatusOK, map[string]any{"output": []any{map[string]any{"type": "message", "role": "user",
		"content": []any{map[string]any{"type": "input_text", "text": "MOCK COMPACTED"}}}}})
}

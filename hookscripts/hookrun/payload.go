package hookrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// payload is what a client tells its hook on stdin, as far as we use it.
// Only top-level keys count: an "agent_id" inside a tool's arguments says
// nothing about who fires the event.
type payload struct {
	SessionID    string // Claude's session id, Codex's thread id
	Transcript   string
	CWD          string
	AgentID      string // set in a subagent's events
	Source       string // SessionStart: startup, resume, clear, compact
	Prompt       string // UserPromptSubmit; its first promptLimit bytes
	Notification string // Notification: permission_prompt, idle_prompt
	Reason       string // SessionEnd: clear, resume, other, prompt_input_exit
	FilePath     string // FileChanged
	StopActive   bool   // Stop: this turn was already continued by a hook
}

const (
	valueLimit  = 16 << 10 // bytes kept of a string; longer ids and paths don't exist
	promptLimit = 4 << 10  // enough to tell a person's prompt from a notification
	firstRead   = 4 << 10  // most payloads; memory that is not touched costs nothing
	maxRead     = 64 << 10
)

var errPayload = errors.New("not one JSON object")

// field returns where the value of a top-level key goes and how many of its
// bytes are kept, or nil for a key that is skipped.
func (p *payload) field(key string) (dst *string, limit int) {
	switch key {
	case "session_id":
		return &p.SessionID, valueLimit
	case "transcript_path":
		return &p.Transcript, valueLimit
	case "cwd":
		return &p.CWD, valueLimit
	case "agent_id":
		return &p.AgentID, valueLimit
	case "source":
		return &p.Source, valueLimit
	case "prompt":
		return &p.Prompt, promptLimit
	case "notification_type":
		return &p.Notification, valueLimit
	case "reason":
		return &p.Reason, valueLimit
	case "file_path":
		return &p.FilePath, valueLimit
	}
	return nil, 0
}

// parsePayload scans the top level of one JSON object, up to its closing brace and
// not to the end of the stream: some client versions never close a hook's stdin
// (facts: C11). It keeps the few strings that field names and passes over all else
// without storing it, so a tool input of many megabytes costs one pass over its
// bytes.
func parsePayload(r io.Reader) (payload, error) {
	s := scanner{r: r, buf: make([]byte, 0, firstRead)}
	var p payload
	if s.token() != '{' {
		return payload{}, errPayload
	}
	for c := s.token(); c != '}'; c = s.token() {
		if c == ',' {
			c = s.token()
		}
		if c != '"' {
			return payload{}, errPayload
		}
		key := s.str(valueLimit)
		if s.token() != ':' {
			return payload{}, errPayload
		}
		s.value(&p, key)
		if s.err != nil {
			return payload{}, s.err
		}
	}
	return p, s.err
}

// scanner is a pull reader of JSON bytes; after an error every read gives 0.
type scanner struct {
	r   io.Reader
	buf []byte
	pos int
	err error
}

func (s *scanner) fill() bool {
	if len(s.buf) == cap(s.buf) && len(s.buf) < maxRead { // a long one
		s.buf = make([]byte, 0, maxRead)
	}
	for empty := 0; s.err == nil && empty < 100; empty++ {
		n, err := s.r.Read(s.buf[:cap(s.buf)])
		s.buf, s.pos, s.err = s.buf[:n], 0, err
		if n > 0 {
			s.err = nil // an error that lasts comes again
			return true
		}
	}
	if s.err == nil {
		s.err = io.ErrNoProgress
	}
	return false
}

func (s *scanner) next() byte {
	if s.pos == len(s.buf) && !s.fill() {
		return 0
	}
	c := s.buf[s.pos]
	s.pos++
	return c
}

// token returns the next byte that is not white space.
func (s *scanner) token() byte {
	for {
		switch c := s.next(); c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
}

// value reads one value of a top-level key.
func (s *scanner) value(p *payload, key string) {
	switch c := s.token(); c {
	case '"':
		if dst, limit := p.field(key); dst != nil {
			*dst = s.str(limit)
			return
		}
		s.skipString()
	case '{', '[':
		s.skipNested()
	default:
		word := s.word(c)
		if key == "stop_hook_active" {
			p.StopActive = word == "true"
		}
	}
}

// word reads a number or literal that began with c and leaves what follows.
func (s *scanner) word(c byte) string {
	word := []byte{c}
	for s.pos < len(s.buf) || s.fill() {
		c := s.buf[s.pos]
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			return string(word)
		}
		s.pos++
		if len(word) < 32 {
			word = append(word, c)
		}
	}
	return ""
}

// str reads a string whose opening quote is consumed and keeps about limit
// bytes of it, never half an escape.
func (s *scanner) str(limit int) string {
	raw := []byte{'"'}
	for {
		c := s.next()
		switch {
		case s.err != nil:
			return ""
		case c == '"':
			return unquote(append(raw, '"'))
		case c != '\\':
			if len(raw) <= limit {
				raw = append(raw, c)
			}
			continue
		}
		escape := []byte{c, s.next()}
		if escape[1] == 'u' {
			for range 4 {
				escape = append(escape, s.next())
			}
		}
		if len(raw) <= limit {
			raw = append(raw, escape...)
		}
	}
}

// unquote decodes a JSON string; "" when it is not one.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(string(inner), "\ufffd")
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return text
}

// skipString passes over a string whose opening quote is consumed.
func (s *scanner) skipString() {
	for s.pos < len(s.buf) || s.fill() {
		i := bytes.IndexAny(s.buf[s.pos:], "\"\\")
		if i < 0 {
			s.pos = len(s.buf)
			continue
		}
		s.pos += i + 1
		if s.buf[s.pos-1] == '"' {
			return
		}
		s.next() // what a backslash escapes; the digits after a u are ordinary here
	}
}

// skipNested passes over an object or array whose opening bracket is consumed.
func (s *scanner) skipNested() {
	for depth := 1; depth > 0; {
		switch s.next() {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case 0:
			if s.err != nil {
				return
			}
		}
	}
}

package mockmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Request is one request of a client to its model.
type Request struct {
	N        int    // 1, 2, …
	API      string // anthropic or openai
	Session  string // Claude's session id or Codex's thread id, as the client tells it
	Aux      bool   // a side job of the client, such as the session's title
	At       time.Time
	Messages []Message
	Answer   Step
	Body     json.RawMessage
}

// Told counts how often text stands in what the model was told: everything but
// the model's own answers and tool calls.
func (r Request) Told(text string) int {
	n := 0
	for _, m := range r.Messages {
		if m.Role != "assistant" {
			n += strings.Count(m.Text, text)
		}
	}
	return n
}

// record is the request log of a server. Safe for concurrent use.
type record struct {
	dir string

	mu       sync.Mutex
	requests []Request
	events   []string
	refused  []string
	changed  chan struct{} // closed and replaced at each new request
}

func newRecord(dir string) (*record, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return &record{dir: dir, changed: make(chan struct{})}, nil
}

// add numbers a request and keeps it.
func (r *record) add(q Request) int {
	r.mu.Lock()
	q.N = len(r.requests) + 1
	r.requests = append(r.requests, q)
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()

	aux := ""
	if q.Aux {
		aux = "AUX "
	}
	r.event("#%d %s session=%s messages=%d -> %s%v", q.N, q.API, q.Session, len(q.Messages), aux, q.Answer)
	if r.dir != "" {
		// The file is for a person's eyes after a failed run; the checks read memory.
		if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%04d.json", q.N)), q.Body, 0o600); err != nil {
			r.event("not written: %v", err)
		}
	}
	return q.N
}

func (r *record) event(format string, args ...any) {
	line := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, line)
	if r.dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "index.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // the event is in memory; a log that cannot be written must not stop the model
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

func (r *record) refuse(what string) {
	r.event("REFUSED %s", what)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, what)
}

func (r *record) snapshot() ([]Request, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests), r.changed
}

// Requests returns all requests so far, oldest first.
func (s *Server) Requests() []Request {
	all, _ := s.record.snapshot()
	return all
}

// Of returns the requests of one session, its side jobs left out.
func (s *Server) Of(session string) []Request {
	return slices.DeleteFunc(s.Requests(), func(q Request) bool { return q.Session != session || q.Aux })
}

// Wait blocks until ok holds for the requests so far.
func (s *Server) Wait(ctx context.Context, ok func([]Request) bool) error {
	for {
		all, changed := s.record.snapshot()
		if ok(all) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("no such request among %d: %w", len(all), ctx.Err())
		}
	}
}

// Events returns the log, one line an event.
func (s *Server) Events() []string {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.Clone(s.record.events)
}

// Refused returns what the clients tried to reach beyond loopback.
func (s *Server) Refused() []string {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.Clone(s.record.refused)
}

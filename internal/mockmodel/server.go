package mockmodel

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxBody is the largest request body taken: real ones reach a few hundred KB.
const maxBody = 64 << 20

// A Server is both mock models on one loopback port. Safe for concurrent use.
type Server struct {
	record *record
	http   *http.Server
	addr   string
	done   chan struct{} // closed when Serve returned

	mu     sync.Mutex
	rules  []Rule
	tokens int
}

// Start opens the server on a free loopback port. dir, when not empty, is where
// the requests are written.
func Start(dir string) (*Server, error) {
	rec, err := newRecord(dir)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{record: rec, addr: l.Addr().String(), done: make(chan struct{}), tokens: 1000}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			rec.event("serve: %v", err)
		}
	}()
	return s, nil
}

// URL is the base for ANTHROPIC_BASE_URL and the proxy variables.
func (s *Server) URL() string { return "http://" + s.addr }

// OpenAIURL is the base_url of a Codex model provider.
func (s *Server) OpenAIURL() string { return s.URL() + "/v1" }

// When adds a rule: see [Rule]. Earlier rules win.
func (s *Server) When(text, script string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, Rule{When: text, Do: script})
}

// PretendTokens sets the input tokens that every answer reports; near the model's
// window it makes a client compact its context.
func (s *Server) PretendTokens(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = n
}

func (s *Server) settings() ([]Rule, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules[:len(s.rules):len(s.rules)], s.tokens
}

// Close ends the server and every answer that is still delayed.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// ServeHTTP routes the two APIs and refuses everything that is not for us.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.Host != "" {
		s.record.refuse(r.Method + " " + r.Host)
		http.Error(w, "loopback only", http.StatusForbidden)
		return
	}
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/v1/messages"):
		s.anthropic(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages/count_tokens"):
		reply(w, http.StatusOK, map[string]any{"input_tokens": 1000})
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		s.openai(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/responses/compact"):
		s.compact(w, r)
	case strings.HasSuffix(path, "/models"):
		reply(w, http.StatusOK, map[string]any{"data": []any{}, "models": []any{}, "has_more": false})
	case path == "/":
		reply(w, http.StatusOK, map[string]any{"mock": "model"})
	default:
		s.record.event("NO ROUTE %s %s", r.Method, r.URL)
		reply(w, http.StatusNotFound, map[string]any{"type": "error",
			"error": map[string]any{"type": "not_found_error", "message": "no such route in the mock: " + path}})
	}
}

// body reads a JSON request, gzip or plain: what both clients send to a provider
// with an API key.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (json.RawMessage, bool) {
	raw, err := decode(r)
	if err == nil && !json.Valid(raw) {
		err = errors.New("the body is not JSON")
	}
	if err != nil {
		s.record.event("BAD BODY %v", err)
		refuse(w, err.Error())
		return nil, false
	}
	return raw, true
}

func decode(r *http.Request) ([]byte, error) {
	var in io.Reader = http.MaxBytesReader(nil, r.Body, maxBody)
	switch enc := r.Header.Get("Content-Encoding"); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = io.LimitReader(z, maxBody)
	default:
		return nil, fmt.Errorf("request encoding %q is not one the clients were seen to use", enc)
	}
	return io.ReadAll(in)
}

// refuse answers a request with an error that no client tries again, in a form
// that both APIs share.
func refuse(w http.ResponseWriter, message string) {
	reply(w, http.StatusBadRequest, map[string]any{"type": "error",
		"error": map[string]any{"type": "invalid_request_error", "message": message}})
}

// fail is refuse after the step's delay, unless the client hangs up before.
func fail(w http.ResponseWriter, r *http.Request, step Step) {
	select {
	case <-r.Context().Done():
	case <-time.After(step.Delay):
		refuse(w, step.Fail)
	}
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error here is the client's hanging up; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}

// stream is a response of server-sent events.
type stream struct {
	w   http.ResponseWriter
	ctx context.Context
}

func newStream(w http.ResponseWriter, r *http.Request, n int) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Request-Id", fmt.Sprintf("req_mock%d", n))
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, ctx: r.Context()}
}

// send writes one event. A client that hung up is noticed by wait and the caller.
func (s *stream) send(kind string, data map[string]any) {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		raw = fmt.Appendf(nil, `{"type":"error","error":{"message":%q}}`, err.Error())
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// wait holds the answer back for d, with a sign of life each second, and reports
// whether the client is still there.
func (s *stream) wait(d time.Duration, beat func()) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-end.C:
			return s.ctx.Err() == nil
		case <-tick.C:
			beat()
		case <-s.ctx.Done():
			return false
		}
	}
}

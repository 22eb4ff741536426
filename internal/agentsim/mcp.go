package agentsim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// mcpServer is the agent's end of one MCP server child.
type mcpServer struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   *eventLog

	mu      sync.Mutex
	next    int
	waiting map[int]chan rpcMessage
	done    chan struct{} // closed when stdout ended
}

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// startMCP starts `peermux mcp` with the client's environment and completes the
// handshake.
func startMCP(ctx context.Context, program string, env []string, c identity, log *eventLog) (*mcpServer, error) {
	cmd := exec.Command(program, "mcp")
	cmd.Env = env
	if c.client == "codex" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as Codex does
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m := &mcpServer{cmd: cmd, stdin: stdin, log: log, waiting: map[int]chan rpcMessage{}, done: make(chan struct{})}
	go m.read(stdout)
	if c.client == "claude" {
		// Asked first by 2.1.328, which goes on without a handshake where it is
		// answered; the stand-in does not play that.
		if _, err := m.request(ctx, "server/discover", nil); err == nil {
			return m, errors.New("the server answers server/discover, so Claude would never send initialize")
		}
	}
	if _, err := m.request(ctx, "initialize", c.initialize()); err != nil {
		return m, fmt.Errorf("initialize: %w", err)
	}
	return m, m.send(rpcMessage{Method: "notifications/initialized"})
}

func (m *mcpServer) send(msg rpcMessage) error {
	msg.JSONRPC = "2.0"
	raw, err := json.Marshal(msg)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err = m.stdin.Write(append(raw, '\n'))
	return err
}

// read hands answers to who waits and answers what the server asks.
func (m *mcpServer) read(out io.Reader) {
	defer close(m.done)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var msg rpcMessage
		if err := json.Unmarshal(line, &msg); err != nil {
			m.log.add(Note, "the MCP server wrote no JSON: %s", line)
			continue
		}
		switch {
		case msg.Method == "":
			m.deliver(msg)
		case msg.Method == "notifications/progress":
			m.log.add(Note, "progress %s", line)
		case len(msg.ID) > 0:
			m.answer(msg)
		}
	}
}

func (m *mcpServer) deliver(msg rpcMessage) {
	var id int
	if json.Unmarshal(msg.ID, &id) != nil {
		return // not an id of ours
	}
	m.mu.Lock()
	ch := m.waiting[id]
	delete(m.waiting, id)
	m.mu.Unlock()
	if ch != nil {
		ch <- msg
	}
}

func (m *mcpServer) answer(req rpcMessage) {
	reply := rpcMessage{ID: req.ID}
	switch req.Method {
	case "roots/list":
		reply.Result = json.RawMessage(`{"roots":[]}`)
	case "ping":
		reply.Result = json.RawMessage(`{}`)
	default:
		reply.Error = &rpcError{Code: -32601, Message: "the stand-in has no " + req.Method}
	}
	if err := m.send(reply); err != nil {
		m.log.add(Note, "answer to the MCP server: %v", err)
	}
}

// request sends a request and waits for its answer; when ctx ends first, the
// server is told so, as both clients do.
func (m *mcpServer) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	m.mu.Lock()
	m.next++
	id, ch := m.next, make(chan rpcMessage, 1)
	m.waiting[id] = ch
	m.mu.Unlock()
	raw := json.RawMessage(fmt.Sprint(id))
	if err := m.send(rpcMessage{ID: raw, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case msg := <-ch:
		if msg.Error != nil {
			return nil, errors.New(msg.Error.Message)
		}
		return msg.Result, nil
	case <-m.done:
		return nil, errors.New("the MCP server ended")
	case <-ctx.Done():
		m.mu.Lock()
		delete(m.waiting, id)
		m.mu.Unlock()
		cancel := map[string]any{"requestId": raw, "reason": "AbortError: user-cancel"}
		return nil, errors.Join(ctx.Err(), m.send(rpcMessage{Method: "notifications/cancelled", Params: cancel}))
	}
}

// call calls a tool and returns the text the model sees.
func (m *mcpServer) call(ctx context.Context, tool string, input json.RawMessage, meta map[string]any) (string, error) {
	res, err := m.request(ctx, "tools/call", map[string]any{"name": tool, "arguments": input, "_meta": meta})
	if err != nil {
		return "", err
	}
	var out struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(res, &out); err != nil {
		return "", err
	}
	var texts []string
	for _, c := range out.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n"), nil
}

// stop ends the server the way Claude does: SIGINT, SIGTERM 100 ms later, then
// SIGKILL within 3 s.
func (m *mcpServer) stop() {
	exited := make(chan struct{})
	go func() {
		// How it exits is its own tests' matter; here it only must be gone.
		_ = m.cmd.Wait()
		close(exited)
	}()
	for _, step := range []struct {
		sig  os.Signal
		wait time.Duration
	}{{os.Interrupt, 100 * time.Millisecond}, {syscall.SIGTERM, 3 * time.Second}, {os.Kill, time.Second}} {
		// It may be gone already, which is the aim.
		_ = m.cmd.Process.Signal(step.sig)
		select {
		case <-exited:
			return
		case <-time.After(step.wait):
		}
	}
}

package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// agent is a stand-in client with its server.
type agent struct {
	t      testing.TB
	house  *house
	cmd    *exec.Cmd
	in     io.WriteCloser
	server int // pid of the process right below the client

	mu      sync.Mutex
	next    int
	waiting map[int]chan json.RawMessage
	notes   []json.RawMessage
	other   []string // lines that answer nothing
	ended   chan struct{}
}

// start runs a client with its server and does not speak yet.
func (h *house) start(extra ...string) *agent {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	a := &agent{t: h.t, house: h, cmd: exec.Command(self), waiting: map[int]chan json.RawMessage{}, ended: make(chan struct{})}
	for k, v := range h.env {
		a.cmd.Env = append(a.cmd.Env, k+"="+v)
	}
	a.cmd.Env = append(append(a.cmd.Env, roleVar+"=client"), extra...)
	a.cmd.Dir = h.dir
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	// Own pipes: Wait would close those that the command makes, under the reader.
	outR, outW, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	a.cmd.Stdout, a.cmd.Stderr = outW, errW
	if err := a.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	outW.Close()
	errW.Close()
	h.t.Cleanup(a.kill)
	go a.receive(outR)
	line, err := bufio.NewReader(errR).ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "server %d\n", &a.server); err != nil {
		h.t.Fatalf("%q: %v", line, err)
	}
	return a
}

// kill ends client and server for good.
func (a *agent) kill() {
	// They may be gone already.
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
	a.in.Close()
	select {
	case <-a.ended:
	case <-time.After(patience):
		a.t.Errorf("server %d outlived its client", a.server)
		_ = syscall.Kill(a.server, syscall.SIGKILL)
	}
}

// receive sorts what the server writes. The pipe ends when the last process that
// holds it has ended.
func (a *agent) receive(out *os.File) {
	defer close(a.ended)
	defer out.Close()
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     *int
			Method string
		}
		a.mu.Lock()
		switch {
		case json.Unmarshal(line, &m) != nil || m.ID == nil && m.Method == "":
			a.other = append(a.other, strings.TrimSpace(string(line)))
		case m.ID == nil:
			a.notes = append(a.notes, line)
		case a.waiting[*m.ID] != nil:
			a.waiting[*m.ID] <- line
			delete(a.waiting, *m.ID)
		default:
			a.other = append(a.other, strings.TrimSpace(string(line)))
		}
		a.mu.Unlock()
	}
}

func (a *agent) write(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// request sends a request and returns its id and where its answer comes.
func (a *agent) request(method string, params any) (int, <-chan json.RawMessage) {
	a.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		a.t.Fatal(err)
	}
	a.mu.Lock()
	a.next++
	id := a.next
	answer := make(chan json.RawMessage, 1)
	a.waiting[id] = answer
	a.mu.Unlock()
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, raw))
	return id, answer
}

func (a *agent) await(answer <-chan json.RawMessage) json.RawMessage {
	a.t.Helper()
	select {
	case line := <-answer:
		return line
	case <-time.After(patience):
		a.t.Fatal("no answer")
		return nil
	}
}

// handshake introduces the client as what it stands for.
func (a *agent) handshake(name string) json.RawMessage {
	a.t.Helper()
	_, answer := a.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "2.1.328"},
	})
	line := a.await(answer)
	a.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return line
}

// result is what a tool call gave.
type result map[string]any

func (r result) text(key string) string {
	s, _ := r[key].(string)
	return s
}

func (r result) object(key string) result {
	m, _ := r[key].(map[string]any)
	return m
}

func (r result) list(key string) []any {
	l, _ := r[key].([]any)
	return l
}

// begin starts a tool call.
func (a *agent) begin(tool string, args map[string]any) (int, <-chan json.RawMessage) {
	a.t.Helper()
	return a.request("tools/call", map[string]any{
		"name": tool, "arguments": args, "_meta": map[string]any{"progressToken": "token", "threadId": a.thread()},
	})
}

// thread is set for agents that stand for Codex.
func (a *agent) thread() any { return nil }

// end waits for a tool call and checks the form of its result.
func (a *agent) end(answer <-chan json.RawMessage) result {
	a.t.Helper()
	line := a.await(answer)
	var r struct {
		Result struct {
			StructuredContent result
			Content           []struct{ Type, Text string }
			IsError           bool
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(line, &r); err != nil || r.Error != nil {
		a.t.Fatalf("got %s, %v", line, err)
	}
	var text result
	c := r.Result.Content
	if len(c) != 1 || c[0].Type != "text" || json.Unmarshal([]byte(c[0].Text), &text) != nil {
		a.t.Fatalf("content: %s", line)
	}
	if fmt.Sprint(text) != fmt.Sprint(r.Result.StructuredContent) {
		a.t.Errorf("text and structured content differ:\n%v\n%v", text, r.Result.StructuredContent)
	}
	if ok, is := text["ok"].(bool); !is || ok == r.Result.IsError {
		a.t.Errorf("ok %v with isError %v", text["ok"], r.Result.IsError)
	}
	return text
}

func (a *agent) call(tool string, args map[string]any) result {
	a.t.Helper()
	_, answer := a.begin(tool, args)
	r := a.end(answer)
	a.house.valid(tool, r)
	return r
}

// valid checks a result against the output schema that the client was given.
func (h *house) valid(tool string, r result) {
	h.t.Helper()
	raw, err := os.ReadFile(filepath.Join("schema", tool+".output.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		h.t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := resolved.Validate(map[string]any(r)); err != nil {
		h.t.Errorf("%s: the result does not fit its schema: %v\n%v", tool, err, r)
	}
}

// must is call for what has to succeed.
func (a *agent) must(tool string, args map[string]any) result {
	a.t.Helper()
	r := a.call(tool, args)
	if r["ok"] != true {
		a.t.Fatalf("%s: %v", tool, r)
	}
	return r
}

// refused is call for what has to be refused.
func (a *agent) refused(code, tool string, args map[string]any) result {
	a.t.Helper()
	r := a.call(tool, args)
	if r["ok"] != false || r["error"] != code || len(r.text("message")) < 10 {
		a.t.Errorf("%s: got %v, want %s", tool, r, code)
	}
	return r
}

// is writes Claude's session file about the client.
func (a *agent) is(session, name, status string) {
	a.t.Helper()
	info, err := proc.Stat(a.cmd.Process.Pid)
	if err != nil {
		a.t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	raw, err := json.Marshal(map[string]any{
		"pid": info.PID, "sessionId": session, "cwd": a.house.dir, "startedAt": now, "procStart": info.Start, "version": "2.1.328",
		"kind": "interactive", "entrypoint": "cli", "name": name, "status": status, "updatedAt": now, "statusUpdatedAt": now,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	file := filepath.Join(a.house.env["CLAUDE_CONFIG_DIR"], "sessions", fmt.Sprint(info.PID, ".json"))
	if err := os.WriteFile(file+".tmp", raw, 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		a.t.Fatal(err)
	}
}

// began writes what a SessionStart hook of the client reports.
func (a *agent) began(session, source string) {
	a.t.Helper()
	info, err := proc.Stat(a.cmd.Process.Pid)
	if err != nil {
		a.t.Fatal(err)
	}
	err = a.house.registry().PutDrop(registry.Drop{
		Box: mailbox.SessionKey(session), Client: registry.Claude, SessionID: session, Source: source, Event: "SessionStart",
		CWD: a.house.dir, At: time.Now(), PIDs: []proc.ID{info.ID}, Hooks: map[string]time.Time{"SessionStart": time.Now()},
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// claude starts a session of Claude Code with its id known. It is registered when
// its first call is answered.
func (h *house) claude(name string) *agent {
	h.t.Helper()
	a := h.start()
	a.is("session-of-"+name, name, "busy")
	a.handshake("claude-code")
	a.must("get_my_session", nil)
	return a
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

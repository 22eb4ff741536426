package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/mailbox"
)

// The main job: one asks, the other answers, inside one turn of each.
func TestAskAndReply(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	list := ann.must("list_project_sessions", nil)
	if got := fmt.Sprint(sessionNames(list)); got != "[ann ben]" {
		t.Fatalf("ann sees %v", got)
	}
	_, asking := ann.begin("ask_peer", map[string]any{"target": "ben", "body": "which port?", "timeout_ms": 20000})
	var mail result
	eventually(t, "the question", func() bool {
		mail = ben.must("read_my_messages", nil)
		return len(mail.list("messages")) > 0
	})
	q := result(mail.list("messages")[0].(map[string]any))
	if q.text("kind") != "ask" || q.text("body") != "which port?" || q.object("from").text("name") != "ann" || !strings.Contains(q.text("answer_with"), "reply_to_message") {
		t.Errorf("question: %v", q)
	}
	ben.must("reply_to_message", map[string]any{"message_id": q.text("message_id"), "body": "8080"})
	got := ann.end(asking)
	if reply := got.object("reply"); reply.text("body") != "8080" || got["timed_out"] != false || got.text("message_id") != q.text("message_id") {
		t.Errorf("ann got %v", got)
	}
	if status := ann.must("message_status", map[string]any{"message_id": q.text("message_id")}); status.text("state") != "answered" {
		t.Errorf("status: %v", status)
	}
	// The call recorded the reply as shown once it was out.
	eventually(t, "nothing is left for ann", func() bool {
		n, err := h.store().Pending(mailbox.SessionKey("session-of-ann"))
		return err == nil && n == 0
	})
}

func sessionNames(list result) []string {
	var names []string
	for _, s := range list.list("sessions") {
		names = append(names, result(s.(map[string]any)).text("name"))
	}
	return names
}

// Asks that block hold up neither other calls nor each other.
func TestManyAsksAtOnce(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	type one struct {
		body   string
		answer <-chan json.RawMessage
	}
	var asks []one
	for i := range 20 {
		body := fmt.Sprint("question ", i)
		_, answer := ann.begin("ask_peer", map[string]any{"target": "ben", "body": body, "timeout_ms": 60000})
		asks = append(asks, one{body, answer})
	}
	ann.must("send_message", map[string]any{"target": "ben", "body": "by the way"})
	answered := 0
	eventually(t, "all questions", func() bool {
		for _, m := range ben.must("read_my_messages", nil).list("messages") {
			m := result(m.(map[string]any))
			if m.text("kind") == "ask" {
				ben.must("reply_to_message", map[string]any{"message_id": m.text("message_id"), "body": "re " + m.text("body")})
				answered++
			}
		}
		return answered == len(asks)
	})
	for _, ask := range asks {
		if got := ann.end(ask.answer); got.object("reply").text("body") != "re "+ask.body {
			t.Errorf("%s: got %v", ask.body, got)
		}
	}
}

// A cancelled ask is not answered, its question stays, and the answer is mail.
func TestCancelledAsk(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ann.must("get_my_session", nil)
	for range 10 {
		id, _ := ann.begin("ask_peer", map[string]any{"target": "ben", "body": "?"})
		ann.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"AbortError: user-cancel"}}`, id))
	}
	eventually(t, "all waits end", func() bool {
		asks, err := h.store().OpenAsks(mailbox.SessionKey("session-of-ann"))
		return err == nil && len(asks) == 0
	})
	ann.must("list_project_sessions", nil)
	ann.mu.Lock()
	if len(ann.other) != 0 || len(ann.waiting) != 10 {
		t.Errorf("cancelled calls were answered: %v", ann.other)
	}
	ann.mu.Unlock()
	for _, m := range ben.must("read_my_messages", nil).list("messages") {
		ben.must("reply_to_message", map[string]any{"message_id": result(m.(map[string]any)).text("message_id"), "body": "late"})
	}
	for _, m := range ann.must("read_my_messages", nil).list("messages") {
		if m := result(m.(map[string]any)); m.text("kind") != "reply" || m.text("body") != "late" {
			t.Errorf("ann got %v", m)
		}
	}
}

// A session's files: what peers and people read of it, and its end.
func TestEntry(t *testing.T) {
	h := newHouse(t)
	a := h.claude("ann")
	a.must("set_my_state", map[string]any{"purpose": "porting the parser"})
	entries, err := h.registry().Peek()
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	e := entries[0]
	if e.PID != a.server || e.Client.PID != a.cmd.Process.Pid || e.Client.Kind != "claude" || e.SessionID != "session-of-ann" ||
		e.SessionSource != "client_registry" || e.Name != "ann" || e.CWD != h.dir || e.Project != h.dir || e.State.Purpose != "porting the parser" ||
		e.Box != mailbox.SessionKey("session-of-ann") || e.Client.Version != "2.1.328" {
		t.Errorf("entry: %+v", e)
	}
	info, err := os.Stat(filepath.Join(h.home, "sessions", fmt.Sprint(a.server, ".json")))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	a.in.Close()
	eventually(t, "the entry goes", func() bool {
		entries, err := os.ReadDir(filepath.Join(h.home, "sessions"))
		return err == nil && len(entries) == 0
	})
}

// Nothing is registered before the handshake, nor for a client that only looks
// whether the server runs.
func TestHealthCheckIsInvisible(t *testing.T) {
	h := newHouse(t)
	a := h.start()
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(h.home); !os.IsNotExist(err) {
		t.Errorf("a server that nobody spoke to has made a home: %v", err)
	}
	a.handshake("claude-code") // `claude mcp list`: no session file, gone within a second
	_, answer := a.request("tools/list", map[string]any{})
	a.await(answer)
	if entries, err := h.registry().Peek(); err != nil || len(entries) != 0 {
		t.Errorf("entries: %+v, %v", entries, err)
	}
	// A client that stays becomes visible, with a box for the time being.
	eventually(t, "the entry", func() bool { entries, err := h.registry().Peek(); return err == nil && len(entries) == 1 })
	entries, err := h.registry().Peek()
	if err != nil || !strings.HasPrefix(entries[0].Box, "p-") || entries[0].SessionID != "" {
		t.Errorf("entry: %+v, %v", entries, err)
	}
}

// How a server ends: each within a second, leaving no entry and no open question.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(a *agent) error{
		"end of input":  func(a *agent) error { return a.in.Close() },
		"SIGINT":        func(a *agent) error { return syscall.Kill(a.server, syscall.SIGINT) },
		"SIGTERM":       func(a *agent) error { return syscall.Kill(a.server, syscall.SIGTERM) },
		"SIGHUP":        func(a *agent) error { return syscall.Kill(a.server, syscall.SIGHUP) },
		"client killed": func(a *agent) error { return a.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.claude("ben").must("get_my_session", nil)
			a := h.claude("ann")
			a.must("get_my_session", nil)
			a.begin("ask_peer", map[string]any{"target": "ben", "body": "?", "timeout_ms": 100000})
			eventually(t, "the question", func() bool {
				asks, err := h.store().OpenAsks(mailbox.SessionKey("session-of-ann"))
				return err == nil && len(asks) == 1
			})
			info, err := proc.Stat(a.server)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(a); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server ends", func() bool { return !proc.Alive(info.ID) })
			entries, err := os.ReadDir(filepath.Join(h.home, "sessions"))
			if err != nil || len(entries) != 1 {
				t.Errorf("entries: %v, %v", entries, err)
			}
			st, err := h.store().State(mailbox.SessionKey("session-of-ann"))
			if err != nil || len(st.Asks) != 1 || st.Asks[0].Ended != "cancelled" {
				t.Errorf("asks: %+v, %v", st.Asks, err)
			}
		})
	}
}

// A wrapper between client and server (npx) is no client; when the client dies
// and the wrapper lives on with the pipe, the server ends all the same.
func TestWrapperBetween(t *testing.T) {
	h := newHouse(t)
	a := h.start("PEERMUX_TEST_WRAPPED=1")
	a.is("session-of-ann", "ann", "busy")
	a.handshake("claude-code")
	me := a.must("get_my_session", nil)
	if me.text("session_id") != "session-of-ann" {
		t.Fatalf("got %v", me)
	}
	server, err := proc.Stat(int(me.object("session")["pid"].(float64)))
	if err != nil || server.PID == a.server || server.PPID != a.server {
		t.Fatalf("server %+v under wrapper %d, %v", server, a.server, err)
	}
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server ends", func() bool { return !proc.Alive(server.ID) })
}

// /clear: the session gets a new id in the same process. Unshown mail, open tasks
// and peers that hold the old id follow it.
func TestClear(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ben.must("get_my_session", nil)
	ann.must("send_message", map[string]any{"target": "ben", "body": "before", "task": true})
	ben.is("fresh", "ben", "idle") // nobody calls; the server follows the file
	ben.began("fresh", "clear")    // as the SessionStart hook writes it
	eventually(t, "the entry follows", func() bool { _, ok, err := h.registry().BySession("fresh"); return err == nil && ok })
	eventually(t, "the box follows", func() bool {
		return h.store().Resolve(mailbox.SessionKey("session-of-ben")) == mailbox.SessionKey("fresh")
	})
	ann.must("send_message", map[string]any{"target": "session-of-ben", "body": "after"})
	mail := ben.must("read_my_messages", nil)
	if got := fmt.Sprint(bodiesOf(mail)); got != "[before after]" || mail["open_work"] != 1.0 {
		t.Errorf("ben read %v, open work %v", got, mail["open_work"])
	}
	// And back, as /resume does.
	ben.is("session-of-ben", "ben", "idle")
	ben.began("session-of-ben", "resume")
	eventually(t, "the entry follows back", func() bool { _, ok, err := h.registry().BySession("session-of-ben"); return err == nil && ok })
	eventually(t, "the box follows back", func() bool {
		return h.store().Resolve(mailbox.SessionKey("fresh")) == mailbox.SessionKey("session-of-ben")
	})
	ann.must("send_message", map[string]any{"target": "fresh", "body": "to the id in between"})
	if got := fmt.Sprint(bodiesOf(ben.must("read_my_messages", nil))); got != "[to the id in between]" {
		t.Errorf("ben read %v", got)
	}
}

func bodiesOf(mail result) []string {
	var list []string
	for _, m := range mail.list("messages") {
		list = append(list, result(m.(map[string]any)).text("body"))
	}
	return list
}

// A copy of a conversation takes no mail: the transcript says that it is one.
func TestForkTakesNothing(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ben.must("get_my_session", nil)
	ann.must("send_message", map[string]any{"target": "ben", "body": "for the original"})
	ben.is("copy", "ben", "idle")
	ben.began("copy", "fork")
	eventually(t, "the entry follows", func() bool { _, ok, err := h.registry().BySession("copy"); return err == nil && ok })
	if got := bodiesOf(ben.must("read_my_messages", nil)); len(got) != 0 {
		t.Errorf("the fork read %v", got)
	}
	if n, err := h.store().Pending(mailbox.SessionKey("session-of-ben")); err != nil || n != 1 {
		t.Errorf("the original has %d, %v", n, err)
	}
}

// Codex names its thread in each call; one server can be told of another one.
func TestCodexThread(t *testing.T) {
	h := newHouse(t)
	a := h.start()
	a.handshake("codex-mcp-client")
	call := func(thread string) result {
		_, answer := a.request("tools/call", map[string]any{
			"name": "get_my_session", "_meta": map[string]any{"threadId": thread, "callId": "c1"},
		})
		return a.end(answer)
	}
	const one, two = "019b0000-0000-7000-8000-000000000001", "019b0000-0000-7000-8000-000000000002"
	if me := call(one); me.text("session_id") != one || me.text("source") != "meta" || me.object("session").object("client").text("kind") != "codex" {
		t.Fatalf("got %v", me)
	}
	ben := h.claude("ben")
	ben.must("send_message", map[string]any{"target": "codex", "body": "hello"})
	a.began(two, "clear")
	if me := call(two); me.text("session_id") != two {
		t.Fatalf("got %v", me)
	}
	_, answer := a.request("tools/call", map[string]any{"name": "read_my_messages", "_meta": map[string]any{"threadId": two}})
	if got := fmt.Sprint(bodiesOf(a.end(answer))); got != "[hello]" {
		t.Errorf("read %v", got)
	}
}

func TestClaims(t *testing.T) {
	h := newHouse(t)
	ann := h.claude("ann")
	ann.must("get_my_session", nil)
	a := h.start()
	a.handshake("some-other-agent")
	for _, tool := range []string{"send_message", "reply_to_message", "ask_peer", "read_my_messages", "my_open_work", "complete_work", "broadcast", "message_status", "retract_message"} {
		args := map[string]map[string]any{
			"send_message": {"target": "ann", "body": "x"}, "reply_to_message": {"message_id": mailbox.NewID(time.Now()), "body": "x"},
			"ask_peer": {"target": "ann", "body": "x"}, "complete_work": {"message_id": mailbox.NewID(time.Now()), "body": "x"},
			"broadcast": {"body": "x"}, "message_status": {"message_id": mailbox.NewID(time.Now())}, "retract_message": {"message_id": mailbox.NewID(time.Now())},
		}[tool]
		if r := a.refused("no_identity", tool, args); !strings.Contains(r.text("message"), "claim_session") {
			t.Errorf("%s: %v", tool, r)
		}
	}
	me := a.must("get_my_session", nil)
	if me.text("session_id") != "" || me["visible"] != true || len(me.object("diagnosis").list("outcomes")) < 6 || me.text("next") == "" {
		t.Errorf("unidentified: %v", me)
	}
	// It can be written to all the same, and the mail follows into its box.
	ann.must("send_message", map[string]any{"target": fmt.Sprint("pid:", a.server), "body": "who are you?"})
	a.refused("not_yours", "claim_session", map[string]any{"session_id": "session-of-ann"})
	for _, bad := range []string{"", " x", "a b", strings.Repeat("x", 300)} {
		a.refused("bad_request", "claim_session", map[string]any{"session_id": bad})
	}
	if me := a.must("claim_session", map[string]any{"session_id": "my-own-id"}); me.text("session_id") != "my-own-id" || me.text("source") != "claim" {
		t.Errorf("claimed: %v", me)
	}
	if got := fmt.Sprint(bodiesOf(a.must("read_my_messages", nil))); got != "[who are you?]" {
		t.Errorf("read %v", got)
	}
	// What the client itself says is stronger.
	if r := ann.refused("bad_request", "register_my_session", map[string]any{"session_id": "somebody-else"}); !strings.Contains(r.text("message"), "client_registry") {
		t.Errorf("got %v", r)
	}
	if me := ann.must("get_my_session", nil); me.text("session_id") != "session-of-ann" {
		t.Errorf("ann is now %v", me)
	}
}

// Names are unique although two sessions begin at the same moment.
func TestSameNameAtOnce(t *testing.T) {
	h := newHouse(t)
	var agents []*agent
	for i := range 6 {
		a := h.start()
		a.is(fmt.Sprint("session-", i), "worker", "busy")
		agents = append(agents, a)
	}
	done := make(chan struct{}, len(agents))
	for _, a := range agents {
		go func() {
			defer func() { done <- struct{}{} }()
			a.handshake("claude-code")
			a.must("get_my_session", nil)
		}()
	}
	for range agents {
		<-done
	}
	seen := map[string]bool{}
	entries, err := h.registry().Peek()
	if err != nil || len(entries) != len(agents) {
		t.Fatal(len(entries), err)
	}
	for _, e := range entries {
		if seen[e.Name] {
			t.Errorf("two sessions are called %s", e.Name)
		}
		seen[e.Name] = true
	}
}

// Arguments that make no sense are refused with what would; nothing is changed.
func TestBadArguments(t *testing.T) {
	h := newHouse(t)
	ann := h.claude("ann")
	h.claude("ben").must("get_my_session", nil)
	ann.must("get_my_session", nil)
	raw := func(tool, args string) result {
		_, answer := ann.request("tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(args)})
		return ann.end(answer)
	}
	for _, tt := range []struct{ tool, args, says string }{
		{"send_message", `{"to":"ben","body":"x"}`, `unknown field "to"`},
		{"send_message", `{"target":7,"body":"x"}`, "target has to be a string"},
		{"send_message", `{"target":"ben","body":"x","task":"yes"}`, "task has to be a boolean"},
		{"send_message", `{"target":"ben","body":"x","urgency":"asap"}`, "low, normal or high"},
		{"ask_peer", `{"target":"ben","body":"x","timeout_ms":-5}`, "1 or more"},
		{"ask_peer", `{"target":"ben","body":"x","timeout_ms":0}`, "1 or more"},
		{"ask_peer", `{"target":"ben","body":"x","timeout_ms":1.5}`, "whole number"},
		{"ask_peer", `{"target":"ben","body":"x","timeout_ms":"60000"}`, "timeout_ms has to be a number"},
		{"ask_peer", `{"targets":"ben","body":"x"}`, "targets has to be a list"},
		{"ask_peer", `{"body":"x"}`, "target is empty"},
		{"read_my_messages", `{"limit":-1}`, "1 or more"},
		{"read_my_messages", `{"wait_ms":-1}`, "0 or more"},
		{"read_session", `{"name":"ben","limit":0}`, "1 or more"},
		{"read_session", `{"name":"ben","mode":"xray"}`, "auto, transcript or pane"},
		{"broadcast", `{"body":"x","scope":"world"}`, "project, group, global or repos"},
		{"list_project_sessions", `{"scope":"all"}`, "project, group or global"},
		{"list_project_sessions", `{"project_root":"/no/such/dir"}`, "no such file"},
		{"set_my_state", `{"purpose":"` + strings.Repeat("x", 201) + `"}`, "200"},
		{"get_my_session", `{"x":1}`, `unknown field "x"`},
		{"send_message", `["ben","x"]`, "JSON object"},
		{"set_group", `{"group":"_secret"}`, "reserved"},
	} {
		r := raw(tt.tool, tt.args)
		if r["error"] != "bad_request" || !strings.Contains(r.text("message"), tt.says) {
			t.Errorf("%s %s: got %v, want bad_request with %q", tt.tool, tt.args, r, tt.says)
		}
	}
	if n, err := h.store().Pending(mailbox.SessionKey("session-of-ben")); err != nil || n != 0 {
		t.Errorf("ben has %d messages, %v", n, err)
	}
	// A number that no float64 holds is refused by mcp-go itself.
	_, answer := ann.request("tools/call", map[string]any{"name": "ask_peer", "arguments": json.RawMessage(`{"target":"ben","body":"x","timeout_ms":1e999}`)})
	if line := string(ann.await(answer)); !strings.Contains(line, "1e999") || !strings.Contains(line, `"error"`) {
		t.Errorf("got %s", line)
	}
	// What is too large is cut, and said; null is as good as nothing.
	if r := raw("read_my_messages", `{"limit":1000000,"include_seen":null,"wait_ms":null}`); !strings.Contains(fmt.Sprint(r["notes"]), "cut from") {
		t.Errorf("got %v", r)
	}
}

// Mail that could not be written to the client is not recorded as shown.
func TestMailSurvivesADeadClient(t *testing.T) {
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ben.must("get_my_session", nil)
	for range 5 {
		ann.must("send_message", map[string]any{"target": "ben", "body": strings.Repeat("x", 7<<10)})
	}
	// The client is stopped in the middle of everything and killed: the pipe
	// breaks while, before or after the result is written.
	if err := syscall.Kill(ben.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ben.begin("read_my_messages", nil)
	if err := ben.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server ends", func() bool { _, err := proc.Stat(ben.server); return err != nil })
	st, err := h.store().State(mailbox.SessionKey("session-of-ben"))
	if err != nil || len(st.Items) != 5 {
		t.Fatal(st, err)
	}
	again := h.start()
	again.is("session-of-ben", "ben", "busy")
	again.handshake("claude-code")
	ben.mu.Lock()
	got := len(ben.other) + len(ben.waiting)
	ben.mu.Unlock()
	if got == 0 {
		return // the result was out, so it was rightly recorded
	}
	eventually(t, "the mail", func() bool {
		st, err := h.store().State(mailbox.SessionKey("session-of-ben"))
		if err != nil {
			return false
		}
		shown := 0
		for _, it := range st.Items {
			if len(it.Shown) > 0 {
				shown++
			}
		}
		return shown == 5 || len(again.must("read_my_messages", nil).list("messages")) > 0
	})
}

// A group of sessions sees a group that was joined a moment ago.
func TestSetGroup(t *testing.T) {
	h := newHouse(t)
	ann := h.claude("ann")
	if r := ann.refused("no_group", "broadcast", map[string]any{"body": "x", "scope": "group"}); !strings.Contains(r.text("message"), "set_group") {
		t.Errorf("got %v", r)
	}
	if r := ann.must("set_group", map[string]any{"group": "team"}); r.text("group") != "team" {
		t.Errorf("got %v", r)
	}
	ann.must("broadcast", map[string]any{"body": "x", "scope": "group"})
	if e, ok, err := h.registry().BySession("session-of-ann"); err != nil || !ok || e.Group != "team" {
		t.Errorf("entry: %+v, %v", e, err)
	}
}

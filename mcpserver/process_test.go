package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"peermux/internal/proc"
	"peermux/mailbox"
)

// The main job: one asks, the other answers, inside one turn of each.
func TestAskAndReply(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func bodiesOf(mail result) []string {
	var list []string
	for _, m := range mail.list("messages") {
		list = append(list, result(m.(map[string]any)).text("body"))
	}
	return list
}

// Arguments that make no sense are refused with what would; nothing is changed.
func TestBadArguments(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

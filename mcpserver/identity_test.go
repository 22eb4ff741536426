package mcpserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/mailbox"
)

// A session's files: what peers and people read of it, and its end.
func TestEntry(t *testing.T) {
	t.Parallel()
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
	a.must("send_message", map[string]any{"target": "user", "body": "x"})
	if st, err := h.store().State(mailbox.UserKey("")); err != nil || st.Items[0].From.Host != e.Hostname || e.Hostname == "" || st.Items[0].From.Project != h.dir {
		t.Errorf("sender: %+v, %v", st.Items, err)
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
//
// Not beside others: the second has to be long enough for what happens in it.
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

// A wrapper between client and server (npx) is no client; when the client dies
// and the wrapper lives on with the pipe, the server ends all the same.
func TestWrapperBetween(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// A session that was left with /clear and is resumed in another process gets its
// own mail again; what went along with /clear stays with the conversation that
// went on.
func TestResumedElsewhereAfterClear(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ben.is("fresh", "ben", "idle")
	ben.began("fresh", "clear")
	eventually(t, "the box follows", func() bool {
		return h.store().Resolve(mailbox.SessionKey("session-of-ben")) == mailbox.SessionKey("fresh")
	})
	resumed := h.claude("ben") // claude --resume with the first id
	ann.must("send_message", map[string]any{"target": "session-of-ben", "body": "for the resumed one"})
	if got := fmt.Sprint(bodiesOf(resumed.must("read_my_messages", nil))); got != "[for the resumed one]" {
		t.Errorf("the resumed session read %v", got)
	}
	if got := bodiesOf(ben.must("read_my_messages", nil)); len(got) != 0 {
		t.Errorf("the one that went on read %v", got)
	}
}

// A copy of a conversation takes no mail: the transcript says that it is one.
func TestForkTakesNothing(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// A group of sessions sees a group that was joined a moment ago.
func TestSetGroup(t *testing.T) {
	t.Parallel()
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

// A variable whose value means nothing is named where the session asks about itself.
func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a := h.start("PEERMUX_ASK_TIMEOUT_MS=60s", "PEERMUX_REACH=machine")
	a.is("session-of-ann", "ann", "busy")
	a.handshake("claude-code")
	me := a.must("get_my_session", nil)
	if got := fmt.Sprint(me["settings"]); !strings.HasPrefix(got, "[PEERMUX_ASK_TIMEOUT_MS=") || strings.Contains(got, "REACH") {
		t.Errorf("settings: %s", got)
	}
	if me := h.claude("ben").must("get_my_session", nil); me["settings"] != nil {
		t.Errorf("nothing is wrong here: %v", me["settings"])
	}
}

// An agent asks for an urgent broadcast and is told who can allow it: not it.
func TestOnlyThePersonAllowsUrgentBroadcasts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann := h.claude("ann")
	h.claude("ben").is("session-of-ben", "ben", "idle")
	for _, args := range []map[string]any{
		{"body": "x", "urgency": "now"}, {"body": "x", "urgency": "high", "allow": true}, {"body": "x", "urgency": "high", "scope": "repos"},
	} {
		ann.refused("bad_request", "broadcast", args)
	}
	r := ann.must("broadcast", map[string]any{"body": "x", "urgency": "high"})
	wakes := r.list("wakes")
	if len(wakes) != 1 || result(wakes[0].(map[string]any)).text("session") != "ben" || result(wakes[0].(map[string]any)).text("outcome") != "not_allowed" {
		t.Errorf("got %v", wakes)
	}
	path := filepath.Join(h.home, "wake.toml")
	if note := fmt.Sprint(r["notes"]); !strings.Contains(note, path) || !strings.Contains(note, "for your user to decide") {
		t.Errorf("got %s", note)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the broadcast has allowed itself")
	}
}

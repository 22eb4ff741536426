package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/wake"
)

// The asker's server is killed in the middle of an ask. Nobody waits for the
// answer any more, so it is mail for whoever resumes the conversation.
func TestAskerKilledAndResumed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ann.begin("ask_peer", map[string]any{"target": "ben", "body": "?", "timeout_ms": 100000})
	var id string
	eventually(t, "the question", func() bool {
		for _, m := range ben.must("read_my_messages", nil).list("messages") {
			id = result(m.(map[string]any)).text("message_id")
		}
		return id != ""
	})
	if err := syscall.Kill(ann.server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client notices", func() bool { _, err := proc.Stat(ann.server); return err != nil })
	ben.must("reply_to_message", map[string]any{"message_id": id, "body": "the answer"})
	again := h.start()
	again.is("session-of-ann", "ann", "busy")
	again.handshake("claude-code")
	if got := fmt.Sprint(bodiesOf(again.must("read_my_messages", nil))); got != "[the answer]" {
		t.Errorf("got %v", got)
	}
	// Its question counts for nobody: ben may ask ann.
	_, asking := ben.begin("ask_peer", map[string]any{"target": "ann", "body": "and you?", "timeout_ms": 20000})
	eventually(t, "ben's question", func() bool {
		for _, m := range again.must("read_my_messages", nil).list("messages") {
			again.must("reply_to_message", map[string]any{"message_id": result(m.(map[string]any)).text("message_id"), "body": "fine"})
			return true
		}
		return false
	})
	if got := ben.end(asking); got.object("reply").text("body") != "fine" {
		t.Errorf("got %v", got)
	}
}

// The client closes its end of our stdout and lives on: the mail that a call took
// is given back, and the server ends.
func TestStdoutClosed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann, ben := h.claude("ann"), h.claude("ben")
	ann.must("send_message", map[string]any{"target": "ben", "body": "hello"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A client of the same session whose stdout nobody reads.
	cmd := exec.Command(self)
	for k, v := range h.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Env = append(cmd.Env, roleVar+"=server", "CLAUDE_CODE_SESSION_ID=session-of-ben")
	cmd.Dir = h.dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = outW
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	outR.Close()
	const lines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_my_messages"}}
`
	// It may end before it has read everything.
	_, _ = in.Write([]byte(lines))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		// Exit code 1 with a reason, and not death by SIGPIPE.
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill() // the test has failed anyway
		t.Fatal("the server goes on without a client that reads")
	}
	in.Close()
	if got := fmt.Sprint(bodiesOf(ben.must("read_my_messages", nil))); got != "[hello]" {
		t.Errorf("ben reads %v", got)
	}
}

// A wake that was held back is taken up by the receiver's own server when the
// session's status changes.
func TestHeldWakeIsRetried(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.env["PEERMUX_WAKE"] = "native"
	ann, ben := h.claude("ann"), h.claude("ben")
	ben.is("session-of-ben", "ben", "idle")
	ann.must("send_message", map[string]any{"target": "ben", "body": "hello"}) // no hook, so no bell: no way to wake it
	record := filepath.Join(h.home, "wake", mailbox.SessionKey("session-of-ben")+".json")
	tries := func() (r struct{ Tries int }) {
		raw, err := os.ReadFile(record)
		if err != nil || json.Unmarshal(raw, &r) != nil {
			return r // being replaced
		}
		return r
	}
	before := tries().Tries
	ben.is("session-of-ben", "ben", "waiting")
	ben.is("session-of-ben", "ben", "idle")
	eventually(t, "another try", func() bool { return tries().Tries > before })
	// Once the mail is read, nothing is wanted any more.
	ben.must("read_my_messages", nil)
	ben.is("session-of-ben", "ben", "busy")
	ben.is("session-of-ben", "ben", "idle")
	eventually(t, "nothing is wanted", func() bool {
		store := h.store()
		w := &wake.Waker{Home: h.home, Store: store, Registry: h.registry(), Env: func(key string) string { return h.env[key] }, Now: time.Now}
		e, ok, err := h.registry().BySession("session-of-ben")
		if err != nil || !ok {
			return false
		}
		_, _, held := w.Held(e.Box)
		return !held
	})
}

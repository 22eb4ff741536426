package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/hookscripts/hookrun"
	"peermux/mailbox"
	"peermux/registry"
)

const session = "4f2a91bc-0000-4000-8000-000000000001"

var box = mailbox.SessionKey(session)

// world is a peermux home with one session in it.
type world struct {
	t    testing.TB
	home string
	mail *mailbox.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home := filepath.Join(t.TempDir(), "pm")
	store, err := mailbox.Open(home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, home, store}
}

func (w *world) send(body string) string {
	w.t.Helper()
	res, err := w.mail.Append(box, &mailbox.Message{From: sender, Body: body}, mailbox.AppendOptions{NoSync: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.ID
}

// command is the hook as a process of its own.
func (w *world) command(client, event, more string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "peermux-hook", client, event)
	cmd.Env = append(os.Environ(), "PEERMUX_HOME="+w.home, "HOME="+w.home, "CLAUDE_CODE_ENTRYPOINT=cli", "GOMAXPROCS=1")
	cmd.Stdin = strings.NewReader(payloadOf(event, more))
	return cmd
}

func payloadOf(event, more string) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q%s}`, session, event, more)
}

// shown counts how often each message was recorded as shown.
func (w *world) shown() map[string]int {
	w.t.Helper()
	state, err := w.mail.State(box)
	if err != nil {
		w.t.Fatal(err)
	}
	n := map[string]int{}
	for _, it := range state.Items {
		n[it.ID] = len(it.Shown)
	}
	return n
}

// TestParallelHooks: sixteen hooks at once show every message exactly once, and
// in the order of sending.
func TestParallelHooks(t *testing.T) {
	w := newWorld(t)
	events := []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "FileChanged"}
	var texts [16]bytes.Buffer
	for round := range 3 {
		for n := range 20 {
			w.send(fmt.Sprintf("body-%d-%d.", round, n))
		}
		var wg sync.WaitGroup
		for i := range texts {
			cmd := w.command("claude", events[i%len(events)], `,"file_path":"/x/bell"`)
			cmd.Stdout, cmd.Stderr = &texts[i], &texts[i]
			wg.Go(func() {
				if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 2 {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	all := ""
	for i := range texts {
		text := texts[i].String()
		all += text
		last := -1
		for n := range 60 {
			at := strings.Index(text, fmt.Sprintf("body-%d-%d.", n/20, n%20))
			if at >= 0 && at < last {
				t.Errorf("out of order: %s", text)
			}
			last = max(last, at)
		}
	}
	for n := range 60 {
		if got := strings.Count(all, fmt.Sprintf("body-%d-%d.", n/20, n%20)); got != 1 {
			t.Errorf("message %d was put out %d times", n, got)
		}
	}
	for id, n := range w.shown() {
		if n != 1 {
			t.Errorf("message %s is recorded as shown %d times", id, n)
		}
	}
}

// TestKilledMidway: a hook that dies while it writes has shown nothing for
// certain; the next one shows the message and says so.
func TestKilledMidway(t *testing.T) {
	w := newWorld(t)
	id := w.send("the message")
	r, stdout := fullPipe(t)
	cmd := w.command("claude", "PreToolUse", "")
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		state, err := w.mail.State(box)
		if err != nil {
			t.Fatal(err)
		}
		it, _ := state.Item(id)
		return it.Claimed
	})
	other, err := w.command("claude", "PostToolUse", "").Output()
	if err != nil || len(other) > 0 {
		t.Errorf("while it is being shown, another hook says %q, %v", other, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	r.Close()
	out, err := w.command("claude", "PostToolUse", "").Output()
	if err != nil || !strings.Contains(string(out), "the message") || !strings.Contains(string(out), "possibly shown before") {
		t.Errorf("got %q, %v", out, err)
	}
	if n := w.shown()[id]; n != 1 {
		t.Errorf("recorded as shown %d times", n)
	}
}

// fullPipe returns a pipe that takes no more bytes.
func fullPipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	fd := int(w.Fd()) // once: each call makes the descriptor blocking again
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = unix.Write(fd, make([]byte, size))
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return r, w
}

// TestBrokenOutput: nobody reads what the hook says; the mail is given back.
func TestBrokenOutput(t *testing.T) {
	w := newWorld(t)
	id := w.send("the message")
	for _, event := range []string{"PreToolUse", "Stop", "SessionStart", "FileChanged"} {
		closed := w.command("claude", event, `,"file_path":"/x/bell"`)
		hook := strings.Join(closed.Args, " ")
		closed.Path, closed.Args = "/bin/sh", []string{"sh", "-c", "exec " + hook + " >&- 2>&-"}
		if err := closed.Run(); err != nil {
			t.Errorf("%s, closed: %v", event, err)
		}
		r, broken, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := w.command("claude", event, `,"file_path":"/x/bell"`)
		cmd.Stdout, cmd.Stderr = broken, broken
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", event, err)
		}
		broken.Close()
	}
	if n := w.shown()[id]; n != 0 {
		t.Errorf("recorded as shown %d times", n)
	}
	out, err := w.command("claude", "PreToolUse", "").Output()
	if err != nil || !strings.Contains(string(out), "the message") || strings.Contains(string(out), "possibly") {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestSilentStdin: a client that never says anything gets its hook back.
func TestSilentStdin(t *testing.T) {
	w := newWorld(t)
	w.send("the message")
	for _, begin := range []string{"", `{"session_id":"` + session + `",`} {
		r, stdin, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(stdin, begin); err != nil {
			t.Fatal(err)
		}
		cmd := w.command("claude", "PreToolUse", "")
		cmd.Stdin = r
		out, err := cmd.Output()
		if err != nil || len(out) > 0 {
			t.Errorf("got %q, %v", out, err)
		}
		r.Close()
		stdin.Close()
	}
}

// TestHeldLock: a lock that somebody never gives back does not hold the client.
func TestHeldLock(t *testing.T) {
	w := newWorld(t)
	w.send("the message")
	f, err := os.Open(mailbox.JournalPath(w.home, box))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, err := w.command("claude", "PreToolUse", "").Output()
	if err != nil || len(out) > 0 {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestHeldLockBehindTheText: a bell whose text is out wakes, whatever holds it then:
// with exit code 0 the client would drop a text that may be recorded as shown.
func TestHeldLockBehindTheText(t *testing.T) {
	w := newWorld(t)
	id := w.send("the message")
	r, stderr := fullPipe(t)
	cmd := w.command("claude", "FileChanged", `,"file_path":"/x/bell"`)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	waitFor(t, func() bool {
		state, err := w.mail.State(box)
		if err != nil {
			t.Fatal(err)
		}
		it, _ := state.Item(id)
		return it.Claimed
	})
	f, err := os.Open(mailbox.JournalPath(w.home, box))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), "the message") {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
	_ = cmd.Wait() // its exit code is what counts
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// TestHugePayload: a tool input of megabytes goes by. (Package hookrun measures
// ten of them; here the race detector and a busy machine have their part of the
// second that stdin is given.)
func TestHugePayload(t *testing.T) {
	w := newWorld(t)
	w.send("the message")
	huge := strings.Repeat(`\"agent_id\": \"x\", \\ `, 2<<20/24)
	out, err := w.command("codex", "PostToolUse", `,"tool_input":{"content":"`+huge+`"}`).Output()
	if err != nil || !strings.Contains(string(out), "the message") {
		t.Errorf("got %.100q, %v", out, err)
	}
}

// TestStopAndSend runs a session's Stop against a sender, in every order that
// chance brings. The sender writes, then looks at the status; the hook writes the
// status, then looks for mail. Whoever is late sees the other: never is the mail
// unshown while the sender was told that the session works.
func TestStopAndSend(t *testing.T) {
	w := newWorld(t)
	reg := registry.Open(w.home, time.Now)
	hook := func(event string) string {
		var out bytes.Buffer
		hookrun.Run(hookrun.Call{
			Client: "claude", Event: event, Stdin: strings.NewReader(payloadOf(event, "")), Stdout: &out, Stderr: io.Discard,
			Env: func(k string) string { return map[string]string{"PEERMUX_HOME": w.home}[k] }, Now: time.Now, PID: os.Getpid(),
		})
		return out.String()
	}
	left := map[string]int{}
	for n := range 400 {
		hook("UserPromptSubmit")
		body := fmt.Sprintf("round %d.", n)
		word, shown := "", ""
		var wg sync.WaitGroup
		delay := rand.IntN(40) * 2000
		wg.Go(func() {
			spin(delay)
			w.send(body)
			word, _ = reg.Status(box)
		})
		wg.Go(func() { shown = hook("Stop") })
		wg.Wait()
		switch seen := strings.Contains(shown, body); {
		case seen:
			left["shown at Stop"]++
		case word == registry.Idle:
			left["sender saw idle and wakes"]++
		default:
			t.Fatalf("round %d: not shown, and the sender saw %q", n, word)
		}
		hook("UserPromptSubmit") // takes what is left
	}
	if len(left) != 2 {
		t.Errorf("chance brought only %v", left)
	}
}

func spin(n int) {
	for range n {
		_ = time.Now()
	}
}

// waitFor waits until a state is reached.
func waitFor(t testing.TB, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

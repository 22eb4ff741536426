//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/frame"
)

// woken is what `peermux wake --json` says.
type woken struct {
	Outcome, Reason, Route string
}

// wake runs `peermux wake` as a person would.
func (s *session) wake(t *testing.T, extra ...string) woken {
	t.Helper()
	out, _ := s.b.run(t, extra, filepath.Join(s.b.peermux, "peermux"), "wake", s.id(), "--json")
	var w woken
	must(t, json.Unmarshal([]byte(out), &w))
	return w
}

// post leaves mail without waking anybody.
func (s *session) post(t *testing.T) (mail string) {
	t.Helper()
	mail = word(t, "mail")
	s.b.peermuxOK(t, "send", s.id(), mail, "--wake", "off")
	return mail
}

// expect wakes and checks the outcome, and a part of the reason.
func (s *session) expect(t *testing.T, w woken, outcome, reason string) {
	t.Helper()
	if w.Outcome != outcome || !strings.Contains(w.Reason, reason) {
		t.Errorf("wake of %s: got %+v, want %s: %s", s.name, w, outcome, reason)
	}
}

// expectTyped checks that a wake typed and the client took the line. On a machine
// that is too busy the turn starts after the 2 s in which it has to be seen; the
// wake then says so, and the case goes on to see whether the mail arrives.
func (s *session) expectTyped(t *testing.T, w woken) {
	t.Helper()
	if w.Outcome == "typed_not_submitted" && strings.Contains(w.Reason, "the composer is empty again") {
		t.Logf("wake of %s: the turn was not seen to start in time", s.name)
		return
	}
	s.expect(t, w, "submitted", "")
}

// TestWakeNative: both clients' own mechanisms, also before the first prompt.
func TestWakeNative(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude, codex := b.startPair(t)
	b.waitListed(t, claude)
	t.Run("claude", func(t *testing.T) {
		neverPrompted(t, claude, "native", "native: bell")
		withDraft(t, claude, "native: bell")
		afterEscape(t, claude)
	})
	t.Run("codex", func(t *testing.T) {
		neverPrompted(t, codex, "native", "native: codex queue")
		withDraft(t, codex, "native: codex queue")
	})
	t.Run("codex without a daemon", func(t *testing.T) {
		alone := b.startCodex(t, "alone", "--no-daemon")
		// Before the first turn "codex queue" finds no rollout of such a thread
		// (0.171.0), so the pane is the next way.
		neverPrompted(t, alone, "submitted", "tmux")
		withDraft(t, alone, "native: codex queue")
	})
}

// neverPrompted: the first thing that happens to a session is a wake.
func neverPrompted(t *testing.T, s *session, outcome, route string) {
	s.b.waitListed(t, s)
	s.waitIdle(t, 20*time.Second) // Codex shows a spinner while its servers start
	mail := s.post(t)
	w := s.wake(t)
	if outcome == "submitted" {
		s.expectTyped(t, w)
	} else {
		s.expect(t, w, outcome, "")
	}
	if w.Route != route {
		t.Errorf("got route %q, want %q", w.Route, route)
	}
	s.waitTold(t, 15*time.Second, mail)
	s.waitIdle(t, 10*time.Second)
}

// withDraft: the client's own mechanism leaves half-typed text alone; and nothing
// is done when nothing waits.
func withDraft(t *testing.T, s *session, route string) {
	s.typ(t, "half typed")
	s.waitScreen(t, 5*time.Second, `^[❯›].half typed`)
	mail := s.post(t)
	w := s.wake(t)
	s.expect(t, w, "native", "")
	if w.Route != route {
		t.Errorf("got route %q, want %q", w.Route, route)
	}
	s.waitTold(t, 20*time.Second, mail)
	s.waitIdle(t, 10*time.Second)
	if !s.shows(`^[❯›].half typed *$`) {
		t.Error("the draft is gone or changed")
	}
	s.key(t, "C-u")
	s.expect(t, s.wake(t), "not_needed", "nothing is unshown")
}

// afterEscape: the bell rings right after Esc. The prompt that it wakes with brings
// what Esc has lost, and no second copy of what the bell brought.
func afterEscape(t *testing.T, s *session) {
	lost := s.beforeTool(t)
	s.key(t, "Escape")
	s.waitIdle(t, 20*time.Second)
	mail := s.post(t)
	s.expect(t, s.wake(t), "native", "")
	s.waitTold(t, 20*time.Second, mail)
	s.waitIdle(t, 10*time.Second)
	s.once(t, lost, mail)
}

// TestWakeByTyping: without hooks, a wake types into the pane when it is safe, and
// in no other moment; held wakes are taken up by the session's own server.
func TestWakeByTyping(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	b.peermuxOK(t, "uninstall-hook")
	b.model.When(frame.WakeLine, call("read_my_messages")+" [[say read]]")
	// Reading mail shall not ask; the rest does.
	s := b.startClaude(t, "plain", "--permission-mode", "default", "--allowedTools=mcp__peermux__read_my_messages")
	b.waitListed(t, s)
	// The cases follow one another in one session; after a failure its state says
	// nothing.
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}

	step("never prompted", func(t *testing.T) {
		mail := s.post(t)
		w := s.wake(t)
		s.expectTyped(t, w)
		if w.Route != "tmux" {
			t.Errorf("got route %q", w.Route)
		}
		s.arrives(t, mail)
	})
	step("draft", func(t *testing.T) {
		mail := s.post(t)
		s.typ(t, "half typed")
		s.waitScreen(t, 5*time.Second, `^❯.half typed`)
		s.heldWhile(t, mail, "a draft is in the composer", `^❯.half typed *$`)
		s.key(t, "C-u")
		s.arrives(t, mail)
	})
	step("copy mode", func(t *testing.T) {
		mail := s.post(t)
		_, err := b.tmux("copy-mode", "-t", s.pane)
		must(t, err)
		s.heldWhile(t, mail, "copy mode", `^❯`)
		_, err = b.tmux("send-keys", "-t", s.pane, "-X", "cancel")
		must(t, err)
		s.arrives(t, mail)
	})
	step("transcript view", func(t *testing.T) {
		mail := s.post(t)
		s.key(t, "C-o")
		s.waitScreen(t, 5*time.Second, "Showing detailed transcript")
		s.heldWhile(t, mail, "not recognised", "Showing detailed transcript")
		s.key(t, "C-o")
		s.arrives(t, mail)
	})
	step("model dialog", func(t *testing.T) {
		s.paste(t, "/model")
		s.waitScreen(t, 5*time.Second, `^❯./model`)
		s.key(t, "Enter")
		s.waitScreen(t, 10*time.Second, "Select model")
		s.waitDialog(t)
		mail := s.post(t)
		s.heldWhile(t, mail, "it waits for its user", "Select model")
		s.key(t, "Escape")
		s.arrives(t, mail)
	})
	step("permission dialog", func(t *testing.T) {
		file := filepath.Join(b.work, "touched")
		s.say(t, "do [[tool Bash {\"command\":\"touch "+file+"\"}]] [[say after]]")
		s.waitScreen(t, 20*time.Second, "Do you want to proceed")
		s.waitDialog(t)
		mail := s.post(t)
		s.heldWhile(t, mail, "it waits for its user: permission prompt", "Do you want to proceed")
		s.key(t, "Escape")
		s.arrives(t, mail)
		if _, err := os.Stat(file); err == nil {
			t.Error("the command ran")
		}
	})
	step("question", func(t *testing.T) {
		s.say(t, `q [[tool AskUserQuestion {"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"Alpha","description":"a"},{"label":"Beta","description":"b"}]}]}]] [[say asked]]`)
		s.waitScreen(t, 20*time.Second, `^❯ 1\. Alpha`)
		s.waitDialog(t)
		mail := s.post(t)
		s.heldWhile(t, mail, "it waits for its user", `^❯ 1\. Alpha`)
		s.key(t, "Escape")
		s.arrives(t, mail)
	})
	step("busy", func(t *testing.T) {
		s.say(t, "work [[delay 6]] [[say worked]]")
		eventually(t, 5*time.Second, "Claude to say that it is busy", func() bool {
			c, err := s.claude()
			return err == nil && c.Status == "busy"
		})
		mail := s.post(t)
		s.expect(t, s.wake(t), "not_needed", "it is working")
		s.arrives(t, mail)
	})
}

// heldWhile checks that a wake is held, and that nothing happens while the state
// lasts, though the session's own server tries again.
func (s *session) heldWhile(t *testing.T, mail, reason, screen string) {
	t.Helper()
	s.expect(t, s.wake(t), "held", reason)
	stays(t, 3*time.Second, "the screen shows "+screen+", and no mail", func() bool {
		return s.shows(screen) && s.told(mail) == 0
	})
}

// arrives waits for the mail, once.
func (s *session) arrives(t *testing.T, mail string) {
	t.Helper()
	s.waitTold(t, 60*time.Second, mail)
	s.waitIdle(t, 10*time.Second)
	s.once(t, mail)
}

// TestWakeCodexByTyping: the same gate on Codex's screens.
func TestWakeCodexByTyping(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	b.model.When(frame.WakeLine, call("read_my_messages")+" [[say read]]")
	s := b.startCodex(t, "plain", "-a", "on-request", "-s", "read-only")
	s.say(t, "hello [[say hello]]")
	s.waitIdle(t, 20*time.Second)
	b.waitListed(t, s)
	typing := "PEERMUX_WAKE=tmux"

	mail := s.post(t)
	w := s.wake(t, typing)
	s.expectTyped(t, w)
	s.arrives(t, mail)

	mail = s.post(t)
	s.typ(t, "half typed")
	s.waitScreen(t, 5*time.Second, `^›.half typed`)
	s.expect(t, s.wake(t, typing), "held", "a draft is in the composer")
	if !s.shows(`^›.half typed *$`) {
		t.Error("the draft is gone or changed")
	}
	s.key(t, "C-u")
	s.arrives(t, mail)

	file := filepath.Join(b.work, "touched")
	raw, err := json.Marshal(map[string]string{"cmd": "touch " + file, "sandbox_permissions": "require_escalated", "justification": "touch"})
	must(t, err)
	s.say(t, "do [[tool exec_command "+string(raw)+"]] [[say after]]")
	s.waitScreen(t, 20*time.Second, "Would you like to run the following command")
	mail = s.post(t)
	s.expect(t, s.wake(t, typing), "held", "")
	stays(t, 3*time.Second, "the dialog is open", func() bool {
		return s.shows("Would you like to run the following command")
	})
	s.key(t, "Escape")
	s.arrives(t, mail)
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

// TestWakeClosedCodex: a thread outlives its terminal in Codex's daemon for about a
// minute; nobody would see what it does then.
func TestWakeClosedCodex(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	s := b.startCodex(t, "leaving")
	s.say(t, "hello [[say hello]]")
	s.waitIdle(t, 20*time.Second)
	b.waitListed(t, s)
	s.paste(t, "/quit")
	s.waitScreen(t, 5*time.Second, `^›./quit`)
	s.key(t, "Enter")
	s.waitScreen(t, 15*time.Second, `^EXITED`)

	mail := s.post(t)
	if w := s.wake(t); w.Outcome != "no_route" || w.Reason == "" {
		t.Errorf("got %+v, want no_route", w)
	}
	if n := s.told(mail); n != 0 {
		t.Errorf("the mail reached the model %d times", n)
	}
}

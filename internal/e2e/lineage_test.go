//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestLineageClaude: mail that was sent before a session's id or process changed
// arrives where the conversation goes on, and a fork takes nothing.
func TestLineageClaude(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	s := b.startClaude(t, "one")
	s.say(t, "hello [[say hello]]")
	s.waitIdle(t, 10*time.Second)
	b.waitListed(t, s)
	first := s.id()

	t.Run("clear", func(t *testing.T) {
		mail := s.post(t)
		s.becomes(t, "/clear", func(id string) bool { return id != first })
		s.greets(t, mail)
		s.reachedBy(t, first)
	})
	second := s.id()
	t.Run("resume in the session", func(t *testing.T) {
		mail := s.post(t)
		s.becomes(t, "/resume "+first, func(id string) bool { return id == first })
		s.greets(t, mail)
		s.reachedBy(t, second)
	})
	t.Run("compact", func(t *testing.T) {
		mail := s.post(t)
		s.command(t, "/compact")
		s.waitScreen(t, 20*time.Second, `(?i)compacted`)
		s.waitIdle(t, 10*time.Second)
		s.greets(t, mail)
	})
	t.Run("branch takes nothing", func(t *testing.T) {
		mail := s.post(t)
		s.becomes(t, "/branch", func(id string) bool { return id != first })
		s.greets(t)
		if s.told(mail) != 0 {
			t.Error("the branch got the mail of the session it was made from")
		}
		s.becomes(t, "/resume "+first, func(id string) bool { return id == first })
		s.greets(t, mail)
	})
	t.Run("resume in a new process", func(t *testing.T) {
		mail := s.post(t)
		s.exits(t)
		s = b.startClaude(t, "two", "--resume", first)
		s.greets(t, mail)
	})
	t.Run("continue in a new process", func(t *testing.T) {
		mail := s.post(t)
		s.exits(t)
		s = b.startClaude(t, "three", "--continue")
		s.greets(t, mail)
		if s.id() != first {
			t.Errorf("--continue goes on with %s, not with %s", s.id(), first)
		}
	})
	t.Run("a fork in a new process takes nothing", func(t *testing.T) {
		mail := s.post(t)
		s.exits(t)
		fork := b.startClaude(t, "fork", "--resume", first, "--fork-session")
		fork.greets(t)
		if fork.id() == first || fork.told(mail) != 0 {
			t.Errorf("the fork is %s and got the mail of %s", fork.id(), first)
		}
		s = b.startClaude(t, "four", "--resume", first)
		s.greets(t, mail)
	})
}

// TestLineageCodex is the same for Codex, whose daemon holds the threads.
func TestLineageCodex(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	s := b.startCodex(t, "one")
	s.say(t, "hello [[say hello]]")
	s.waitIdle(t, 10*time.Second)
	b.waitListed(t, s)
	first := s.id()

	t.Run("clear", func(t *testing.T) {
		mail := s.post(t)
		s.becomesThread(t, "/clear")
		s.greets(t, mail)
		s.reachedBy(t, first)
	})
	t.Run("compact", func(t *testing.T) {
		mail := s.post(t)
		s.command(t, "/compact")
		s.waitScreen(t, 20*time.Second, `(?i)compacted`)
		s.waitIdle(t, 10*time.Second)
		s.greets(t, mail)
	})
	t.Run("resume in a new process", func(t *testing.T) {
		mail, id := s.post(t), s.id()
		s.command(t, "/quit")
		s.waitScreen(t, 20*time.Second, `^EXITED`)
		s = b.start(t, "two", "codex", "codex", "resume", id)
		s.waitScreen(t, 60*time.Second, `^  ← for agents`)
		s.thread = id
		s.greets(t, mail)
	})
	t.Run("fork takes nothing", func(t *testing.T) {
		mail, origin := s.post(t), s.id()
		s.becomesThread(t, "/fork")
		s.greets(t)
		if s.told(mail) != 0 {
			t.Error("the fork got the mail of the thread it was made from")
		}
		s.command(t, "/resume "+origin)
		s.thread = origin
		s.greets(t, mail)
	})
	// The old thread can be gone back to until Codex unloads it, a minute after
	// its terminal left it (0.171.0).
	t.Run("new", func(t *testing.T) {
		mail, old := s.post(t), s.id()
		s.becomesThread(t, "/new")
		s.greets(t)
		eventually(t, 2*time.Minute, "the old thread to end", func() bool { return !strings.Contains(strings.Join(b.threads(), " "), old) })
		eventually(t, 15*time.Second, "the mail to come over", func() bool { return strings.Contains(b.peermuxOK(t, "inbox", "--box", s.id(), "--peek"), mail) })
		s.greets(t, mail)
		s.reachedBy(t, old)
	})
}

// listedSessions counts the sessions that peermux lists.
func (b *bench) listedSessions(t *testing.T) int {
	t.Helper()
	var out struct {
		Sessions []listed `json:"sessions"`
	}
	must(t, json.Unmarshal([]byte(b.peermuxOK(t, "list", "--json")), &out))
	return len(out.Sessions)
}

// command submits a slash command, which asks no model.
func (s *session) command(t *testing.T, text string) {
	t.Helper()
	s.paste(t, text)
	s.waitScreen(t, 5*time.Second, `^[❯›].`+text)
	s.key(t, "Enter")
}

// becomes submits a command that gives Claude's session another id.
func (s *session) becomes(t *testing.T, text string, ok func(id string) bool) {
	t.Helper()
	s.command(t, text)
	eventually(t, 10*time.Second, "another session id after "+text, func() bool { id := s.id(); return id != "" && ok(id) })
	s.waitIdle(t, 10*time.Second)
}

// becomesThread submits a command that opens another thread in Codex, and waits
// until its server is on the list: before that Codex swallows an Enter.
func (s *session) becomesThread(t *testing.T, text string) {
	t.Helper()
	before, listed := strings.Join(s.b.threads(), " "), s.b.listedSessions(t)
	s.command(t, text)
	eventually(t, 10*time.Second, "another thread after "+text, func() bool {
		for _, id := range s.b.threads() {
			if !strings.Contains(before, id) {
				s.thread = id
				return true
			}
		}
		return false
	})
	eventually(t, 10*time.Second, "one more session on the list", func() bool { return s.b.listedSessions(t) > listed })
	s.waitScreen(t, 10*time.Second, `^  ← for agents`)
	s.waitIdle(t, 10*time.Second)
}

// greets takes a turn and checks that the model got each mail, once.
func (s *session) greets(t *testing.T, mail ...string) {
	t.Helper()
	s.say(t, "greet [[say greeted]]")
	s.waitIdle(t, 20*time.Second)
	for _, m := range mail {
		s.waitTold(t, 10*time.Second, m)
	}
	s.waitIdle(t, 10*time.Second)
}

// reachedBy checks that who still holds an old id reaches the session with it.
func (s *session) reachedBy(t *testing.T, old string) {
	t.Helper()
	mail := word(t, "mail")
	s.b.peermuxOK(t, "send", old, mail, "--wake", "off")
	s.greets(t, mail)
}

// exits ends the client as a person does.
func (s *session) exits(t *testing.T) {
	t.Helper()
	s.command(t, "/exit")
	s.waitScreen(t, 20*time.Second, `^EXITED`)
}

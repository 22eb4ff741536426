//go:build e2e

package e2e

import (
	"syscall"
	"testing"
	"time"
)

// TestUnread: what a session's start has shown reaches the model although the
// person clears the conversation before the first prompt.
func TestUnread(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	first := b.startClaude(t, "first")
	first.say(t, "hello [[say hello]]")
	first.waitIdle(t, 20*time.Second)
	b.waitListed(t, first)
	id, mail := first.id(), word(t, "mail")
	first.paste(t, "/exit")
	first.key(t, "Enter")
	first.waitScreen(t, 20*time.Second, `^EXITED rc=0`)
	b.peermuxOK(t, "send", id, mail, "--wake", "off")

	again := b.startClaude(t, "again", "--resume", id)
	b.waitShown(t, mail, "SessionStart")
	b.waitListed(t, again)
	again.paste(t, "/clear")
	again.key(t, "Enter")
	eventually(t, 20*time.Second, "/clear to begin a new session", func() bool { now := again.id(); return now != "" && now != id })
	again.waitIdle(t, 20*time.Second)
	if n := again.told(mail); n != 0 {
		t.Fatalf("the mail was told %d times before there was a prompt", n)
	}
	again.say(t, "next [[say next]]")
	again.waitTold(t, 10*time.Second, mail)
	again.waitIdle(t, 20*time.Second)
	again.once(t, mail)
}

// TestUnreadInATurn: Claude Code ends while a tool runs, killed or by its user. What
// came before the tool has not reached the model, and comes once it is resumed.
func TestUnreadInATurn(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	s := b.startClaude(t, "first")
	b.waitListed(t, s)
	for _, tt := range []struct {
		next string
		end  func()
	}{
		{"second", func() {
			c, err := s.claude()
			must(t, err)
			must(t, syscall.Kill(c.PID, syscall.SIGKILL))
			s.waitScreen(t, 20*time.Second, `^EXITED`)
		}},
		{"third", func() {
			s.key(t, "Escape")
			s.waitIdle(t, 20*time.Second)
			s.exits(t)
		}},
	} {
		id, mail := s.id(), s.beforeTool(t)
		tt.end()
		s = b.startClaude(t, tt.next, "--resume", id)
		b.waitListed(t, s)
		s.say(t, "next [[say after-resume]]")
		s.waitTold(t, 20*time.Second, mail)
		s.waitIdle(t, 20*time.Second)
		s.once(t, mail)
	}
}

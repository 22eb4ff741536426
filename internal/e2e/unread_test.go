//go:build e2e

package e2e

import (
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

//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestOlderClaude: the oldest Claude Code that the facts were measured with still
// gets its mail at a start, in a turn, at its end, and when it is idle.
func TestOlderClaude(t *testing.T) {
	b := newBench(t)
	b.clients = filepath.Join(clientsDir(t), "older", "node_modules", ".bin")
	b.setup(t)
	out, err := exec.Command("git", "init", "-q", b.work).CombinedOutput()
	if err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	repository := word(t, "repository")
	b.peermuxOK(t, "send", "repo:"+b.work, repository)
	s := b.startClaude(t, "older")
	s.say(t, "hello [[say hello]]")
	s.waitIdle(t, 20*time.Second)
	b.waitListed(t, s)

	t.Run("session start", func(t *testing.T) {
		q := s.waitTold(t, 5*time.Second, repository)
		s.form(t, string(q.Body), "SessionStart", "for the repository shop")
	})
	t.Run("mid-turn", func(t *testing.T) { hookMidTurn(t, s) })
	t.Run("stop", func(t *testing.T) { hookStop(t, s) })
	t.Run("bell", func(t *testing.T) {
		s.typ(t, "half typed")
		mail := word(t, "mail")
		b.peermuxOK(t, "send", s.id(), mail)
		s.waitTold(t, 20*time.Second, mail)
		s.waitScreen(t, 10*time.Second, `^❯.half typed`)
		s.waitIdle(t, 20*time.Second)
		s.once(t, mail)
	})
}

//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// TestClientsAlone drives both clients without peermux. When it fails, the
// clients or the bench changed, and the other failures say nothing.
func TestClientsAlone(t *testing.T) {
	b := newBench(t)
	claude, codex := b.startPair(t)

	for _, s := range []*session{claude, codex} {
		tool := map[string]string{
			"claude": `[[tool Bash {"command":"echo from-$((40+2))"}]]`,
			"codex":  `[[tool exec_command {"cmd":"echo from-$((40+2))"}]]`,
		}[s.client]
		s.say(t, "hello "+tool+" [[say answer-of-"+s.client+"]]")
		s.waitScreen(t, 20*time.Second, `^[●•] answer-of-`+s.client)
		s.waitTold(t, 5*time.Second, "from-42")
		s.waitIdle(t, 10*time.Second)
	}
	for _, s := range []*session{claude, codex} {
		s.typ(t, "half typed")
		s.waitScreen(t, 5*time.Second, `^[❯›].half typed`)
	}
}

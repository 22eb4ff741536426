//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"peermux/internal/mockmodel"
)

// TestAskEndings: an ask that did not end with an answer in time still gets it,
// as mail that wakes the asker; and a session that was never prompted can be asked.
func TestAskEndings(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude, codex := b.startPair(t)
	b.waitListed(t, claude)
	t.Run("codex asked before its first prompt", func(t *testing.T) { ask(t, claude, codex) })
	for _, s := range []*session{claude, codex} {
		peer := codex
		if s == codex {
			peer = claude
		}
		t.Run(s.client+" times out", func(t *testing.T) { late(t, s, peer, false) })
		t.Run(s.client+" presses Esc", func(t *testing.T) { late(t, s, peer, true) })
	}
	t.Run("headless asks", func(t *testing.T) { headlessAsks(t, codex) })
}

// late: the answer comes after the wait has ended, by its time limit or by Esc. It
// arrives as mail, wakes the asker, and comes once.
func late(t *testing.T, from, to *session, esc bool) {
	question, answer := word(t, "question"), word(t, "answer")
	from.b.model.When(question, "[[delay 4]] "+call("reply_to_message", "message_id", "{{message_id}}", "body", answer)+" [[say replied]]")
	arguments := `{"target":"` + to.row(t).Name + `","body":"` + question + `","timeout_ms":2000}`
	if esc {
		arguments = `{"target":"` + to.row(t).Name + `","body":"` + question + `"}`
	}
	from.say(t, "ask [[tool mcp__peermux__ask_peer "+arguments+"]] [[say gave-up]]")
	to.waitTold(t, 20*time.Second, question)
	if esc {
		from.key(t, "Escape")
	} else {
		from.waitTold(t, 10*time.Second, `"timed_out":true`)
	}
	from.waitIdle(t, 10*time.Second)
	if from.told(answer) != 0 {
		t.Fatal("the answer came before the wait ended: this case shows nothing")
	}
	// Nobody types: the mail itself starts the turn.
	from.waitTold(t, 30*time.Second, answer)
	from.waitIdle(t, 10*time.Second)
	to.waitIdle(t, 20*time.Second)
	from.once(t, answer)
	to.once(t, question)
}

// headlessAsks: a run without a terminal asks a live session and has the answer in
// its turn.
func headlessAsks(t *testing.T, to *session) {
	question, answer := word(t, "question"), word(t, "answer")
	to.b.model.When(question, call("reply_to_message", "message_id", "{{message_id}}", "body", answer)+" [[say replied]]")
	to.b.headless(t, "claude", "ask "+call("ask_peer", "target", to.id(), "body", question)+" [[say done]]")
	to.waitTold(t, 10*time.Second, question)
	to.waitIdle(t, 10*time.Second)
	to.once(t, question)
	all := to.b.model.Requests()
	last := slices.IndexFunc(all, func(q mockmodel.Request) bool { return q.API == "anthropic" && q.Told(answer) > 0 })
	if last < 0 || all[last].Told(answer) != 1 {
		t.Errorf("the answer did not reach the run's model, once")
	}
}

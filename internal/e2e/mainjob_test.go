//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMainJob is what peermux is for, with both real clients in one home and one
// project. The cases follow one another in the same two sessions.
func TestMainJob(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude, codex := b.startPair(t)
	pair := []*session{claude, codex}
	other := func(s *session) *session {
		if s == claude {
			return codex
		}
		return claude
	}
	for _, s := range pair { // Codex runs its SessionStart hook at the first turn
		s.say(t, "hello [[say hello-from-"+s.client+"]]")
		s.waitIdle(t, 20*time.Second)
	}
	b.waitListed(t, pair...)

	for _, s := range pair {
		t.Run(s.client+" asks "+other(s).client, func(t *testing.T) { ask(t, s, other(s)) })
	}
	for _, s := range pair {
		t.Run("mid-turn to "+s.client, func(t *testing.T) { midTurn(t, other(s), s) })
	}
	for _, s := range pair {
		t.Run("draft of "+s.client, func(t *testing.T) { draft(t, other(s), s) })
	}
	t.Run("three rounds in one turn", func(t *testing.T) { rounds(t, claude, codex) })
	t.Run("clear", func(t *testing.T) { clearBetween(t, codex, claude) })
}

// waitListed waits until peermux knows the sessions.
func (b *bench) waitListed(t *testing.T, want ...*session) {
	t.Helper()
	eventually(t, 20*time.Second, "peermux list to know all sessions", func() bool {
		out := b.peermuxOK(t, "list", "--json")
		for _, s := range want {
			if !strings.Contains(out, `"`+s.id()+`"`) {
				return false
			}
		}
		return true
	})
}

// listed is one row of `peermux list --json`.
type listed struct {
	Name      string `json:"name"`
	SessionID string `json:"session_id"`
	Status    string `json:"status"`
	Source    string `json:"status_source"`
}

// row is a session as peermux lists it.
func (s *session) row(t *testing.T) listed {
	t.Helper()
	var out struct {
		Sessions []listed `json:"sessions"`
	}
	must(t, json.Unmarshal([]byte(s.b.peermuxOK(t, "list", "--json")), &out))
	for _, r := range out.Sessions {
		if r.SessionID == s.id() {
			return r
		}
	}
	t.Fatalf("peermux list does not know %s (%s)", s.name, s.id())
	return listed{}
}

// word makes a text that occurs nowhere else.
func word(t *testing.T, what string) string {
	return fmt.Sprintf("%s-%d-%d", what, len(t.Name()), time.Now().UnixNano()%1e9)
}

// halved writes a text for a shell so that only the output holds it whole, not
// the prompt that has the command.
func halved(text string) string { return text[:3] + "''" + text[3:] }

// call is a tool call in the script language.
func call(tool string, pairs ...string) string {
	in := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		in[pairs[i]] = pairs[i+1]
	}
	raw, _ := json.Marshal(in) // strings always marshal
	return "[[tool mcp__peermux__" + tool + " " + string(raw) + "]]"
}

// shell is a tool call that runs a command, by each client's own tool.
func (s *session) shell(command string) string {
	if s.client == "codex" {
		raw, _ := json.Marshal(map[string]string{"cmd": command})
		return "[[tool exec_command " + string(raw) + "]]"
	}
	raw, _ := json.Marshal(map[string]string{"command": command})
	return "[[tool Bash " + string(raw) + "]]"
}

// ask: the asked session is idle, is woken, sees the question once and answers;
// the asker gets the answer inside the same turn.
func ask(t *testing.T, from, to *session) {
	question, answer, end := word(t, "question"), word(t, "answer"), word(t, "end")
	from.b.model.When(question, call("reply_to_message", "message_id", "{{message_id}}", "body", answer)+" [[say replied]]")
	before := len(from.requests())
	from.say(t, "ask "+call("ask_peer", "target", to.client, "body", question)+" [[say "+end+"]]")
	to.waitTold(t, 30*time.Second, question)
	from.waitTold(t, 30*time.Second, answer)
	from.waitScreen(t, 10*time.Second, `^[●•] `+end)
	from.waitIdle(t, 10*time.Second)
	to.waitIdle(t, 10*time.Second)
	if n := len(from.requests()) - before; n != 2 {
		t.Errorf("the asker took %d requests, want 2: the question and the end of the same turn", n)
	}
	to.once(t, question)
	from.once(t, answer)
}

// rounds: three questions and answers inside one turn of the asker.
func rounds(t *testing.T, from, to *session) {
	script := "talk "
	var answers []string
	for range 3 {
		question, answer := word(t, "round"), word(t, "reply")
		from.b.model.When(question, call("reply_to_message", "message_id", "{{message_id}}", "body", answer)+" [[say replied]]")
		script += call("ask_peer", "target", to.row(t).Name, "body", question) + " "
		answers = append(answers, answer)
	}
	before := len(from.requests())
	from.say(t, script+"[[say talked]]")
	from.waitTold(t, 60*time.Second, answers[2])
	from.waitIdle(t, 10*time.Second)
	to.waitIdle(t, 20*time.Second)
	from.once(t, answers...)
	if n := len(from.requests()) - before; n != 4 {
		t.Errorf("the asker took %d requests, want 4: one turn", n)
	}
}

// midTurn: a message to a session in the middle of a turn comes with its next
// tool call, and the turn goes on.
func midTurn(t *testing.T, from, to *session) {
	mail, first, second := word(t, "mail"), word(t, "first"), word(t, "second")
	to.say(t, "work "+to.shell("sleep 3; echo "+halved(first))+" "+to.shell("echo "+halved(second))+" [[say worked]]")
	from.say(t, "tell "+call("send_message", "target", to.row(t).Name, "body", mail)+" [[say told]]")
	from.waitTold(t, 10*time.Second, "shown_soon") // the sender knows what will become of it
	q := to.waitTold(t, 15*time.Second, mail)
	if q.Told(first) == 0 || len(q.Answer.Calls) == 0 {
		t.Errorf("the mail came with request %d, which is not the one after the first tool call", q.N)
	}
	to.waitTold(t, 10*time.Second, second)
	to.waitIdle(t, 10*time.Second)
	from.waitIdle(t, 10*time.Second)
	to.once(t, mail, first)
}

// draft: an idle session with half-typed text is woken, and the text stays.
func draft(t *testing.T, from, to *session) {
	mail := word(t, "mail")
	to.typ(t, "half typed")
	to.waitScreen(t, 5*time.Second, `^[❯›].half typed`)
	from.say(t, "tell "+call("send_message", "target", to.row(t).Name, "body", mail)+" [[say told]]")
	to.waitTold(t, 20*time.Second, mail)
	to.waitIdle(t, 10*time.Second)
	from.waitIdle(t, 20*time.Second)
	if !to.shows(`^[❯›].half typed *$`) {
		t.Errorf("the draft is gone or changed")
	}
	to.once(t, mail)
	to.key(t, "C-u") // the person gives it up
	eventually(t, 5*time.Second, "an empty composer", func() bool { return !to.shows(`^[❯›].half typed`) })
}

// clearBetween: mail sent before /clear arrives after it, and the old id still
// reaches the session.
func clearBetween(t *testing.T, from, to *session) {
	before, after := word(t, "before"), word(t, "after")
	old := to.id()
	to.b.peermuxOK(t, "send", to.row(t).Name, before, "--wake", "off")
	if to.told(before) != 0 {
		t.Fatal("the message was shown without a wake")
	}
	to.paste(t, "/clear")
	to.waitScreen(t, 5*time.Second, `^❯./clear`)
	to.key(t, "Enter")
	eventually(t, 10*time.Second, "a new session id", func() bool { return to.id() != "" && to.id() != old })
	to.waitIdle(t, 10*time.Second)
	to.say(t, "hello again [[say hello]]")
	to.waitTold(t, 10*time.Second, before)
	to.waitIdle(t, 10*time.Second)

	from.say(t, "tell "+call("send_message", "target", old, "body", after)+" [[say told]]")
	to.waitTold(t, 20*time.Second, after)
	to.waitIdle(t, 10*time.Second)
	from.waitIdle(t, 10*time.Second)
	to.once(t, before, after)
}

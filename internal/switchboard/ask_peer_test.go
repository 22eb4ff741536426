package switchboard_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

func TestAskPeerGone(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"})
	ben.awaitMail()
	begun := time.Now()
	kill(t, ben.client)
	ask.wait()
	e := refused(t, ask.err, switchboard.CodePeerGone)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v to notice", took)
	}
	id, _ := e.Details["message_id"].(string)
	if it, err := k.board.Store.Trace(ben.entry.Box, id); err != nil || it.Kind != mailbox.KindAsk {
		t.Errorf("the question is lost: %+v, %v", it, err)
	}
	// Resumed in a new process, it answers after all.
	again := k.join("ben")
	again.mustReply(id, "here I am")
	if it, ok := ann.show(); !ok || it.Body != "here I am" {
		t.Errorf("late answer: %+v", it)
	}
}

// A server that is started anew under the same client is no end of the session.
func TestAskPeerRestartsItsServer(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"})
	q := ben.awaitMail()
	kill(t, ben.server)
	ben.server = k.process()
	ben.entry.PID, ben.entry.Start = ben.server.Process.Pid, start(t, ben.server)
	ben.put()
	select {
	case <-ask.done:
		t.Fatalf("the wait ended: %+v, %v", ask.res, ask.err)
	case <-time.After(2 * time.Second):
	}
	ben.mustReply(q.ID, "still me")
	ask.answered("still me")
}

func TestAskServerEndsForGood(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"})
	ben.awaitMail()
	kill(t, ben.server)
	refused(t, ask.wait().err, switchboard.CodePeerGone)
}

func TestAskNotRunning(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.mustSend("ann", "hello")
	ann.show()
	kill(t, ben.client)
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: ben.entry.SessionID, Body: "?"}).wait()
	refused(t, ask.err, switchboard.CodePeerGone)
	if n, err := k.board.Store.Pending(ben.entry.Box); err != nil || n != 0 {
		t.Errorf("something was sent: %d, %v", n, err)
	}
}

// The asker's process is killed while it waits; the answer is mail for whoever
// resumes the conversation.
func TestAskerKilled(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	// The process that waits is one that can be killed.
	waiting := k.process()
	id := mailbox.NewID(time.Now())
	err := k.board.Store.Asked(ann.entry.Box, mailbox.Ask{
		ID: id, ToSession: ben.entry.SessionID, ToBox: ben.entry.Box, ToName: "ben",
		PID: waiting.Process.Pid, Start: start(t, waiting), Until: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	m := mailbox.Message{ID: id, Kind: mailbox.KindAsk, From: ann.actor().Party, Body: "?"}
	if _, err := k.board.Store.Append(ben.entry.Box, &m, mailbox.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	q := ben.awaitMail()
	ben.mustReply(q.ID, "the answer")
	if _, ok := ann.show(); ok {
		t.Fatal("the answer was shown to somebody else while its asker waits")
	}
	// Nobody is refused because of a question whose asker is dead.
	kill(t, waiting)
	ann.mustReplyTo(t, "the answer")
	ask := ben.ask(context.Background(), switchboard.AskRequest{Target: "ann", Body: "and you?"})
	ann.mustReply(ann.awaitMail().ID, "fine")
	ask.answered("fine")
}

// mustReplyTo checks that the session is shown exactly this.
func (s *session) mustReplyTo(t *testing.T, body string) {
	t.Helper()
	it, ok := s.show()
	if !ok || it.Body != body {
		t.Fatalf("%s got %+v", s.entry.Name, it)
	}
}

// /clear in the asker or in the peer during the wait: both boxes move.
func TestAskBoxesMove(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"ann", "ben"} {
		t.Run(who, func(t *testing.T) {
			k := newBench(t)
			ann, ben := k.join("ann"), k.join("ben")
			ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"})
			awaitAsk(t, k, ann)
			moved := map[string]*session{"ann": ann, "ben": ben}[who]
			fresh := mailbox.SessionKey("fresh-" + who)
			if err := k.board.Store.Move(moved.entry.Box, fresh); err != nil {
				t.Fatal(err)
			}
			moved.entry.SessionID, moved.entry.Box = "fresh-"+who, fresh
			moved.put()
			ben.mustReply(ben.awaitMail().ID, "found you")
			ask.answered("found you")
		})
	}
}

// A plain message of the peer during the wait is handed over and marked, but not
// one from before it saw the question, and the answer proper goes first.
func TestAskPlainMessage(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"})
	awaitAsk(t, k, ann)
	ben.mustSend("ann", "by the way, before I look at my mail")
	q := ben.awaitMail()
	ben.mustSend("ann", "it is 42")
	ask.answered("it is 42")
	if !ask.res.Reply.Uncorrelated || len(ask.res.Notes) == 0 {
		t.Errorf("not marked: %+v", ask.res)
	}
	ann.mustReplyTo(t, "by the way, before I look at my mail")
	ben.mustReply(q.ID, "42, as I said")
	ann.mustReplyTo(t, "42, as I said")

	ask = ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "again?"})
	q = ben.awaitMail()
	ben.mustSend("ann", "a remark")
	time.Sleep(200 * time.Millisecond)
	ben.mustReply(q.ID, "the answer proper")
	ask.answered("the answer proper")
	if ask.res.Reply.Uncorrelated {
		t.Error("the answer proper is marked as uncorrelated")
	}
	ann.mustReplyTo(t, "a remark")
}

func TestAskTurnEnds(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.status(registry.Idle) // from before the question: says nothing
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: time.Minute})
	q := ben.awaitMail()
	ben.status(registry.Working)
	// Idle for a moment between a Stop hook and the continuation it asked for.
	ben.status(registry.Idle)
	time.Sleep(200 * time.Millisecond)
	ben.status(registry.Working)
	select {
	case <-ask.done:
		t.Fatalf("ended while the peer works: %+v", ask.res)
	case <-time.After(4 * time.Second):
	}
	ben.status(registry.Idle)
	ask.wait()
	if ask.err != nil || ask.res.Ended != "turn_ended" || ask.res.TimedOut || ask.res.MessageID != q.ID {
		t.Fatalf("%+v, %v", ask.res, ask.err)
	}
	ben.mustReply(q.ID, "after all")
	ann.mustReplyTo(t, "after all")
}

func TestAskProgress(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	var mu sync.Mutex
	var told []string
	said := func(part string) bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(told, "\n"), part)
	}
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?", Progress: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}})
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, "waiting for ben: not shown yet"},
		{func() { ben.awaitMail(); ben.status(registry.Working) }, "shown a moment ago, working"},
		{func() { ben.status(registry.Waiting) }, "ben is waiting for its user"},
	}
	for _, step := range steps {
		step.do()
		deadline := time.Now().Add(patience)
		for !said(step.want) {
			if time.Now().After(deadline) {
				t.Fatalf("never told %q; told %q", step.want, told)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	asks, err := k.board.Store.OpenAsks(ann.entry.Box)
	if err != nil || len(asks) != 1 {
		t.Fatal(asks, err)
	}
	ben.mustReply(asks[0].ID, "ok")
	ask.answered("ok")
}

// The peer's user is asked something, and the peer has not seen the question: the
// asker is told soon, and the question stays.
func TestAskHeld(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.status(registry.Waiting)
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: time.Minute}).wait()
	if ask.err != nil || ask.res.Ended != "held" || ask.res.TimedOut || ask.res.State != "queued" || !strings.Contains(ask.res.Next, "waiting for its user") {
		t.Fatalf("%+v, %v", ask.res, ask.err)
	}
	ben.mustReply(ben.awaitMail().ID, "now")
	ann.mustReplyTo(t, "now")
}

package switchboard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

func TestAskIsAnswered(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "which port?"})
	q := ben.awaitMail()
	if q.Kind != mailbox.KindAsk || q.Body != "which port?" {
		t.Fatalf("ben got %+v", q)
	}
	reply := ben.mustReply(q.ID, "8080")
	if reply.Outlook != switchboard.ShownSoon || reply.ReplyTo != q.ID {
		t.Errorf("reply: %+v", reply)
	}
	ask.answered("8080")
	if r := ask.res.Reply; r.MessageID != reply.MessageID || r.From.Name != "ben" || r.Uncorrelated || ask.res.MessageID != q.ID {
		t.Errorf("got %+v", ask.res)
	}
	// It was shown by the call, once, and nothing is open any more.
	if left := ann.unseen(); len(left) != 0 {
		t.Errorf("ann still has %+v", left)
	}
	work, err := k.board.OpenWork(context.Background(), ben.actor())
	if err != nil || work.Count != 0 {
		t.Errorf("ben still owes %+v, %v", work, err)
	}
	status, err := k.board.Status(context.Background(), ann.actor(), q.ID)
	if err != nil || status.State != "answered" || status.AnswerID != reply.MessageID {
		t.Errorf("status: %+v, %v", status, err)
	}
}

// The answer is there before the asker begins to wait: the question was recorded
// before it was sent.
func TestAskFastAnswer(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for i := range 30 {
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for {
				if it, ok := ben.show(); ok {
					ben.mustReply(it.ID, fmt.Sprint("answer ", i))
					return
				}
			}
		}()
		ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "quick?"}).answered(fmt.Sprint("answer ", i))
		<-stop
	}
}

// Around the deadline an answer is either the reply of the call or mail, never
// both and never neither.
func TestAskAnswerAtTheDeadline(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	const timeout = 30 * time.Millisecond
	var inCall, asMail int
	for i := range 60 {
		ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "now?", Timeout: timeout})
		begun := time.Now()
		q := ben.awaitMail()
		offset := time.Duration(i%5-2) * time.Millisecond / 2
		time.Sleep(time.Until(begun.Add(timeout + offset)))
		reply := ben.mustReply(q.ID, "just in time")
		ask.wait()
		if ask.err != nil {
			t.Fatal(ask.err)
		}
		left := ann.unseen()
		switch {
		case ask.res.Reply != nil && len(left) == 0 && ask.res.Reply.MessageID == reply.MessageID:
			inCall++
		case ask.res.TimedOut && len(left) == 1 && left[0].ID == reply.MessageID:
			asMail++
			ann.show()
		default:
			t.Fatalf("round %d: result %+v, left %+v", i, ask.res, left)
		}
	}
	t.Logf("%d answers in the call, %d as mail", inCall, asMail)
}

func TestAskTimesOut(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for _, tt := range []struct {
		name    string
		prepare func()
		state   string
	}{
		{"never shown", func() {}, "queued"},
		{"shown", func() { ben.awaitMail() }, "shown"},
		{"working on it", func() { ben.awaitMail(); ben.status(registry.Working) }, "working"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: 300 * time.Millisecond})
			tt.prepare()
			ask.wait()
			if ask.err != nil || !ask.res.TimedOut || ask.res.Reply != nil || ask.res.State != tt.state {
				t.Fatalf("got %+v, %v", ask.res, ask.err)
			}
			if !strings.Contains(ask.res.Next, ask.res.MessageID) {
				t.Errorf("next: %q", ask.res.Next)
			}
			for {
				if _, ok := ben.show(); !ok {
					break
				}
			}
			// The answer that comes later is mail that names the question.
			late := ben.mustReply(ask.res.MessageID, "sorry, late")
			it, ok := ann.show()
			if !ok || it.ID != late.MessageID || it.ReplyTo != ask.res.MessageID {
				t.Errorf("late answer: %+v", it)
			}
			if asks, err := k.board.Store.OpenAsks(ann.entry.Box); err != nil || len(asks) != 0 {
				t.Errorf("still waiting: %+v, %v", asks, err)
			}
		})
	}
}

func TestAskTimeoutLimits(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	answer := func() {
		q := ben.awaitMail()
		ben.mustReply(q.ID, "yes")
	}
	for _, tt := range []struct {
		env     string
		timeout time.Duration
		note    string
	}{
		{"", time.Hour, "cut from"},
		{"99999999", 0, "was cut from"},
		{"soon", 0, "is no number"},
		{"-5", 0, "is no number"},
		{"5000", 0, ""},
	} {
		k.env["PEERMUX_ASK_TIMEOUT_MS"] = tt.env
		go answer()
		res, d, err := k.board.Ask(context.Background(), ann.actor(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: tt.timeout})
		if err != nil || res.Reply == nil {
			t.Fatalf("%+v: %+v, %v", tt, res, err)
		}
		if err := d.Shown(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(res.Notes, "; "); tt.note == "" && got != "" || !strings.Contains(got, tt.note) {
			t.Errorf("%+v: notes %q", tt, got)
		}
	}
	_, _, err := k.board.Ask(context.Background(), ann.actor(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: -1})
	refused(t, err, switchboard.CodeBadRequest)
}

// A ring of any length is closed by nobody, from whichever side it is tried, and
// the question that has to be answered first is attached.
func TestAskWouldDeadlock(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 3, 5} {
		for last := range size {
			t.Run(fmt.Sprintf("%d from %d", size, last), func(t *testing.T) {
				k := newBench(t)
				var ring []*session
				for i := range size {
					ring = append(ring, k.join(fmt.Sprintf("node%d", i)))
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				var asks []*asking
				for i := 1; i < size; i++ {
					from, to := ring[(last+i)%size], ring[(last+i+1)%size]
					asks = append(asks, from.ask(ctx, switchboard.AskRequest{Target: to.entry.Name, Body: "from " + from.entry.Name}))
					awaitAsk(t, k, from)
				}
				closer, next, before := ring[last], ring[(last+1)%size], ring[(last+size-1)%size]
				ask := closer.ask(ctx, switchboard.AskRequest{Target: next.entry.Name, Body: "one too many"}).wait()
				e := refused(t, ask.err, switchboard.CodeWouldDeadlock)
				q, ok := e.Details["question"].(switchboard.Mail)
				if !ok || q.From.Name != before.entry.Name || q.Body != "from "+before.entry.Name {
					t.Fatalf("question: %+v", e.Details["question"])
				}
				if names := e.Details["ring"].([]string); len(names) != size+1 || names[0] != closer.entry.Name {
					t.Errorf("ring: %v", names)
				}
				if ask.took > 5*time.Second {
					t.Errorf("it took %v", ask.took)
				}
				// It was shown by the refusal, and answering it opens the ring.
				if left := closer.unseen(); len(left) != 0 {
					t.Errorf("shown twice: %+v", left)
				}
				closer.mustReply(q.MessageID, "here")
				asks[len(asks)-1].answered("here")
				cancel()
				for _, a := range asks {
					a.wait()
				}
			})
		}
	}
}

// awaitAsk waits until the session's question is registered and sent.
func awaitAsk(t *testing.T, k *bench, s *session) mailbox.Ask {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		asks, err := k.board.Store.OpenAsks(s.entry.Box)
		if err != nil {
			t.Fatal(err)
		}
		if len(asks) == 0 {
			continue
		}
		if _, err := k.board.Store.Trace(asks[0].ToBox, asks[0].ID); err == nil {
			return asks[0]
		}
	}
	t.Fatal("no question was registered")
	return mailbox.Ask{}
}

// Of two that ask each other at the same moment exactly one is refused.
func TestAskEachOtherAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		k := newBench(t)
		ann, ben := k.join("ann"), k.join("ben")
		other := k.another()
		ctx, cancel := context.WithCancel(context.Background())
		a := ann.ask(ctx, switchboard.AskRequest{Target: "ben", Body: "a"})
		b := ben.askOn(ctx, other, switchboard.AskRequest{Target: "ann", Body: "b"})
		var refusedOne *asking
		select {
		case <-a.done:
			refusedOne = a
		case <-b.done:
			refusedOne = b
		case <-time.After(patience):
			t.Fatalf("round %d: both wait", round)
		}
		e := refused(t, refusedOne.err, switchboard.CodeWouldDeadlock)
		if _, ok := e.Details["question"].(switchboard.Mail); !ok {
			t.Errorf("round %d: no question attached: %+v", round, e.Details)
		}
		cancel()
		a.wait()
		b.wait()
		for _, ask := range []*asking{a, b} {
			if ask != refusedOne && !errors.Is(ask.err, context.Canceled) {
				t.Errorf("round %d: the other one ended with %v", round, ask.err)
			}
		}
	}
}

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

func TestAskCancelled(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for _, after := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond} {
		ctx, cancel := context.WithCancel(context.Background())
		ask := ann.ask(ctx, switchboard.AskRequest{Target: "ben", Body: "?"})
		time.Sleep(after)
		cancel()
		ask.wait()
		if !errors.Is(ask.err, context.Canceled) {
			t.Fatalf("after %v: %+v, %v", after, ask.res, ask.err)
		}
		if asks, err := k.board.Store.OpenAsks(ann.entry.Box); err != nil || len(asks) != 0 {
			t.Fatalf("after %v: still waiting: %+v, %v", after, asks, err)
		}
		q, ok := ben.show()
		if !ok {
			continue // cancelled before it was sent
		}
		ben.mustReply(q.ID, "late")
		if it, ok := ann.show(); !ok || it.ReplyTo != q.ID {
			t.Errorf("after %v: late answer: %+v", after, it)
		}
	}
}

// An answer that was taken but could not be shown is mail again.
func TestAskResultLost(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	go func() { ben.mustReply(ben.awaitMail().ID, "yes") }()
	res, d, err := k.board.Ask(context.Background(), ann.actor(), switchboard.AskRequest{Target: "ben", Body: "?"})
	if err != nil || res.Reply == nil {
		t.Fatalf("%+v, %v", res, err)
	}
	if left := ann.unseen(); len(left) != 0 {
		t.Fatalf("shown to somebody else meanwhile: %+v", left)
	}
	if err := d.Release(); err != nil {
		t.Fatal(err)
	}
	ann.mustReplyTo(t, "yes")
}

func TestAskMany(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	const peers, each = 5, 10
	var all []*asking
	var bodies []string
	for p := range peers {
		s := k.join(fmt.Sprintf("peer%d", p))
		for i := range each {
			body := fmt.Sprintf("%s %d", s.entry.Name, i)
			all = append(all, ann.ask(context.Background(), switchboard.AskRequest{Target: s.entry.Name, Body: body}))
			bodies = append(bodies, body)
		}
		go func() {
			for range each {
				q := s.awaitMail()
				s.mustReply(q.ID, "re "+q.Body)
			}
		}()
	}
	// Mail that has nothing to do with it stays where it is.
	k.join("other").mustSend("ann", "unrelated")
	for i, a := range all {
		a.answered("re " + bodies[i])
	}
	ann.mustReplyTo(t, "unrelated")
}

func TestAskSeveralTargets(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben, cay := k.join("ann"), k.join("ben"), k.join("cay")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Targets: []string{"ben", "cay", "nobody"}, Body: "ready?", Timeout: time.Second})
	ben.mustReply(ben.awaitMail().ID, "ready")
	q := cay.awaitMail()
	ask.wait()
	if ask.err != nil || len(ask.res.Replies) != 3 {
		t.Fatalf("%+v, %v", ask.res, ask.err)
	}
	got := ask.res.Replies
	if got[0].Reply == nil || got[0].Reply.Body != "ready" || got[0].TimedOut {
		t.Errorf("ben: %+v", got[0])
	}
	if got[1].Reply != nil || !got[1].TimedOut || got[1].MessageID != q.ID || !ask.res.TimedOut {
		t.Errorf("cay: %+v", got[1])
	}
	if got[2].Error != switchboard.CodeUnknownTarget {
		t.Errorf("nobody: %+v", got[2])
	}
	cay.mustReply(q.ID, "now")
	ann.mustReplyTo(t, "now")
	ask = ann.ask(context.Background(), switchboard.AskRequest{Targets: []string{"nobody", "ann"}, Body: "?"}).wait()
	refused(t, ask.err, switchboard.CodeUnknownTarget)
	ask = ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Targets: []string{"cay"}, Body: "?"}).wait()
	refused(t, ask.err, switchboard.CodeBadRequest)
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

// The person asks from a shell and is answered the same way.
func TestAskByThePerson(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ben := k.join("ben")
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	person, err := k.board.ActorFromShell(switchboard.Shell{Dir: k.dir, Self: self, Parents: []proc.Info{}})
	if err != nil || person.Kind != registry.ToUser {
		t.Fatal(person, err)
	}
	go func() { ben.mustReply(ben.awaitMail().ID, "all green") }()
	res, d, err := k.board.Ask(context.Background(), person, switchboard.AskRequest{Target: "ben", Body: "tests?", Timeout: patience})
	if err != nil || res.Reply == nil || res.Reply.Body != "all green" {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := d.Shown(); err != nil {
		t.Fatal(err)
	}
}

// The mailbox of the peer is full: the question is refused and nothing waits.
func TestAskInboxFull(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for i := range mailbox.MaxUnshown {
		m := mailbox.Message{Body: fmt.Sprint(i), From: mailbox.Party{Name: "filler", Box: "u-filler-0"}}
		if _, err := k.board.Store.Append(ben.entry.Box, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
	}
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"}).wait()
	e := refused(t, ask.err, switchboard.CodeRateLimited)
	if e.Details["guard"] != "inbox" {
		t.Errorf("details: %v", e.Details)
	}
	if asks, err := k.board.Store.OpenAsks(ann.entry.Box); err != nil || len(asks) != 0 {
		t.Errorf("still waiting: %+v, %v", asks, err)
	}
	// The answer to a question that is being waited for gets in all the same.
	for i := range mailbox.MaxUnshown {
		m := mailbox.Message{Body: fmt.Sprint(i), From: mailbox.Party{Name: "filler", Box: "u-filler-0"}}
		if _, err := k.board.Store.Append(ann.entry.Box, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
	}
	cay := k.join("cay")
	ask = ann.ask(context.Background(), switchboard.AskRequest{Target: "cay", Body: "?"})
	cay.mustReply(cay.awaitMail().ID, "squeezed in")
	ask.answered("squeezed in")
}

// The wait graph is on the list, with the ring named.
func TestListShowsWhoWaits(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ctx, cancel := context.WithCancel(context.Background())
	ask := ann.ask(ctx, switchboard.AskRequest{Target: "ben", Body: "?"})
	awaitAsk(t, k, ann)
	list, err := k.board.List(ctx, ben.actor(), switchboard.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range list.Sessions {
		switch row.Name {
		case "ann":
			if len(row.WaitingFor) != 1 || row.WaitingFor[0].Name != "ben" || row.WaitingFor[0].Since.IsZero() {
				t.Errorf("ann waits for %+v", row.WaitingFor)
			}
		case "ben":
			if len(row.WaitingFor) != 0 || row.Unread != 1 || !row.Self {
				t.Errorf("ben: %+v", row)
			}
		}
	}
	if len(list.Rings) != 0 {
		t.Errorf("rings: %v", list.Rings)
	}
	// A ring can only come about behind peermux's back; it is named then.
	process := k.process()
	err = k.board.Store.Asked(ben.entry.Box, mailbox.Ask{
		ID: mailbox.NewID(time.Now()), ToBox: ann.entry.Box, PID: process.Process.Pid, Start: start(t, process), Until: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, err = k.board.List(ctx, ben.actor(), switchboard.ListRequest{}); err != nil || len(list.Rings) != 1 || len(list.Rings[0]) != 2 {
		t.Errorf("rings: %v, %v", list.Rings, err)
	}
	cancel()
	ask.wait()
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

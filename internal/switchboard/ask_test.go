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
		{"99999999", 0, "is cut to 280000"},
		{"soon", 0, "is no number"},
		{"-5", 0, "is no number"},
		{"5000", 0, ""},
	} {
		k.env["PEERMUX_ASK_TIMEOUT_MS"] = tt.env
		var answering sync.WaitGroup
		answering.Go(answer)
		res, d, err := k.board.Ask(context.Background(), ann.actor(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: tt.timeout})
		answering.Wait() // it goes on writing after the asker has the answer
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
	if it, ok := ann.show(); ok {
		t.Errorf("a hook was given %+v while the call waits", it)
	}
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
	// The peer is told who was refused, once.
	for range 3 {
		refused(t, ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?"}).wait().err, switchboard.CodeRateLimited)
	}
	told := ben.unseen()[mailbox.MaxUnshown:]
	if len(told) == 0 || len(told) > 2 || told[0].From.Name != "peermux" || !strings.Contains(told[0].Body, "messages from ann") {
		t.Errorf("ben was told %+v", told)
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

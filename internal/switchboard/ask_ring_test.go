package switchboard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

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

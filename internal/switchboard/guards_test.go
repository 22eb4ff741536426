package switchboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// Two sessions that only acknowledge each other are stopped, and both are told.
func TestAcknowledgingForEverIsStopped(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	now := time.Now()
	k.board.Now = func() time.Time { return now }
	ann, ben := k.join("ann"), k.join("ben")
	ann.mustSend("ben", "thanks for the review")
	from, to := ben, ann
	rounds := 0
	for ; rounds < 100; rounds++ {
		now = now.Add(time.Minute) // slow enough for the rate
		it, ok := from.show()
		if !ok {
			t.Fatalf("round %d: no mail", rounds)
		}
		_, err := from.reply(it.ID, "thank you!")
		if err == nil {
			from, to = to, from
			continue
		}
		e := refused(t, err, switchboard.CodeRateLimited)
		if e.Details["guard"] != "hops" {
			t.Errorf("details: %v", e.Details)
		}
		break
	}
	if rounds < 10 || rounds > 30 {
		t.Errorf("stopped after %d answers", rounds)
	}
	it, ok := to.show()
	if !ok || it.From.Name != "peermux" || !strings.Contains(it.Body, "stopped") || it.Urgency != "low" {
		t.Errorf("the other side was told %+v", it)
	}
	if _, err := to.reply(it.ID, "why?"); err == nil {
		t.Error("the notice can be answered")
	}
	// Trying again tells nobody again.
	if _, err := from.reply(lastShown(t, k, from), "but still"); err == nil {
		t.Error("the second try went through")
	}
	if left := to.unseen(); len(left) != 0 {
		t.Errorf("told twice: %+v", left)
	}
	// What is begun anew goes through.
	from.mustSend(to.entry.Name, "a new subject")
}

func lastShown(t *testing.T, k *bench, s *session) string {
	t.Helper()
	st, err := k.board.Store.State(s.entry.Box)
	if err != nil {
		t.Fatal(err)
	}
	return st.Items[len(st.Items)-1].ID
}

func TestPairRate(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	now := time.Now()
	k.board.Now = func() time.Time { return now }
	k.board.Store = storeAt(t, k, func() time.Time { return now })
	ann, ben := k.join("ann"), k.join("ben")
	cay := k.join("cay")
	for range 10 {
		ann.mustSend("ben", "ping")
		now = now.Add(time.Second)
	}
	_, err := ann.send("ben", "ping")
	e := refused(t, err, switchboard.CodeRateLimited)
	if ms, ok := e.Details["retry_after_ms"].(int64); !ok || ms <= 0 || ms > 60_000 || e.Details["guard"] != "rate" {
		t.Errorf("details: %v", e.Details)
	}
	_, err = ann.send("ben", "ping")
	refused(t, err, switchboard.CodeRateLimited)
	var notices int
	for {
		it, ok := ben.show()
		if !ok {
			break
		}
		if it.From.Name == "peermux" {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("ben was told %d times", notices)
	}
	// Others are not held back, nor is the other direction.
	cay.mustSend("ben", "ping")
	ann.mustSend("cay", "ping")
	ben.mustSend("ann", "pong")
	now = now.Add(time.Minute)
	ann.mustSend("ben", "ping")
}

func storeAt(t *testing.T, k *bench, now func() time.Time) *mailbox.Store {
	t.Helper()
	store, err := mailbox.Open(k.home, now)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// What is owed is never held back: answers to questions, however many.
func TestAnswersAreNotRated(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	var ids []string
	for range 15 {
		ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "?", Timeout: time.Millisecond}).wait()
		ids = append(ids, ask.res.MessageID)
	}
	for _, id := range ids {
		ben.mustReply(id, "late")
	}
	ben.mustSend("ann", "and a remark")
}

// A person may send as it likes.
func TestPersonIsNotRated(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.join("ben")
	person := k.person()
	for range 15 {
		if _, err := k.board.Send(context.Background(), person, switchboard.SendRequest{Target: "ben", Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
}

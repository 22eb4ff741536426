package switchboard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

func (s *session) read(r switchboard.ReadRequest) switchboard.ReadResult {
	s.bench.t.Helper()
	r.Via = "read_my_messages"
	res, d, err := s.bench.board.Read(context.Background(), s.actor(), r)
	if err != nil {
		s.bench.t.Fatal(err)
	}
	if err := d.Shown(); err != nil {
		s.bench.t.Fatal(err)
	}
	return res
}

func bodies(res switchboard.ReadResult) []string {
	list := []string{}
	for _, m := range res.Messages {
		list = append(list, m.Body)
	}
	return list
}

func TestReadLimitsAndSeen(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for i := range 5 {
		ann.mustSend("ben", fmt.Sprint("message ", i))
	}
	got := ben.read(switchboard.ReadRequest{Limit: 2})
	if !slices.Equal(bodies(got), []string{"message 0", "message 1"}) || got.More != 3 || got.About == "" {
		t.Errorf("first: %+v", got)
	}
	got = ben.read(switchboard.ReadRequest{Peek: true})
	if got.Count != 3 {
		t.Errorf("peek: %+v", got)
	}
	got = ben.read(switchboard.ReadRequest{IncludeSeen: true, Limit: 4})
	if !slices.Equal(bodies(got), []string{"message 0", "message 1", "message 2", "message 3"}) || got.More != 1 {
		t.Errorf("with seen: %v, %d more", bodies(got), got.More)
	}
	// Large bodies: whole messages within the budget, the first one always.
	big := strings.Repeat("x", 60<<10)
	ann.mustSend("ben", big)
	ann.mustSend("ben", "small")
	ben.read(switchboard.ReadRequest{}) // message 4
	if got = ben.read(switchboard.ReadRequest{}); got.Count != 1 || len(got.Messages[0].Body) != len(big) || got.More != 1 {
		t.Errorf("big: %d messages, %d more", got.Count, got.More)
	}
	if got = ben.read(switchboard.ReadRequest{}); !slices.Equal(bodies(got), []string{"small"}) {
		t.Errorf("after big: %v", bodies(got))
	}
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	got := make(chan switchboard.ReadResult)
	go func() { got <- ben.read(switchboard.ReadRequest{Wait: patience}) }()
	ann.mustSend("ben", "at last")
	if res := <-got; !slices.Equal(bodies(res), []string{"at last"}) {
		t.Errorf("got %+v", res)
	}
	if res := ben.read(switchboard.ReadRequest{Wait: 1}); res.Count != 0 {
		t.Errorf("got %+v", res)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := k.board.Read(ctx, ben.actor(), switchboard.ReadRequest{Wait: patience}); err == nil {
		t.Error("a cancelled wait gave no error")
	}
}

// Mail that was read but could not be shown is unread again.
func TestReadReleased(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.read(switchboard.ReadRequest{})
	ann.mustSend("ben", "one")
	if _, err := ann.broadcast("two", "", ""); err != nil {
		t.Fatal(err)
	}
	res, d, err := k.board.Read(context.Background(), ben.actor(), switchboard.ReadRequest{})
	if err != nil || res.Count != 2 {
		t.Fatal(res, err)
	}
	if err := d.Release(); err != nil {
		t.Fatal(err)
	}
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v", got)
	}
}

// After /clear what was shown before is still found, to read and to answer.
func TestReadSeenAcrossClear(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.mustSend("ben", "before").MessageID
	ben.read(switchboard.ReadRequest{})
	fresh := mailbox.SessionKey("fresh")
	if err := k.board.Store.Move(ben.entry.Box, fresh); err != nil {
		t.Fatal(err)
	}
	ben.entry.SessionID, ben.entry.Box = "fresh", fresh
	ben.put()
	if got := bodies(ben.read(switchboard.ReadRequest{IncludeSeen: true})); !slices.Equal(got, []string{"before"}) {
		t.Errorf("got %v", got)
	}
	ben.mustReply(id, "I remember")
	ann.mustReplyTo(t, "I remember")
}

func TestCountChangesNothing(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ann.mustSend("ben", "x")
	ann.task("ben", "y")
	for range 2 {
		res, err := k.board.Count(context.Background(), "")
		if err != nil || len(res.Boxes) != 1 || res.Unshown != 2 || res.Open != 1 || res.Boxes[0].Box != ben.entry.Box {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if res, err := k.board.Count(context.Background(), ben.entry.Box); err != nil || len(res.Boxes) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

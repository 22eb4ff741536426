package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// TestKilledAnywhere kills senders, readers and compactors of one box.
func TestKilledAnywhere(t *testing.T) {
	b := newBench(t)
	b.storm(stress(36, 5000), slices.Concat(
		times(3, order{Role: "send", Box: boxA}),
		times(1, order{Role: "send", Box: boxA, Sync: true}),
		times(2, order{Role: "read", Box: boxA}),
		times(1, order{Role: "read", Box: boxA, Clumsy: true}),
		times(1, order{Role: "compact", Boxes: []string{boxA}}))...)
	b.drain(order{Role: "read", Box: boxA})
	b.pending(boxA, 0)
	sum := b.tally()
	sum.check(b)
	st, err := b.store.State(boxA)
	if err != nil {
		t.Fatal(err)
	}
	deaths := sum.killed["send"] + sum.killed["read"]
	if st.BadLines > deaths {
		t.Errorf("%d bad lines of %d killed writers", st.BadLines, deaths)
	}
}

// TestManyWritersAndReaders: nobody dies, so nothing comes twice, and each reader
// sees each sender's messages in order.
func TestManyWritersAndReaders(t *testing.T) {
	b := newBench(t)
	const writers, readers = 16, 4
	each := stress(20, 1000)
	var writing []*process
	for range readers {
		b.start(order{Role: "read", Box: boxA, Most: 60})
	}
	start := time.Now()
	for range writers {
		writing = append(writing, b.start(order{Role: "send", Box: boxA, Count: each}))
	}
	for _, w := range writing {
		<-w.read
	}
	t.Logf("%d messages written in %v", writers*each, time.Since(start))
	b.waitEmpty(boxA)
	b.stopAll()
	sum := b.tally()
	sum.check(b)
	b.inOrder(sum)
	if len(sum.acked) != writers*each || len(sum.out) != writers*each {
		t.Errorf("%d acknowledged, %d shown, want %d", len(sum.acked), len(sum.out), writers*each)
	}
	for which, n := range sum.out {
		if n != 1 {
			t.Errorf("%s was shown %d times", which, n)
		}
	}
}

func (b *bench) waitEmpty(key string) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n, err := b.store.Pending(key)
		if err != nil {
			b.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d messages are left", n)
		}
	}
}

// TestKilledWhileClosing races closers of the same tasks.
func TestKilledWhileClosing(t *testing.T) {
	b := newBench(t)
	const requester = "requester"
	var tasks []string
	for n := range stress(40, 600) {
		m := mailbox.Message{Kind: mailbox.KindTask, Body: bodyOf("task", n), From: mailbox.Party{Box: boxB, Name: requester}}
		res, err := b.store.Append(boxA, &m, mailbox.AppendOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, res.ID)
	}
	b.storm(stress(25, 1500), times(4, order{Role: "close", Box: boxA})...)
	last := b.start(order{Role: "close", Box: boxA})
	for {
		open, err := b.store.OpenWork(boxA)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	last.stop()
	won := map[string]string{}
	for _, p := range b.workers {
		for _, line := range p.lines {
			id, how, _ := strings.Cut(strings.TrimPrefix(line, "closed "), " ")
			if was, twice := won[id]; twice {
				t.Errorf("task %s was closed as %s and as %s", id, was, how)
			}
			won[id] = how
		}
	}
	st, err := b.store.State(boxB)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Items) != len(tasks) {
		t.Errorf("%d results for %d tasks", len(st.Items), len(tasks))
	}
	for _, id := range tasks {
		task, err := b.store.Find(boxA, id)
		if err != nil {
			t.Fatal(err)
		}
		result, ok := st.Item(mailbox.CompletionID(id))
		if !ok || result.Tag != task.Closed || won[id] != "" && won[id] != task.Closed || !strings.HasSuffix(result.Body, task.ClosedBy) {
			t.Errorf("task %s: closed as %q by %s, the closer was told %q, the requester %q", id, task.Closed, task.ClosedBy, won[id], result.Body)
		}
	}
	t.Logf("%d tasks, %d closers said so", len(tasks), len(won))
}

// TestKilledOnAFeed has one reader with parallel hooks.
func TestKilledOnAFeed(t *testing.T) {
	b := newBench(t)
	feed := mailbox.FeedProject("/project")
	b.storm(stress(25, 2000), slices.Concat(
		times(2, order{Role: "say", Feed: feed, Box: boxA}),
		times(3, order{Role: "hear", Feed: feed, Box: boxA, Clumsy: true}))...)
	b.drain(order{Role: "hear", Feed: feed, Box: boxA})
	b.tally().check(b)
	st, err := b.store.FeedState(feed)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(st.Items); i++ {
		if st.Items[i].ID <= st.Items[i-1].ID {
			t.Fatalf("id %s after %s", st.Items[i].ID, st.Items[i-1].ID)
		}
	}
}

// TestClockJumps has senders whose clock cannot be trusted.
func TestClockJumps(t *testing.T) {
	b := newBench(t)
	b.storm(stress(12, 500), slices.Concat(
		times(3, order{Role: "send", Box: boxA, Jump: true}),
		times(2, order{Role: "read", Box: boxA}))...)
	b.drain(order{Role: "read", Box: boxA})
	b.pending(boxA, 0)
	b.tally().check(b)
}

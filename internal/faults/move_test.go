package faults

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"peermux/mailbox"
)

// TestKilledWhileMoving lets a session change its id all the time.
func TestKilledWhileMoving(t *testing.T) {
	b := newBench(t)
	boxes := []string{boxA, boxB, boxC}
	b.storm(stress(25, 2000), slices.Concat(
		times(2, order{Role: "send", Box: boxA}),
		times(1, order{Role: "send", Box: boxB}),
		times(2, order{Role: "follow", Box: boxA}),
		times(1, order{Role: "compact", Boxes: boxes}),
		times(1, order{Role: "move", Box: boxA, Boxes: boxes}))...)
	b.last(boxes)
	// A box that the session never was in is not its own, and nobody reads it. On a
	// slow machine so few moves fit between the kills that there may be one.
	for _, key := range boxes {
		if at := b.store.Resolve(boxA); at != key && b.store.Resolve(key) == key {
			if err := b.store.Move(at, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.drain(order{Role: "follow", Box: boxA})
	for _, key := range boxes {
		b.pending(key, 0)
	}
	b.tally().check(b)
}

// last sends one more message to each box: whatever was left half done there, the
// next user of the box finishes.
func (b *bench) last(boxes []string) {
	b.Helper()
	for _, key := range boxes {
		if _, err := b.store.Append(key, &mailbox.Message{Body: bodyOf("last"+key, 1)}, mailbox.AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestKilledWhileMovesRace moves the same boxes about from several processes, which
// no session does to itself. A receipt then does not find every message that was
// shown, so they may come twice; but none gets lost.
func TestKilledWhileMovesRace(t *testing.T) {
	b := newBench(t)
	boxes := []string{boxA, boxB, boxC}
	var orders []order
	for _, key := range boxes {
		orders = append(orders,
			order{Role: "send", Box: key}, order{Role: "follow", Box: key}, order{Role: "move", Box: key, Boxes: boxes})
	}
	b.storm(stress(25, 2000), append(orders, order{Role: "compact", Boxes: boxes})...)
	b.last(boxes)
	for _, key := range boxes {
		b.drain(order{Role: "follow", Box: key})
	}
	for _, key := range boxes {
		b.pending(key, 0)
	}
	sum := b.tally()
	t.Logf("%d acknowledged, %d shown, %d lost; killed: %v", len(sum.acked), len(sum.out), sum.lost(b), sum.killed)
}

// TestCountedIsShown kills all that use the boxes, and then compares what is counted
// in each with what its reader gets.
func TestCountedIsShown(t *testing.T) {
	b := newBench(t)
	boxes := []string{boxA, boxB, boxC}
	counted := 0
	for range stress(5, 300) {
		all := []*process{
			b.start(order{Role: "send", Box: boxA}),
			b.start(order{Role: "send", Box: boxB}),
			b.start(order{Role: "compact", Boxes: boxes}),
			b.start(order{Role: "move", Box: boxA, Boxes: boxes}),
		}
		for _, i := range rand.Perm(len(all)) {
			time.Sleep(time.Duration(rand.IntN(12_000)) * time.Microsecond)
			all[i].kill()
		}
		for _, i := range rand.Perm(len(boxes)) {
			counted += b.showAll(boxes[i])
		}
	}
	t.Logf("%d messages counted; killed: %v", counted, b.tally().killed)
	if counted == 0 {
		t.Error("nothing happened")
	}
}

// showAll shows all that waits in a box and returns how much that was.
func (b *bench) showAll(key string) int {
	b.Helper()
	n, err := b.store.Pending(key)
	if err != nil {
		b.Fatal(err)
	}
	b.pending(key, n)
	c, err := b.store.Claim(key, mailbox.ClaimOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if len(c.Messages) != n {
		b.Errorf("%s: %d are counted, %d are shown", key, n, len(c.Messages))
	}
	if err := c.Shown(); err != nil {
		b.Fatal(err)
	}
	return n
}

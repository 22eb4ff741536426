package switchboard

import (
	"sync"

	"peermux/mailbox"
)

// counter is where the waits of this process take their answers: those that come
// while one transaction is on share the next, so that fifty answers at once do not
// cost fifty readings of the box under its lock.
type counter struct {
	turn sync.Mutex // held by the one who takes for all

	mu      sync.Mutex
	waiting []*request
}

// request is one answer that is to be taken.
type request struct {
	box    string
	taking *mailbox.Taking
	done   bool // guarded by counter.turn
	err    error
}

// take takes an answer out of a box.
func (b *Board) take(box string, taking *mailbox.Taking) error {
	c := &b.counter
	r := &request{box: box, taking: taking}
	c.mu.Lock()
	c.waiting = append(c.waiting, r)
	c.mu.Unlock()

	c.turn.Lock()
	defer c.turn.Unlock()
	if !r.done {
		c.mu.Lock()
		batch := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		b.takeAll(batch)
	}
	return r.err
}

func (b *Board) takeAll(batch []*request) {
	boxes := map[string][]*mailbox.Taking{}
	for _, r := range batch {
		boxes[r.box] = append(boxes[r.box], r.taking)
	}
	failed := map[string]error{}
	for box, takings := range boxes {
		failed[box] = b.Store.TakeAnswers(box, takings)
	}
	for _, r := range batch {
		r.done, r.err = true, failed[r.box]
	}
}

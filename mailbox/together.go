package mailbox

import (
	"errors"
	"slices"
	"sync"
)

// change is one change of a box.
type change struct {
	update
	// lost: the walk along moves goes in circles. This box counts as the last.
	lost bool
	do   func(*tx) (done bool, err error)

	// What came of it.
	done    bool
	movedTo string
	err     error

	ran  bool
	turn chan struct{} // closed when it ran, or is the one to run all that wait
}

// together makes a change. Changes of a box that this process wants to make while
// another one is under way share the next transaction: one lock, one reading, one
// fsync. Fifty answers that come at once would otherwise each wait for all before.
func (s *Store) together(p place, c *change) {
	c.turn, c.err = make(chan struct{}), errUnfinished
	if !s.enqueue(p, c) {
		<-c.turn
		if c.ran {
			return
		}
	}
	s.mu.Lock()
	batch := s.queues[p.path]
	s.queues[p.path] = []*change{}
	s.mu.Unlock()
	defer wake(batch, c)
	s.run(p, batch)
}

// enqueue lines a change up and reports whether nobody else runs changes now.
func (s *Store) enqueue(p place, c *change) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[string][]*change{}
	}
	queue, busy := s.queues[p.path]
	s.queues[p.path] = append(queue, c)
	return !busy
}

// next hands the box over to those who came meanwhile.
func (s *Store) next(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if queue := s.queues[p.path]; len(queue) > 0 {
		close(queue[0].turn)
	} else {
		delete(s.queues, p.path)
	}
}

func wake(batch []*change, runner *change) {
	for _, c := range batch {
		c.ran = true
		if c != runner {
			close(c.turn)
		}
	}
}

// errUnfinished is what those hear whose transaction ended in a panic.
var errUnfinished = errors.New("mailbox: the change was broken off")

// run makes the changes in one transaction. Each has its own outcome; that the
// transaction as a whole failed is the outcome of all.
func (s *Store) run(p place, batch []*change) {
	// Whatever happens, those who come next are not left waiting.
	next := sync.OnceFunc(func() { s.next(p) })
	defer next()
	t, err := s.beginSettled(p, slices.ContainsFunc(batch, func(c *change) bool { return c.create }))
	if err != nil {
		for _, c := range batch {
			if c.err = err; !c.create {
				c.err = absent(err)
			}
		}
		return
	}
	durable := t.makeAll(batch)
	compacted, err := t.release()
	next() // a fsync needs no lock
	if err == nil && durable && !compacted {
		err = t.sync()
	}
	if err = t.abandon(err); err != nil {
		for _, c := range batch {
			c.err = errors.Join(c.err, err)
		}
	}
}

// makeAll makes the changes one after the other and reports whether one of them
// has to be durable.
func (t *tx) makeAll(batch []*change) (durable bool) {
	hurry := true
	for _, c := range batch {
		t.hurry = false
		movedTo := t.idx.movedTo
		if c.lost {
			t.idx.movedTo = ""
		}
		c.done, c.err = c.do(t)
		if c.lost {
			t.idx.movedTo = movedTo
		} else {
			c.movedTo = t.idx.movedTo
		}
		hurry = hurry && t.hurry
		durable = durable || c.sync && c.done && c.err == nil
	}
	t.hurry = hurry
	return durable
}

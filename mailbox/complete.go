package mailbox

import (
	"errors"
	"fmt"
)

// Completion of a task.
type Completion struct {
	Task string // id of the task
	How  string // done or blocked
	By   Party
	// Result is what the requester is told. Complete sets its id, tag and reply_to,
	// and its kind when that is empty.
	Result *Message
	// To is the requester's box; "" is the one that the task came from.
	To string
}

// Complete closes a task in the box key and delivers the result to the requester,
// both exactly once, whatever dies and whoever races.
//
// It holds the locks of both boxes, in the order of their keys. The result goes
// first, durably, under an id that follows from the task's (CompletionID); the
// closing follows. A crash between the two leaves an open task whose result is
// delivered. Whoever closes it next finds that result, delivers none, and records
// the closing as that result says: for the one who repeats the same call that is
// success, for anybody else it is ErrAlreadyClosed.
func (s *Store) Complete(key string, c Completion) (AppendResult, error) {
	if err := checkHow(c.How); err != nil {
		return AppendResult{}, err
	}
	msg := *c.Result
	msg.ID, msg.Tag, msg.ReplyTo = CompletionID(c.Task), c.How, c.Task
	if msg.Kind == "" {
		msg.Kind = KindResult
	}
	if err := prepare(&msg, s.stamp()); err != nil {
		return AppendResult{}, err
	}
	for range 10 { // each round means that one of the boxes moved meanwhile
		at, task, err := s.settle(key, c.Task)
		if err != nil {
			return AppendResult{}, err
		}
		if c.To == "" {
			c.To = task.From.Box
		}
		to, err := s.box(s.Resolve(c.To))
		if err != nil {
			return AppendResult{}, fmt.Errorf("task %s: its requester has no box: %w", c.Task, err)
		}
		res, again, err := s.completeIn(at, to, msg, c)
		if again {
			continue
		}
		return res, err
	}
	return AppendResult{}, fmt.Errorf("task %s: its boxes keep moving; try again", c.Task)
}

func (s *Store) completeIn(at, to place, msg Message, c Completion) (res AppendResult, again bool, err error) {
	// The result of an earlier try may have been shown before its box moved.
	_, before, err := s.locate(to.key, msg.ID)
	if err != nil && !errors.Is(err, ErrUnknownMessage) {
		return res, false, err
	}
	a, b, err := s.beginPair(at, to)
	if err != nil {
		return res, false, err
	}
	res = AppendResult{ID: msg.ID, Key: to.key}
	if before.ID != "" {
		res.Existing = &before.Message
	}
	again, err = complete(a, b, msg, c, &res)
	err = errors.Join(err, a.end(false))
	if b != a {
		err = errors.Join(err, b.end(false))
	}
	return res, again, err
}

// beginPair locks two boxes, which may be the same one, with no move into either
// left half done.
func (s *Store) beginPair(at, to place) (a, b *tx, err error) {
	for {
		if at.key == to.key {
			a, err = s.beginSettled(at, true)
			return a, a, err
		}
		if a, b, err = s.beginBoth(at, to); err != nil {
			return nil, nil, err
		}
		if len(a.idx.adopts)+len(b.idx.adopts) == 0 {
			return a, b, nil
		}
		if err := errors.Join(a.close(), b.close()); err != nil {
			return nil, nil, err
		}
		for _, p := range []place{at, to} {
			t, err := s.beginSettled(p, true)
			if err != nil {
				return nil, nil, err
			}
			if err := t.close(); err != nil {
				return nil, nil, err
			}
		}
	}
}

func complete(a, b *tx, msg Message, c Completion, res *AppendResult) (again bool, err error) {
	task, err := a.find(c.Task)
	switch {
	case err != nil:
		return false, err
	case task.ID == "" || task.MovedTo != "" || b.idx.movedTo != "":
		return true, nil
	case task.Closed != "":
		return false, alreadyClosed(task)
	}
	if res.Existing == nil {
		if res.Existing, err = b.existing(msg.ID); err != nil {
			return false, err
		}
	}
	closing := note{T: c.How, ID: c.Task, By: c.By.label(), Answer: msg.ID, At: a.s.stamp()}
	mine := true
	if old := res.Existing; old != nil {
		mine = old.Tag == c.How && old.Body == msg.Body && old.From.label() == msg.From.label()
		closing.By = old.From.label()
		if checkHow(old.Tag) == nil {
			closing.T = old.Tag
		}
	} else {
		if _, err := b.message(msg); err != nil {
			return false, err
		}
		if err := b.sync(); err != nil {
			return false, err
		}
	}
	if err := a.writeSync(lines(closing)); err != nil {
		return false, err
	}
	if !mine {
		task.learn(a.p, closing)
		return false, alreadyClosed(task)
	}
	return false, nil
}

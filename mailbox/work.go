package mailbox

import (
	"fmt"
	"slices"
)

// Asked records an own question before it is sent: from then on its replies are
// left to the process that waits for them.
func (s *Store) Asked(key string, a Ask) error {
	if a.At.IsZero() {
		a.At = s.now()
	}
	return s.add(key, note{
		T: recAsked, ID: a.ID, Session: a.ToSession, Box: a.ToBox, Name: oneLine(a.ToName),
		PID: a.PID, Start: a.Start, Until: a.Until.UTC(), At: a.At.UTC(),
	})
}

// AskEnded records how an own question ended: answered, timed_out, cancelled or
// peer_gone. Its replies are ordinary mail from then on.
func (s *Store) AskEnded(key, id, how, replyID string) error {
	n := note{T: recAskEnded, ID: id, How: how, Answer: replyID, At: s.stamp()}
	if how == recAnswered {
		n.T = recAnswered
	}
	return s.update(key, update{}, func(t *tx) (bool, error) {
		return false, t.write(lines(n))
	})
}

// add appends a note to a box, wherever it is now.
func (s *Store) add(key string, n note) error {
	return s.update(key, update{create: true}, func(t *tx) (bool, error) {
		if t.idx.movedTo != "" {
			return false, nil
		}
		return true, t.write(lines(n))
	})
}

// OpenAsks are the own questions that a living process waits for.
func (s *Store) OpenAsks(key string) ([]Ask, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return nil, err
	}
	return s.openAsks(x), nil
}

// Asks lists the questions of a box's owner, those that are over too. It decodes no
// message.
func (s *Store) Asks(key string) ([]Ask, error) {
	st, err := s.Naming(key, string(recordStart)+"a") // asked, ask_ended, answered
	if err != nil {
		return nil, err
	}
	return st.Asks, nil
}

func (s *Store) openAsks(x *index) (open []Ask) {
	for _, r := range x.asks {
		if n, ok := parseNote(r.line); ok && s.waits(n) {
			open = append(open, askOf(n))
		}
	}
	return open
}

// Sent records where an own message went. It is for message_status, for the rate
// guard, and for who may retract; it is not fsynced.
func (s *Store) Sent(key string, r SentRecord) error {
	if r.At.IsZero() {
		r.At = s.stamp()
	}
	return s.add(key, note{
		T: recSent, ID: r.ID, Kind: r.Kind, Box: r.ToKey, Name: oneLine(r.ToName), Session: r.ToSession, At: r.At.UTC(),
	})
}

// SentBy lists where the owner of a box sent what, also under its former ids,
// oldest first.
func (s *Store) SentBy(key string) ([]SentRecord, error) {
	var sent []SentRecord
	read := func(p place) (*State, error) { return s.naming(p, `"`+recSent+`"`) }
	err := s.family(key, read, func(_ place, st *State) ([]string, bool) {
		sent = append(sent, st.Sent...)
		return nil, true
	})
	slices.SortStableFunc(sent, func(a, b SentRecord) int { return a.At.Compare(b.At) })
	return sent, err
}

// Answered records, in the box of the one who answers, that a message of its was
// replied to. Mail of a repository is closed by that, for all its readers.
func (s *Store) Answered(key, id, replyID string) error {
	return s.receipt(key, false, note{T: recAnswered, ID: id, Answer: replyID})
}

// Close closes a task, or mail of a repository: how is done or blocked. Of several
// who close it, one succeeds; the others get ErrAlreadyClosed. Complete closes and
// tells the requester.
func (s *Store) Close(key, id, how string, by Party, answerID string) error {
	if err := checkHow(how); err != nil {
		return err
	}
	return s.receipt(key, true, note{T: how, ID: id, By: by.label(), Answer: answerID})
}

// Withdraw takes back a message that its reader has not been shown. It reports
// whether that was still possible.
func (s *Store) Withdraw(key, id string) (inTime bool, err error) {
	err = s.onMessage(key, id, func(t *tx, it Item) error {
		if inTime = it.waits(t.p.repo) && len(it.Shown) == 0 && !it.Claimed; !inTime {
			return nil
		}
		return t.write(lines(note{T: recRetracted, ID: id, At: s.stamp()}))
	})
	return inTime, err
}

func checkHow(how string) error {
	if how != recDone && how != recBlocked {
		return fmt.Errorf("closing as %q: must be done or blocked", how)
	}
	return nil
}

// label names a party in a record.
func (p Party) label() string {
	if p.SessionID != "" {
		return p.SessionID
	}
	return oneLine(p.Name)
}

// receipt appends a note about a message where that message is. With once it
// fails when the message is closed already.
func (s *Store) receipt(key string, once bool, n note) error {
	return s.onMessage(key, n.ID, func(t *tx, it Item) error {
		if once && it.Closed != "" {
			return alreadyClosed(it)
		}
		n.At = s.stamp()
		if once {
			return t.writeSync(lines(n))
		}
		return t.write(lines(n))
	})
}

func alreadyClosed(it Item) error {
	return fmt.Errorf("message %s: %w (%s by %s)", it.ID, ErrAlreadyClosed, it.Closed, it.ClosedBy)
}

// onMessage runs change under the lock of the box that a message of key's family
// is in.
func (s *Store) onMessage(key, id string, change func(*tx, Item) error) error {
	for {
		p, _, err := s.settle(key, id)
		if err != nil {
			return err
		}
		t, err := s.beginSettled(p, false)
		if err != nil {
			return err
		}
		it, err := t.find(id)
		if err != nil {
			return t.abandon(err)
		}
		if it.ID == "" {
			return t.abandon(fmt.Errorf("message %s: %w", id, ErrUnknownMessage))
		}
		if it.MovedTo != "" {
			if err := t.close(); err != nil {
				return err
			}
			continue // it went along just now
		}
		if err := change(t, it); err != nil {
			return t.abandon(err)
		}
		return t.end(false)
	}
}

// settle is locate for those who are about to say something of the message: it
// finishes the move that the message is on, if that broke off. A message that has
// arrived and is not there any more is settled and forgotten: ErrUnknownMessage.
func (s *Store) settle(key, id string) (place, Item, error) {
	var was place
	var before Item
	for {
		p, it, err := s.locate(key, id)
		if err != nil || it.MovedTo == "" {
			return p, it, err
		}
		if p == was && it.moveID == before.moveID {
			return p, it, fmt.Errorf("message %s: %w", id, ErrUnknownMessage)
		}
		was, before = p, it
		if err := s.arrive(p); err != nil {
			return p, it, err
		}
	}
}

// find is the message with this id; its ID is "" when there is none.
func (t *tx) find(id string) (Item, error) {
	if !t.wrote {
		if it, ok := t.s.replay(t.p, naming(t.snap, id)).Item(id); ok {
			return it, nil // see told
		}
	}
	v, err := t.whole()
	if err != nil {
		return Item{}, err
	}
	it, _ := t.s.replay(t.p, naming(v, id)).Item(id)
	return it, nil
}

// OpenWork lists what the owner of a box still owes: tasks that are not closed,
// questions that are not answered, and for a repository all its open mail.
func (s *Store) OpenWork(key string) ([]Item, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return nil, err
	}
	return s.openWork(p, x), nil
}

func (s *Store) openWork(p place, x *index) (open []Item) {
	x.each(func(e *entry) {
		if !e.shown && !p.repo && !owed(e.record, recShown) {
			return
		}
		if it, ok := s.item(p, x, e, ""); ok && it.Open(p.repo) {
			open = append(open, it)
		}
	})
	return open
}

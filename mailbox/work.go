package mailbox

import (
	"fmt"
)

// Asked records an own question before it is sent: from then on its replies are
// left to the process that waits for them.
func (s *Store) Asked(key string, a Ask) error {
	n := note{
		T: recAsked, ID: a.ID, Session: a.ToSession, Box: a.ToBox, Name: oneLine(a.ToName),
		PID: a.PID, Start: a.Start, Until: a.Until.UTC(), At: a.At,
	}
	if n.At.IsZero() {
		n.At = s.stamp()
	}
	if a.Until.IsZero() {
		n.Until = a.Until
	}
	return s.add(key, n)
}

// AskEnded records how an own question ended: answered, timed_out, cancelled or
// peer_gone. Its replies are ordinary mail from then on.
func (s *Store) AskEnded(key, id, how, replyID string) error {
	n := note{T: recAskEnded, ID: id, How: how, Answer: replyID, At: s.stamp()}
	if how == recAnswered {
		n.T = recAnswered
	}
	return s.update(key, update{}, func(t *tx) (bool, error) {
		return t.idx.movedTo == "", t.write(lines(n))
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
	if err != nil || x == nil {
		return nil, err
	}
	var open []Ask
	for _, e := range x.asks {
		if n, ok := parseNote(e.line); ok && !e.gone && s.waits(n) {
			open = append(open, askOf(n))
		}
	}
	return open, nil
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

// SentBy lists where a box's owner sent what, oldest first.
func (s *Store) SentBy(key string) ([]SentRecord, error) {
	var sent []SentRecord
	err := s.along(key, func(_ place, st *State) bool {
		sent = append(sent, st.Sent...)
		return true
	})
	return sent, err
}

// Answered records, in the box of the one who answers, that a message of its was
// replied to. Mail of a repository is closed by that, for all its readers.
func (s *Store) Answered(key, id, replyID string) error {
	return s.receipt(key, false, note{T: recAnswered, ID: id, Answer: replyID, At: s.stamp()})
}

// Close closes a task, or mail of a repository: how is done or blocked. Of several
// who close it, one succeeds; the others get ErrAlreadyClosed.
func (s *Store) Close(key, id, how string, by Party, answerID string) error {
	if how != recDone && how != recBlocked {
		return fmt.Errorf("closing as %q: must be done or blocked", how)
	}
	return s.receipt(key, true, note{T: how, ID: id, By: by.label(), Answer: answerID, At: s.stamp()})
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
	known := false
	err := s.update(key, update{sync: once}, func(t *tx) (bool, error) {
		data, err := t.whole()
		if err != nil {
			return false, err
		}
		it, ok := t.s.replay(t.p, data).Item(n.ID)
		if !ok {
			return false, nil
		}
		known = true
		if once && it.Closed != "" {
			return false, fmt.Errorf("message %s: %w (%s by %s)", n.ID, ErrAlreadyClosed, it.Closed, it.ClosedBy)
		}
		return t.idx.movedTo == "", t.write(lines(n))
	})
	if err == nil && !known {
		err = fmt.Errorf("message %s: %w", n.ID, ErrUnknownMessage)
	}
	return err
}

// Open reports whether something is still owed for the message: a task or a
// question without an answer, and in a repository's box any mail.
func (it *Item) Open(repo bool) bool {
	if it.Closed != "" {
		return false
	}
	switch {
	case repo:
		return it.Answered == ""
	case it.Kind == KindTask:
		return true
	case it.Kind == KindAsk:
		return it.Answered == ""
	}
	return false
}

// OpenWork lists what the owner of a box still owes: tasks that are not closed,
// questions that are not answered, and for a repository all its open mail.
func (s *Store) OpenWork(key string) ([]Item, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	st, err := s.state(p)
	if err != nil || st.MovedTo != "" {
		return nil, err
	}
	var open []Item
	for _, it := range st.Items {
		if it.Open(p.repo) {
			open = append(open, it)
		}
	}
	return open, nil
}

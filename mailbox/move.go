package mailbox

import (
	"bytes"
	"errors"
	"fmt"
)

// Move continues the box from as the box to: a session that goes on under a new
// id. What waits in from, open tasks, open questions and feed cursors go along,
// and later mail to from goes to to. Moving back brings from to life again.
//
// It takes both locks, in the order of the keys, and proceeds in three durable
// steps: to says that it adopts from; from says that it has moved; to takes the
// mail, each message once, and says that it is done. From the second step on
// nothing waits in from any more, and whoever reads to finishes a move that it
// finds begun, so a crash between any two steps loses nothing and shows nothing
// twice. Running it again is harmless.
func (s *Store) Move(from, to string) error {
	if from == to {
		return fmt.Errorf("mailbox: cannot move %s into itself", from)
	}
	src, err := s.box(from)
	if err != nil {
		return err
	}
	dst, err := s.box(to)
	if err != nil {
		return err
	}
	a, b, err := s.beginBoth(src, dst)
	if err != nil {
		return err
	}
	err = move(a, b)
	return errors.Join(err, a.end(false), b.end(false))
}

// beginBoth locks two boxes in the order of their keys, so that two moves in
// opposite directions never wait for each other.
func (s *Store) beginBoth(src, dst place) (a, b *tx, err error) {
	if dst.key < src.key {
		b, a, err = s.beginBoth(dst, src)
		return a, b, err
	}
	if a, err = s.begin(src, true); err != nil {
		return nil, nil, err
	}
	if b, err = s.begin(dst, true); err != nil {
		return nil, nil, a.abandon(err)
	}
	return a, b, nil
}

func move(src, dst *tx) error {
	if !contains(dst.idx.adopts, src.p.key) {
		if src.idx.movedTo == dst.p.key && src.idx.count() == 0 {
			return nil // done before
		}
		if err := dst.writeSync(src.pointer(recAdopt, src.p.key)); err != nil {
			return err
		}
	}
	if src.idx.movedTo != dst.p.key {
		if err := src.writeSync(src.pointer(recMoved, dst.p.key)); err != nil {
			return err
		}
	}
	cargo, err := src.cargo(dst)
	if err != nil {
		return err
	}
	return dst.writeSync(append(cargo, src.pointer(recAdopted, src.p.key)...))
}

func (t *tx) pointer(kind, box string) []byte {
	return lines(note{T: kind, ID: NewID(t.s.now()), Box: box, At: t.s.stamp()})
}

func (t *tx) writeSync(lines []byte) error {
	if err := t.write(lines); err != nil {
		return err
	}
	if err := t.f.Sync(); err != nil {
		return fmt.Errorf("mailbox: not known to be on disk: %w", err)
	}
	return nil
}

// cargo is what goes along to dst: the lines of every message that waits or is
// open, of open questions, and of feed cursors, without what dst has already.
func (t *tx) cargo(dst *tx) ([]byte, error) {
	data, err := t.whole()
	if err != nil {
		return nil, err
	}
	there, err := dst.whole()
	if err != nil {
		return nil, err
	}
	known := t.s.replay(dst.p, there)
	st := t.s.replay(t.p, data)
	goes := map[string]bool{}
	for _, it := range st.Items {
		if _, twice := known.items[it.ID]; !twice && (it.waits(t.p.repo) || it.Open(t.p.repo)) {
			goes[it.ID] = true
		}
	}
	for _, a := range st.Asks {
		if _, twice := known.asks[a.ID]; !twice && a.Ended == "" {
			goes[a.ID] = true
		}
	}
	var out bytes.Buffer
	var bad int
	taken := map[string]bool{}
	eachLine(data, func(line []byte) {
		eachRecord(line, func(kind, id, line []byte) {
			switch string(kind) {
			case recMsg, recAsked:
				if taken[string(id)] {
					return // a second copy
				}
				taken[string(id)] = goes[string(id)]
				if !goes[string(id)] {
					return
				}
			case recShown, recClaim, recUnclaim, recAnswered:
				if !goes[string(id)] {
					return
				}
			case recCursor, recFeedClaim, recFeedUnclaim:
			default:
				return
			}
			out.Write(line)
			out.WriteByte('\n')
		}, &bad)
	})
	return out.Bytes(), nil
}

// waits reports whether a message is still to be shown: in a repository's box
// until it is closed, elsewhere until it was shown once.
func (it *Item) waits(repo bool) bool {
	if it.Closed != "" || it.Answered != "" {
		return false
	}
	return repo || len(it.Shown) == 0
}

// beginSettled locks a box that exists, after finishing the moves into it that a
// crash left half done.
func (s *Store) beginSettled(p place) (*tx, error) {
	for {
		t, err := s.begin(p, false)
		if err != nil || len(t.idx.adopts) == 0 {
			return t, err
		}
		from := t.idx.adopts[0]
		if err := t.close(); err != nil {
			return nil, err
		}
		if err := s.Move(from, p.key); err != nil {
			return nil, err
		}
	}
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}

package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Move continues the box from as the box to: a session that goes on under a new
// id. What waits in from, open tasks, open questions and feed cursors go along,
// and later mail to from goes to to. Moving back brings from to life again.
//
// It takes both locks, in the order of the keys, and proceeds in three durable
// steps: to says that it adopts from; from says that it has moved; to takes the
// mail, each message once, and says that it is done. From the second step on
// nothing waits in from any more, and whoever uses to finishes a move that it
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
	return s.move(src, dst, takeOver, nil)
}

// why a move is made.
type why int

const (
	takeOver why = iota // to goes on for from
	finish              // to has begun to, and somebody else left it there
)

// move is Move, and its end when that broke off. Moves that broke off and touch
// either box are finished before; path are the boxes for which that is going on.
func (s *Store) move(src, dst place, why why, path []string) error {
	for {
		a, b, err := s.beginBoth(src, dst)
		if err != nil {
			return err
		}
		before, err := unfinished(a, b, why, path)
		if err == nil && len(before) == 0 {
			err = moveBoth(a, b, why)
			return errors.Join(err, a.end(false), b.end(false))
		}
		if err := errors.Join(err, a.close(), b.close()); err != nil {
			return err
		}
		if err := s.finish(before[0], append(path, src.key, dst.key)); err != nil {
			return err
		}
	}
}

// broken is a move that broke off.
type broken struct{ from, into string }

// unfinished lists the broken moves that come before the one from src to dst.
func unfinished(src, dst *tx, why why, path []string) (all []broken, err error) {
	for _, t := range []*tx{src, dst} {
		for _, from := range t.idx.adopts {
			all = append(all, broken{from, t.p.key})
		}
		if why != takeOver {
			continue
		}
		// Where it goes on so far is about to be overwritten: what has to arrive
		// there, has to arrive before.
		leaving, err := t.leaving()
		if err != nil {
			return nil, err
		}
		if leaving {
			all = append(all, broken{t.p.key, t.idx.movedTo})
		}
	}
	return slices.DeleteFunc(all, func(b broken) bool {
		return slices.Contains(path, b.from) || b == broken{src.p.key, dst.p.key} || b == broken{dst.p.key, src.p.key}
	}), nil
}

// leaving reports whether what went along from a box to where it goes on has not
// arrived yet. Until it has, all of it is needed here.
func (t *tx) leaving() (bool, error) {
	if t.idx.movedTo == "" {
		return false, nil
	}
	p, err := t.s.box(t.idx.movedTo)
	if err != nil {
		return false, err
	}
	x, err := t.s.scanMoves(p)
	if err != nil {
		return false, err
	}
	return slices.Contains(x.adopts, t.p.key), nil
}

// finish ends a broken move.
func (s *Store) finish(b broken, path []string) error {
	src, err := s.box(b.from)
	if err != nil {
		return err
	}
	dst, err := s.box(b.into)
	if err != nil {
		return err
	}
	return s.move(src, dst, finish, path)
}

// arrive finishes the move out of a box, if that broke off.
func (s *Store) arrive(p place) error {
	t, err := s.beginArrived(p)
	if err != nil {
		return absent(err)
	}
	return t.close()
}

// beginArrived locks a box after finishing the move out of it that broke off.
func (s *Store) beginArrived(p place) (*tx, error) {
	for {
		t, err := s.begin(p, false)
		if err != nil {
			return nil, err
		}
		leaving, err := t.leaving()
		if err != nil {
			return nil, t.abandon(err)
		}
		if !leaving {
			return t, nil
		}
		to := t.idx.movedTo
		if err := t.close(); err != nil {
			return nil, err
		}
		if err := s.finish(broken{p.key, to}, nil); err != nil {
			return nil, err
		}
	}
}

// beginBoth locks two boxes in the order of their keys, so that two processes
// that want the same two never wait for each other.
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

func moveBoth(src, dst *tx, why why) error {
	if why == takeOver && slices.Contains(src.idx.adopts, dst.p.key) {
		// The opposite move broke off. What it has taken out of dst belongs to src.
		if err := moveBoth(dst, src, finish); err != nil {
			return err
		}
	}
	begun := slices.Contains(dst.idx.adopts, src.p.key)
	switch {
	case why == finish && !begun:
		return nil // somebody was faster
	case why == finish && src.idx.movedTo != "" && src.idx.movedTo != dst.p.key:
		// It went elsewhere before anything was taken out.
		return dst.writeSync(src.pointer(recAdopted, src.p.key))
	case !begun && src.idx.movedTo == dst.p.key && src.idx.waiting == 0:
		return nil // done before
	}
	if !begun {
		if err := dst.writeSync(src.pointer(recAdopt, src.p.key)); err != nil {
			return err
		}
	}
	// Mail in a box that has moved was put there by hand, not by Append.
	if src.idx.movedTo != dst.p.key || src.idx.waiting > 0 {
		if err := src.writeSync(src.pointer(recMoved, dst.p.key)); err != nil {
			return err
		}
	}
	cargo, err := cargo(src, dst, begun)
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
	return t.sync()
}

// cargo is the lines that go along from src, which has just said that it moved.
// When the move was begun before, a message may have arrived without all of what
// is said about it.
func cargo(src, dst *tx, begun bool) ([]byte, error) {
	here, err := src.whole()
	if err != nil {
		return nil, err
	}
	there, err := dst.whole()
	if err != nil {
		return nil, err
	}
	was, is := src.s.replay(src.p, here), dst.s.replay(dst.p, there)
	goes := was.cargo(is)
	went := goes
	if begun {
		went = was.cargo(&State{})
	}
	var out bytes.Buffer
	n := 0
	eachRecord(here.data, func(r record) {
		n++
		id := string(r.id)
		switch it, ok := was.Item(id); r.t {
		case recMsg:
			if !goes[id] || n != it.at {
				return
			}
		case recAsked:
			if i, ok := was.asks[id]; !ok || !goes[id] || n != was.Asks[i].at {
				return
			}
		case recShown, recUnshown, recClaim, recUnclaim, recAnswered:
			if !went[id] || ok && n < it.at {
				return // or said of another copy, before a round trip
			}
		default:
			return
		}
		out.Write(r.line)
		out.WriteByte('\n')
	})
	for feed, id := range was.Cursors {
		if id > is.Cursors[feed] {
			encode(&out, note{T: recCursor, ID: id, Feed: feed, At: src.s.stamp()})
		}
	}
	return out.Bytes(), nil
}

// cargo names the messages and questions that the box's latest move takes along
// and that are not there yet.
func (st *State) cargo(there *State) map[string]bool {
	goes := map[string]bool{}
	for _, it := range st.Items {
		had, twice := there.Item(it.ID)
		again := it.unshown() && len(had.Shown) > 0 // it was shown there in an earlier round
		if it.MovedTo == st.MovedTo && it.moveID == st.moveID && st.MovedTo != "" && (!twice || had.MovedTo != "" || again) {
			goes[it.ID] = true
		}
	}
	for _, a := range st.Asks {
		i, twice := there.asks[a.ID]
		if a.Ended == recMoved && (!twice || there.Asks[i].Ended == recMoved) {
			goes[a.ID] = true
		}
	}
	return goes
}

// beginSettled locks a box after finishing the moves into it that broke off.
func (s *Store) beginSettled(p place, create bool) (*tx, error) {
	for {
		t, err := s.begin(p, create)
		if err != nil || len(t.idx.adopts) == 0 {
			return t, err
		}
		before := broken{t.idx.adopts[0], p.key}
		if err := t.close(); err != nil {
			return nil, err
		}
		if err := s.finish(before, nil); err != nil {
			return nil, err
		}
	}
}

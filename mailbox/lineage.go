package mailbox

import (
	"fmt"
	"slices"
)

// Find looks a message up in a box, in the boxes that it goes on as, and in those
// that went on as it: a session's mail, whatever its id was when the mail came.
// The error is ErrUnknownMessage when there is none, or none any more.
func (s *Store) Find(key, id string) (Item, error) {
	_, it, err := s.locate(key, id)
	return it, err
}

// locate is Find that tells the box as well.
func (s *Store) locate(key, id string) (place, Item, error) {
	var at place
	var found Item
	told := func(p place) (*State, error) { return s.told(p, id) }
	err := s.family(key, told, func(p place, st *State) (next []string, more bool) {
		it, ok := st.Item(id)
		if !ok {
			return nil, true
		}
		at, found = p, it
		if it.MovedTo == "" {
			return nil, false
		}
		return []string{it.MovedTo}, true // where its story goes on, if it got there
	})
	if err == nil && found.ID == "" {
		err = fmt.Errorf("message %s: %w", id, ErrUnknownMessage)
	}
	if err != nil {
		return at, found, err
	}
	return s.pursue(at, found)
}

// pursue goes after a message that went along from the box at. Where it is not, it is
// on its way, or has arrived and been forgotten since.
func (s *Store) pursue(at place, it Item) (place, Item, error) {
	for range maxRing {
		if it.MovedTo == "" {
			break
		}
		p, err := s.box(it.MovedTo)
		if err != nil {
			return at, it, err
		}
		st, err := s.told(p, it.ID)
		if err != nil {
			return at, it, err
		}
		there, ok := st.Item(it.ID)
		if !ok {
			it.Forgotten = !slices.Contains(st.adopts, at.key)
			break
		}
		at, it = p, there
	}
	return at, it, nil
}

// family visits a box and its relatives by moves, each once, with what read says of
// them: first those that a visit names, then where the box goes on, then where it
// came from.
func (s *Store) family(key string, read func(place) (*State, error), visit func(place, *State) (next []string, more bool)) error {
	seen := map[string]bool{}
	for queue := []string{key}; len(queue) > 0; {
		key, queue = queue[0], queue[1:]
		if seen[key] {
			continue
		}
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return err
		}
		st, err := read(p)
		if err != nil {
			return err
		}
		next, more := visit(p, st)
		if !more {
			return nil
		}
		if st.MovedTo != "" {
			next = append(next, st.MovedTo)
		}
		queue = append(append(next, queue...), st.From...)
	}
	return nil
}

// Lineage lists a box and the boxes that went on as it, nearest first. What had
// been settled before a move stays where it was, so whoever looks for old mail
// looks through all of them.
func (s *Store) Lineage(key string) ([]string, error) {
	lineage := []string{key}
	for i := 0; i < len(lineage); i++ {
		p, err := s.box(lineage[i])
		if err != nil {
			return nil, err
		}
		x, err := s.scanMoves(p)
		if err != nil {
			return nil, err
		}
		for _, from := range slices.Backward(x.from) {
			if !slices.Contains(lineage, from) {
				lineage = append(lineage, from)
			}
		}
	}
	return lineage, nil
}

// Resolve is the box that mail for key reaches now.
func (s *Store) Resolve(key string) string {
	for seen := map[string]bool{}; ; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return key
		}
		x, err := s.scanMoves(p)
		if err != nil || x.movedTo == "" || seen[x.movedTo] {
			return key
		}
		key = x.movedTo
	}
}

// Revive says that a box which had moved lives again by itself: a session that was
// left with /clear and is resumed elsewhere. Later mail stays here; what went
// along stays where it went. On a box that has not moved it does nothing.
func (s *Store) Revive(key string) error {
	p, err := s.box(key)
	if err != nil {
		return err
	}
	t, err := s.beginArrived(p)
	if err != nil {
		return absent(err)
	}
	if t.idx.movedTo == "" {
		return t.abandon(nil)
	}
	if err := t.write(t.pointer(recMoved, "")); err != nil {
		return t.abandon(err)
	}
	return t.end(true)
}

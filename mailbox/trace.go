package mailbox

import (
	"bytes"
	"errors"
	"fmt"
)

// Where names a box that has the message id, whosever it is. It reads every box, but
// of what stands there only that which names the id. The error wraps
// ErrUnknownMessage when no box has it; a box that cannot be read hides no other.
func (s *Store) Where(id string) (key string, err error) {
	places, err := s.places()
	errs := []error{err}
	for _, p := range places {
		v, err := s.peek(p, true)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !bytes.Contains(v.data, []byte(id)) {
			continue
		}
		if _, ok := s.replay(p, naming(v, id)).Item(id); ok {
			return p.key, nil
		}
	}
	return "", errors.Join(append(errs, fmt.Errorf("message %s: %w", id, ErrUnknownMessage))...)
}

// Trace is what a box says about one message, like Find, but in the boxes alone that
// it went along to: a waiter looks at every change of a box that may be long. The
// error is ErrUnknownMessage when the message is not there.
func (s *Store) Trace(key, id string) (Item, error) {
	var at place
	var found Item
	for seen := map[string]bool{}; key != "" && !seen[key]; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return Item{}, err
		}
		st, err := s.told(p, id)
		if err != nil {
			return Item{}, err
		}
		if it, ok := st.Item(id); ok {
			at, found = p, it
		}
		key = st.MovedTo
	}
	if found.ID == "" {
		return Item{}, ErrUnknownMessage
	}
	_, found, err := s.pursue(at, found)
	return found, err
}

// told is what a box says about one message and about its moves. Compaction leaves
// the records of moves in the hot part, and there all of them about a message that is
// there, so the settled part is read only for one that is not.
func (s *Store) told(p place, id string) (*State, error) {
	v, err := s.peek(p, false)
	if err != nil {
		return nil, err
	}
	st := s.replay(p, naming(v, id))
	if _, ok := st.Item(id); ok || v.base == 0 {
		return st, nil
	}
	return s.naming(p, id)
}

// Naming is State from the lines alone that name word, the id of a message or of a
// session, and those about moves: the others are not decoded.
func (s *Store) Naming(key, word string) (*State, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	return s.naming(p, word)
}

func (s *Store) naming(p place, word string) (*State, error) {
	v, err := s.peek(p, true)
	if err != nil {
		return nil, err
	}
	return s.replay(p, naming(v, word)), nil
}

// naming leaves of a snapshot the lines that name word, and those about moves.
func naming(v *snapshot, word string) *snapshot {
	out := &snapshot{data: keepLines(nil, v.coldData(), word)}
	out.hot = int64(len(out.data))
	out.data = keepLines(out.data, v.hotData(), word)
	return out
}

func keepLines(kept, data []byte, word string) []byte {
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte(word)) || bytes.Contains(line, movedWord) || bytes.Contains(line, adoptWord) {
			kept = append(kept, line...)
		}
	}
	return kept
}

var (
	movedWord = []byte(`"` + recMoved + `"`)
	adoptWord = []byte(`"` + recAdopt) // and recAdopted
)

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
		if _, ok := s.replay(p, about(v, id)).Item(id); ok {
			return p.key, nil
		}
	}
	return "", errors.Join(append(errs, fmt.Errorf("message %s: %w", id, ErrUnknownMessage))...)
}

// Trace is what a box says about one message, like Find, without reading the
// messages beside it: a waiter looks at every change of a box that may be long.
// It follows moves. The error is ErrUnknownMessage when the message is not there.
func (s *Store) Trace(key, id string) (Item, error) {
	var found Item
	for seen := map[string]bool{}; key != "" && !seen[key]; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return Item{}, err
		}
		v, err := s.peek(p, true)
		if err != nil {
			return Item{}, err
		}
		st := s.replay(p, about(v, id))
		if it, ok := st.Item(id); ok {
			found = it
		}
		key = st.MovedTo
	}
	if found.ID == "" {
		return Item{}, ErrUnknownMessage
	}
	return found, nil
}

// about leaves of a whole journal the lines that name id, and those about moves.
func about(v *snapshot, id string) *snapshot {
	var out snapshot
	at := int64(0)
	for line := range bytes.Lines(v.data) {
		if at == v.hot {
			out.hot = int64(len(out.data))
		}
		at += int64(len(line))
		if bytes.Contains(line, []byte(id)) || bytes.Contains(line, []byte(`"`+recMoved+`"`)) || bytes.Contains(line, []byte(`"`+recAdopt+`"`)) {
			out.data = append(out.data, line...)
		}
	}
	return &out
}

package mailbox

import "bytes"

// Remind records that messages which were shown before are named once more, as
// s says, and returns those of ids for which that is new: of several callers
// each message goes to one. It is recorded before the text goes out, so a
// reminder may get lost but never comes twice.
func (s *Store) Remind(key string, as Shown, ids []string) (fresh []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if as.At.IsZero() {
		as.At = s.stamp()
	}
	err = s.update(key, update{}, func(t *tx) (bool, error) {
		v, err := t.whole()
		if err != nil || t.idx.movedTo != "" {
			return false, err
		}
		st := s.replay(t.p, v)
		fresh = fresh[:0]
		var buf bytes.Buffer
		for _, id := range ids {
			if it, ok := st.Item(id); ok && !it.shownVia(as.Via) {
				fresh = append(fresh, id)
				encode(&buf, note{T: recShown, ID: id, By: as.By, Via: as.Via, At: as.At})
			}
		}
		return true, t.write(buf.Bytes())
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

func (it *Item) shownVia(via string) bool {
	for _, s := range it.Shown {
		if s.Via == via {
			return true
		}
	}
	return false
}

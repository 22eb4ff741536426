package mailbox

import (
	"bytes"
	"slices"
)

// Remind records that messages which were shown before are named once more, as
// the record says, and returns those of ids for which that is new: of several
// callers each message goes to one, and no message is named twice this way. It is
// recorded before the text goes out, so a reminder may get lost but never comes
// twice.
func (s *Store) Remind(key string, as Shown, ids []string) (fresh []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if as.At.IsZero() {
		as.At = s.stamp()
	}
	named := func(shown Shown) bool { return shown.Via == as.Via }
	err = s.update(key, update{}, func(t *tx) (bool, error) {
		data, err := t.whole()
		if err != nil || t.idx.movedTo != "" {
			return false, err
		}
		st := s.replay(t.p, data)
		fresh = fresh[:0]
		var buf bytes.Buffer
		for _, id := range ids {
			if it, ok := st.Item(id); ok && it.MovedTo == "" && !slices.ContainsFunc(it.Shown, named) {
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

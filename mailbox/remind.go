package mailbox

import "bytes"

// Remind records that messages which were shown before are named once more, as
// the record says, and returns those of ids for which that is new: of several
// callers each message goes to one, and no message is named twice this way. It is
// recorded before the text goes out, so a reminder may get lost but never comes
// twice.
func (s *Store) Remind(key string, as Shown, ids []string) (fresh []string, err error) {
	return s.showAgain(key, as, ids, func(it Item) bool {
		for _, shown := range it.Shown {
			if shown.Via == as.Via {
				return false
			}
		}
		return true
	})
}

// ShowAgain is Remind for messages whose last showing came to nothing: those for
// which it is not the last record already. In a box that has moved it records what
// is told of messages that stayed there.
func (s *Store) ShowAgain(key string, as Shown, ids []string) (fresh []string, err error) {
	return s.showAgain(key, as, ids, func(it Item) bool {
		n := len(it.Shown)
		return n == 0 || it.Shown[n-1].Via != as.Via
	})
}

func (s *Store) showAgain(key string, as Shown, ids []string, wanted func(Item) bool) (fresh []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if as.At.IsZero() {
		as.At = s.stamp()
	}
	err = s.update(key, update{}, func(t *tx) (bool, error) {
		data, err := t.whole()
		if err != nil {
			return false, err
		}
		st := s.replay(t.p, data)
		fresh = fresh[:0]
		var buf bytes.Buffer
		for _, id := range ids {
			if it, ok := st.Item(id); ok && it.MovedTo == "" && wanted(it) {
				fresh = append(fresh, id)
				encode(&buf, note{T: recShown, ID: id, By: as.By, Via: as.Via, At: as.At})
			}
		}
		return t.idx.movedTo == "" || len(fresh) > 0, t.write(buf.Bytes())
	})
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

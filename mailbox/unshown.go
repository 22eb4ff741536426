package mailbox

import (
	"bytes"
	"slices"
)

// Unshown records that these messages, as they were looked up, did not reach their
// reader although they were shown: its client forgot them. They wait again, as after
// a reader's death. One that was shown, answered or closed since then is left alone,
// so of several callers the first does it.
//
// A box that has moved gets them where it went. What is not there, or is settled
// there, is put there anew: a broadcast, above all, since a reader's place in a feed
// cannot go back. In a repository's box they wait again for this reader alone.
func (s *Store) Unshown(key, reader string, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	return s.update(key, update{create: true, sync: true}, func(t *tx) (done bool, err error) {
		if t.idx.movedTo != "" {
			return false, nil
		}
		v, err := t.whole()
		if err != nil {
			return false, err
		}
		st := t.s.replay(t.p, v)
		var buf bytes.Buffer
		for _, was := range items {
			is, here := st.Item(was.ID)
			if _, is, err = s.pursue(t.p, is); err != nil {
				return false, err
			}
			if here && (is.MovedTo != "" || is.Answered != "" || is.Closed != "" || !stands(lastShown(is, t.p, reader), lastShown(was, t.p, reader))) {
				continue
			}
			n := note{T: recUnshown, ID: was.ID, At: t.s.stamp()}
			if t.p.repo {
				n.By = reader
			}
			if t.idx.find(was.ID) < 0 {
				encode(&buf, messageRecord{T: recMsg, Message: was.Message})
			}
			encode(&buf, n)
		}
		return true, t.write(buf.Bytes())
	})
}

// stands reports whether a showing is still the last one, in a box that may know of an
// earlier one only, from before the message went along.
func stands(is, was Shown) bool { return is == was || !is.At.IsZero() && is.At.Before(was.At) }

// lastShown is how a message was shown last, in a repository's box to this reader.
func lastShown(it Item, p place, reader string) (last Shown) {
	for _, s := range it.Shown {
		if !p.repo || s.By == reader {
			last = s
			last.At = s.At.UTC().Round(0) // to be compared
		}
	}
	return last
}

// unshow takes back all that was said of a message: it waits as if it had just come,
// before what is younger, even where it was put there anew. In a repository's box it
// has waited all the time.
func (x *index) unshow(r record) {
	if x.repo {
		x.about(r)
		return
	}
	i := x.find(string(r.id))
	if i < 0 {
		return
	}
	e := x.entries[i]
	if e.shown {
		x.waiting++
		x.bytes += len(e.line)
	}
	x.notes = append(x.notes, aside{line: r.line})
	e.last, e.shown, e.gone = len(x.notes), false, false
	at := slices.IndexFunc(x.entries[:i+1], func(other entry) bool { return bytes.Compare(other.id, e.id) >= 0 })
	x.entries = slices.Insert(slices.Delete(x.entries, i, i+1), at, e)
	x.head = min(x.head, at)
}

// find is the place of a message among the entries; -1 when it is not there.
func (x *index) find(id string) int {
	for i := len(x.entries) - 1; i >= 0; i-- {
		if e := &x.entries[i]; !e.away && string(e.id) == id {
			return i
		}
	}
	return -1
}

// unshow is what the index makes of that record, for one item.
func (it *Item) unshow(p place, n note) {
	switch {
	case p.repo:
		it.Shown = slices.DeleteFunc(slices.Clone(it.Shown), func(s Shown) bool { return s.By == n.By })
		it.endClaims(func(c note) bool { return c.By == n.By })
	case it.settled || it.MovedTo != "":
		return
	default:
		*it = Item{Message: it.Message, at: it.at}
	}
	it.claims = append(it.claims, n) // a claim of nobody
}

// unshown reports whether the message waits because its showing came to nothing.
func (it *Item) unshown() bool {
	return slices.ContainsFunc(it.claims, func(c note) bool { return c.T == recUnshown })
}

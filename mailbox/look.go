package mailbox

import (
	"bytes"
	"slices"
	"time"
)

// lookIndex scans a box without its lock, and changes nothing: what it finds is what
// somebody who uses the box would find. That one would first finish the moves into
// it that broke off, so what those have yet to bring is there.
func (s *Store) lookIndex(p place) (*index, error) {
	x, err := s.scanBox(p)
	if err != nil || len(x.adopts) == 0 {
		return x, err
	}
	t, err := s.foresee(p, nil)
	if err != nil {
		return nil, err
	}
	return t.idx, nil
}

// scanBox scans a box without its lock, as it is.
func (s *Store) scanBox(p place) (*index, error) {
	v, err := s.peek(p, false)
	if err != nil {
		return nil, err
	}
	return newIndex(p, v.last, v.hotData()), nil
}

// scanMoves is scanBox for what a box says about moves alone, which mostly is nothing.
func (s *Store) scanMoves(p place) (*index, error) {
	v, err := s.peek(p, false)
	if err != nil {
		return nil, err
	}
	data := v.hotData()
	if !bytes.Contains(data, movedWord) && !bytes.Contains(data, adoptWord) {
		data = nil
	}
	return newIndex(p, v.last, data), nil
}

// ShownSince reports whether any mail of a box was shown after t. It changes nothing,
// and decodes nothing but the receipts.
func (s *Store) ShownSince(key string, t time.Time) (shown bool, err error) {
	p, err := s.box(key)
	if err != nil {
		return false, err
	}
	v, err := s.peek(p, true)
	eachRecord(v.data, func(r record) {
		if !shown && r.t == recShown {
			n, ok := parseNote(r.line)
			shown = ok && n.At.After(t)
		}
	})
	return shown, err
}

// foresee finishes the moves into a box that broke off, in memory alone. path are
// the boxes for which that is going on.
func (s *Store) foresee(p place, path []string) (*tx, error) {
	v, err := s.peek(p, true)
	if err != nil {
		return nil, err
	}
	t := &tx{s: s, p: p, snap: v, idx: newIndex(p, v.last, v.hotData())}
	for _, key := range t.idx.adopts {
		if slices.Contains(path, key) {
			continue
		}
		from, err := s.box(key)
		if err != nil {
			return nil, err
		}
		src, err := s.foresee(from, append(path, p.key))
		if err != nil {
			return nil, err
		}
		if err := moveBoth(src, t, finish); err != nil {
			return nil, err
		}
	}
	return t, nil
}

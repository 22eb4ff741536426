package mailbox

import (
	"bytes"
	"fmt"
)

// AppendOptions of Append.
type AppendOptions struct {
	// NoSync leaves out the fsync: the message then survives the death of any
	// process, but perhaps not a power cut.
	NoSync bool
	// Notice is for a word of peermux itself to the owner of the box: it gets in even
	// when the box is full.
	Notice bool
}

// AppendResult of Append.
type AppendResult struct {
	ID  string
	Key string // the box that took it, after following moves
	// Existing is the message that was there under this id already; nothing was
	// stored then.
	Existing *Message
}

// Append puts a message into a box: it is accepted when Append returns no error,
// and then nothing loses it. A message with an id that the box, or one that goes
// on as it, has already is not stored again. Mail for a box that has moved goes
// where it went. An error means that nothing was stored, except one that says
// "not known to be on disk": then it was, but a power cut might undo it.
//
// The error wraps ErrBodyTooLarge, ErrEmptyBody, ErrNotText, or ErrInboxFull when
// that is the cause.
func (s *Store) Append(key string, m *Message, o AppendOptions) (AppendResult, error) {
	msg := *m
	if err := prepare(&msg, s.stamp()); err != nil {
		return AppendResult{}, err
	}
	var res AppendResult
	err := s.update(key, update{create: true, sync: !o.NoSync}, func(t *tx) (done bool, err error) {
		res = AppendResult{ID: msg.ID, Key: t.p.key}
		if res.Existing, err = t.existing(msg.ID); err != nil || res.Existing != nil {
			return true, err
		}
		if t.idx.movedTo != "" {
			return false, nil
		}
		if o.Notice {
			res.ID, err = t.put(msg)
		} else {
			res.ID, err = t.message(msg)
		}
		return true, err
	})
	if err != nil {
		return AppendResult{}, err
	}
	if res.Existing != nil {
		res.Key = s.Resolve(res.Key)
	}
	return res, nil
}

// message writes a prepared message if there is room for it.
func (t *tx) message(m Message) (id string, err error) {
	if err := t.room(&m); err != nil {
		return "", err
	}
	return t.put(m)
}

func (t *tx) put(m Message) (id string, err error) {
	if m.ID == "" {
		m.ID = nextID(t.s.now(), string(t.idx.maxID))
	}
	var buf bytes.Buffer
	encode(&buf, messageRecord{T: recMsg, Message: m})
	return m.ID, t.write(buf.Bytes())
}

// existing finds a message that this journal has already.
func (t *tx) existing(id string) (*Message, error) {
	if id == "" || len(id) == IDLen && id > string(t.idx.maxID) {
		return nil, nil // greater than every id so far, which is nearly always so
	}
	v, err := t.whole()
	if err != nil || !bytes.Contains(v.data, []byte(id)) {
		return nil, err
	}
	var found *Message
	eachRecord(v.data, func(r record) {
		if found != nil || r.t != recMsg || string(r.id) != id {
			return
		}
		if m, ok := parseMessage(r.line); ok {
			found = &m
		}
	})
	return found, nil
}

// room refuses mail that nobody can catch up with. The answer to a question that
// is being waited for always gets in.
func (t *tx) room(m *Message) error {
	if t.p.feed || t.idx.waiting < MaxUnshown && t.idx.bytes+len(m.Body) <= MaxUnshownBytes {
		return nil
	}
	for _, r := range t.idx.asks {
		if string(r.id) == m.ReplyTo {
			return nil
		}
	}
	return fmt.Errorf("%w: %d messages (%d KiB) wait in %s; its reader has to catch up first",
		ErrInboxFull, t.idx.waiting, t.idx.bytes>>10, t.p.key)
}

// update says how a box is to be changed.
type update struct {
	create bool // also when the box does not exist yet
	sync   bool // durable before it returns
}

// maxRing is how often a walk along moves that comes back to where it was starts
// again. Boxes can move while it walks; only damaged ones move in a ring for ever.
const maxRing = 10

// update runs do on a box under its lock, and when it is not done there,
// on the box that it moved to. A missing box without create is passed over.
func (s *Store) update(key string, u update, do func(*tx) (done bool, err error)) error {
	seen := map[string]bool{}
	for rings := 0; ; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return err
		}
		c := &change{update: u, lost: rings == maxRing, do: do}
		s.together(p, c)
		if key = c.movedTo; c.err != nil || c.done || key == "" {
			return c.err
		}
		if seen[key] {
			clear(seen)
			rings++
		}
	}
}

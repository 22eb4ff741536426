package mailbox

import (
	"bytes"
	"fmt"
	"time"

	"peermux/internal/proc"
)

// ClaimOptions of Claim.
type ClaimOptions struct {
	// Reader is the session that reads. In a repository's box each reader is
	// shown its own copy of a message.
	Reader string
	// Via is how the text goes out: a hook event, a tool, "cli". It is what
	// message_status says.
	Via string
	// PID and Start name the process that puts the text out; zero is this one.
	PID   int
	Start string
	// Limit is the greatest number of messages; 0 is no limit.
	Limit int
	// Fits is asked for each message in order and ends the claim with its first
	// no, so that whole messages fill a budget; nil is yes.
	Fits func(Message) bool
	// OnlyReplyTo claims the replies to this question alone, also those that are
	// withheld from everybody else because the question is still being waited for.
	OnlyReplyTo string
	// OnlyIDs claims these messages alone.
	OnlyIDs []string
	// Again shows a repository's open mail once more to a reader that has seen
	// it: at the start of a session.
	Again bool
}

// Claim is mail that one reader is about to show. Exactly one of Shown and
// Release must follow.
type Claim struct {
	Messages []Item
	// More counts the messages that wait and were left behind.
	More int

	commit func(t string) error
}

// Shown records that the text is out. Call it after the text was written
// completely, never before: what is recorded as shown is not shown again.
func (c *Claim) Shown() error {
	if c.commit == nil {
		return nil
	}
	return c.commit(recShown)
}

// Release gives the messages back: their text did not go out.
func (c *Claim) Release() error {
	if c.commit == nil {
		return nil
	}
	return c.commit(recUnclaim)
}

// Claim takes messages that wait, in order, for this reader alone. Nobody else is
// given them until the claim is released, its process dies, or a minute passes.
// Replies that a living process of this box waits for are left to it.
func (s *Store) Claim(key string, o ClaimOptions) (*Claim, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	waiting, err := s.look(p, o)
	if err != nil || len(waiting.Messages) == 0 {
		return waiting, err
	}
	if o.PID == 0 {
		me, err := proc.Self()
		if err != nil {
			return nil, fmt.Errorf("mailbox: who am I: %w", err)
		}
		o.PID, o.Start = me.PID, me.Start
	}
	t, err := s.beginSettled(p)
	if err != nil {
		return &Claim{}, absent(err)
	}
	claim := t.available(o)
	token := NewID(s.now())
	var buf bytes.Buffer
	for _, it := range claim.Messages {
		encode(&buf, note{T: recClaim, ID: it.ID, Claim: token, By: o.Reader, PID: o.PID, Start: o.Start, At: s.stamp()})
	}
	if err := t.write(buf.Bytes()); err != nil {
		return nil, t.abandon(err)
	}
	claim.commit = func(kind string) error { return s.commit(p.key, kind, token, claim.Messages, o) }
	return claim, t.end(false)
}

// Peek is what Claim would give, without claiming it. It changes nothing.
func (s *Store) Peek(key string, o ClaimOptions) (items []Item, more int, err error) {
	p, err := s.box(key)
	if err != nil {
		return nil, 0, err
	}
	c, err := s.look(p, o)
	if err != nil {
		return nil, 0, err
	}
	return c.Messages, c.More, nil
}

// Pending counts the messages that wait in a box: unshown ones, or in a
// repository's box those that are not closed. It changes nothing, and on a box
// that is missing or empty it costs two system calls.
func (s *Store) Pending(key string) (int, error) {
	p, err := s.box(key)
	if err != nil {
		return 0, err
	}
	x, err := s.lookIndex(p)
	if err != nil || x == nil {
		return 0, err
	}
	return x.whole(), nil
}

// whole counts the pending messages whose lines are undamaged.
func (x *index) whole() int {
	n := 0
	for i := x.head; i < len(x.pending); i++ {
		if e := &x.pending[i]; !e.gone {
			if _, ok := parseMessage(e.line); ok {
				n++
			}
		}
	}
	return n
}

// lookIndex scans a box without its lock; nil when there is nothing in it.
func (s *Store) lookIndex(p place) (*index, error) {
	v, err := s.peek(p, false)
	if err != nil || len(v.data) == 0 {
		return nil, err
	}
	x := newIndex(p.repo)
	x.maxID = []byte(v.last)
	x.scan(v.hotData())
	return x, nil
}

func (s *Store) look(p place, o ClaimOptions) (*Claim, error) {
	x, err := s.lookIndex(p)
	if err != nil || x == nil {
		return &Claim{}, err
	}
	t := &tx{s: s, p: p, idx: x}
	return t.available(o), nil
}

// available lists what a claim with these options would take.
func (t *tx) available(o ClaimOptions) *Claim {
	c := &Claim{}
	if t.idx.movedTo != "" {
		return c
	}
	full := false
	awaited := t.awaited()
	for i := t.idx.head; i < len(t.idx.pending); i++ {
		e := &t.idx.pending[i]
		if e.gone || !o.wants(string(e.id)) {
			continue
		}
		it, ok := t.item(e, o)
		if !ok || it.Claimed || t.withheld(&it, o, awaited) {
			continue
		}
		full = full || o.Limit > 0 && len(c.Messages) >= o.Limit || o.Fits != nil && !o.Fits(it.Message)
		if full {
			c.More++
			continue
		}
		c.Messages = append(c.Messages, it)
	}
	return c
}

func (o ClaimOptions) wants(id string) bool {
	if o.OnlyIDs == nil {
		return true
	}
	for _, only := range o.OnlyIDs {
		if only == id {
			return true
		}
	}
	return false
}

func (t *tx) item(e *entry, o ClaimOptions) (Item, bool) {
	m, ok := parseMessage(e.line)
	if !ok {
		return Item{}, false
	}
	it := Item{Message: m}
	for _, line := range e.notes {
		if n, ok := parseNote(line); ok {
			it.learn(n)
		}
	}
	it.settle(t.s, o.Reader, t.p.repo)
	return it, true
}

// withheld reports whether a message that nobody holds is still not for this
// reader.
func (t *tx) withheld(it *Item, o ClaimOptions, awaited map[string]bool) bool {
	if o.OnlyReplyTo != "" {
		return it.ReplyTo != o.OnlyReplyTo
	}
	if t.p.repo && !o.Again && it.ShownTo(o.Reader) {
		return true
	}
	return it.ReplyTo != "" && awaited[it.ReplyTo]
}

// askGrace is how long after its end an own question still keeps its replies to
// itself: the asker looks once more before it gives up.
const askGrace = 10 * time.Second

// awaited are the questions that a living process waits for.
func (t *tx) awaited() map[string]bool {
	var ids map[string]bool
	for _, e := range t.idx.asks {
		if e.gone {
			continue
		}
		n, ok := parseNote(e.line)
		if !ok || !t.s.waits(n) {
			continue
		}
		if ids == nil {
			ids = map[string]bool{}
		}
		ids[n.ID] = true
	}
	return ids
}

func (s *Store) waits(n note) bool {
	if !n.Until.IsZero() && s.now().After(n.Until.Add(askGrace)) {
		return false
	}
	return s.Alive(n.PID, n.Start)
}

// commit ends a claim in the box that the messages are in now: it may have moved
// since.
func (s *Store) commit(key, kind, token string, items []Item, o ClaimOptions) error {
	return s.update(key, update{}, func(t *tx) (bool, error) {
		var buf bytes.Buffer
		for _, it := range items {
			n := note{T: kind, ID: it.ID, Claim: token, By: o.Reader, At: s.stamp()}
			if kind == recShown {
				n.Via = o.Via
			}
			encode(&buf, n)
		}
		return t.idx.movedTo == "", t.write(buf.Bytes())
	})
}

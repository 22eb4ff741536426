package mailbox

import (
	"bytes"
	"fmt"
	"slices"
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
	// withheld from everybody else because a process waits for them.
	OnlyReplyTo string
	// OnlyIDs claims these messages alone.
	OnlyIDs []string
	// Again shows a repository's open mail once more to a reader that has seen
	// it: at the start of a session.
	Again bool
	// Fresh leaves out what Unshown gave back: at a start, which may come to nothing
	// just so.
	Fresh bool
}

// Claim is mail that one reader is about to show. One of Shown, ShownOnly and
// Release must follow.
type Claim struct {
	Messages []Item
	// More counts the messages that wait and were left behind.
	More int
	// Newer counts those of them that a newer peermux wrote, in a format that this
	// one does not know. They wait until it is updated, and hold up no others; in a
	// feed, where a reader's place cannot skip any, they hold up those behind them.
	Newer int

	commit func(kind string, items []Item) error
}

// Shown records that the text is out. Call it after the text was written
// completely, never before: what is recorded as shown is not shown again.
func (c *Claim) Shown() error { return c.end(recShown, c.Messages) }

// Release gives the messages back: their text did not go out.
func (c *Claim) Release() error { return c.end(recUnclaim, c.Messages) }

// ShownOnly records that the text of these messages is out, and gives the others
// back.
func (c *Claim) ShownOnly(ids []string) error {
	var shown, rest []Item
	for _, it := range c.Messages {
		if slices.Contains(ids, it.ID) {
			shown = append(shown, it)
		} else {
			rest = append(rest, it)
		}
	}
	if err := c.end(recShown, shown); err != nil {
		return err
	}
	return c.end(recUnclaim, rest)
}

func (c *Claim) end(kind string, items []Item) error {
	if c.commit == nil || len(items) == 0 {
		return nil
	}
	return c.commit(kind, items)
}

// Claim takes messages that wait, in order, for this reader alone. Nobody else is
// given them until the claim is released, its process dies, or a minute passes.
// Replies that a living process of this box waits for are left to it.
func (s *Store) Claim(key string, o ClaimOptions) (*Claim, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return nil, err
	}
	// Most calls find nothing new. They need no lock, and write nothing. Fits may
	// count what it is asked, so it is asked under the lock alone.
	look := o
	look.Fits, look.Limit = nil, 1
	if c := s.available(p, x, look); len(c.Messages) == 0 {
		return c, nil
	}
	if err := s.whoAmI(&o.PID, &o.Start); err != nil {
		return nil, err
	}
	t, err := s.beginSettled(p, false)
	if err != nil {
		return &Claim{}, absent(err)
	}
	t.hurry = true
	c := s.available(p, t.idx, o)
	if err := t.claim(c, o); err != nil {
		return nil, t.abandon(err)
	}
	return c, t.end(false)
}

// TakeAnswer claims the message that answers an own question and ends the question
// with it, under one lock. The claim is empty, and the question stays open, when
// the message is not in this box or is somebody else's.
func (s *Store) TakeAnswer(key, ask string, o ClaimOptions) (*Claim, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	if err := s.whoAmI(&o.PID, &o.Start); err != nil {
		return nil, err
	}
	claim := &Claim{}
	taking := &change{do: func(t *tx) (bool, error) {
		t.hurry = true
		claim = s.available(p, t.idx, o)
		if len(claim.Messages) == 0 {
			return true, nil
		}
		return true, t.claim(claim, o, note{T: recAnswered, ID: ask, Answer: claim.Messages[0].ID, At: s.stamp()})
	}}
	s.together(p, taking)
	return claim, taking.err
}

// claim writes that these messages are claimed, and what else there is to say, with
// one call.
func (t *tx) claim(c *Claim, o ClaimOptions, more ...note) error {
	s, key := t.s, t.p.key
	token := NewID(s.now())
	var notes []note
	for _, it := range c.Messages {
		notes = append(notes, note{T: recClaim, ID: it.ID, Claim: token, By: o.Reader, PID: o.PID, Start: o.Start, At: s.stamp()})
	}
	if err := t.write(lines(append(notes, more...)...)); err != nil {
		return err
	}
	c.commit = func(kind string, items []Item) error {
		return s.commit(key, note{T: kind, Claim: token, By: o.Reader, Via: o.Via}, items)
	}
	return nil
}

// commit ends a claim where the messages are now: their box may have moved since.
func (s *Store) commit(key string, n note, items []Item) error {
	if n.T != recShown {
		n.Via = ""
	}
	n.At = s.stamp()
	var buf bytes.Buffer
	for _, it := range items {
		n.ID = it.ID
		encode(&buf, n)
	}
	return s.update(key, update{}, func(t *tx) (bool, error) {
		t.hurry = true
		return false, t.write(buf.Bytes())
	})
}

func (s *Store) whoAmI(pid *int, start *string) error {
	if *pid != 0 {
		return nil
	}
	me, err := proc.Self()
	if err != nil {
		return fmt.Errorf("mailbox: cannot name this process: %w", err)
	}
	*pid, *start = me.PID, me.Start
	return nil
}

// Peek is what Claim would give, without claiming it. It changes nothing.
func (s *Store) Peek(key string, o ClaimOptions) (items []Item, more int, err error) {
	p, err := s.box(key)
	if err != nil {
		return nil, 0, err
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return nil, 0, err
	}
	c := s.available(p, x, o)
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
	if err != nil {
		return 0, err
	}
	return x.pending(), nil
}

// pending counts the waiting messages whose lines are undamaged.
func (x *index) pending() int {
	n := 0
	x.each(func(e *entry) {
		if e.shown {
			return
		}
		if _, ok := parseMessage(e.line); ok {
			n++
		}
	})
	return n
}

// available lists what a claim with these options would take.
func (s *Store) available(p place, x *index, o ClaimOptions) *Claim {
	c := &Claim{}
	full := false
	var awaited []string
	if o.OnlyReplyTo == "" {
		awaited = s.awaited(x)
	}
	x.each(func(e *entry) {
		if e.shown || o.OnlyIDs != nil && !slices.Contains(o.OnlyIDs, string(e.id)) {
			return
		}
		if !bytes.Contains(e.line, []byte(o.OnlyReplyTo)) {
			return // many wait for one answer each; only theirs need be decoded
		}
		if full && e.last == 0 && len(awaited) == 0 && o.OnlyReplyTo == "" {
			c.More++ // nothing can be against it, so it need not be decoded
			return
		}
		it, ok := s.item(p, x, e, o.Reader)
		if !ok || it.Claimed || o.Fresh && it.unshown() || withheld(p, &it, o, awaited) {
			return
		}
		if it.V > messageVersion {
			c.More++
			c.Newer++
			return
		}
		full = full || o.Limit > 0 && len(c.Messages) >= o.Limit || o.Fits != nil && !o.Fits(it.Message)
		if full {
			c.More++
			return
		}
		c.Messages = append(c.Messages, it)
	})
	return c
}

// item decodes an entry.
func (s *Store) item(p place, x *index, e *entry, reader string) (Item, bool) {
	m, ok := parseMessage(e.line)
	if !ok {
		return Item{}, false
	}
	it := Item{Message: m}
	for _, n := range x.said(e) {
		it.learn(p, n)
	}
	it.judge(s, p, reader)
	return it, true
}

// withheld reports whether a message that nobody holds is still not for this
// reader.
func withheld(p place, it *Item, o ClaimOptions, awaited []string) bool {
	if o.OnlyReplyTo != "" {
		return it.ReplyTo != o.OnlyReplyTo
	}
	if p.repo && !o.Again && it.ShownTo(o.Reader) {
		return true
	}
	return it.ReplyTo != "" && slices.Contains(awaited, it.ReplyTo)
}

// askGrace is how long after its end an own question still keeps its replies to
// itself: the asker looks once more before it gives up.
const askGrace = 10 * time.Second

// awaited are the questions that a living process waits for.
func (s *Store) awaited(x *index) (ids []string) {
	for _, r := range x.asks {
		if n, ok := parseNote(r.line); ok && s.waits(n) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func (s *Store) waits(asked note) bool {
	if !asked.Until.IsZero() && s.now().After(asked.Until.Add(askGrace)) {
		return false
	}
	return s.Alive(asked.PID, asked.Start)
}

package mailbox

import (
	"bytes"
	"fmt"
	"time"
)

// Broadcast appends a message to a feed and returns its id, which is greater than
// every id before it there: a reader's place in a feed is the last id it read.
func (s *Store) Broadcast(feed string, m *Message) (string, error) {
	p, err := s.feed(feed)
	if err != nil {
		return "", err
	}
	msg := *m
	if err := prepare(&msg, s.stamp()); err != nil {
		return "", err
	}
	t, err := s.begin(p, true)
	if err != nil {
		return "", err
	}
	old, err := t.existing(msg.ID)
	if err != nil {
		return "", t.abandon(err)
	}
	if old != nil {
		return old.ID, t.end(true)
	}
	if last := string(t.idx.maxID); msg.ID <= last {
		msg.ID = nextID(s.now(), last)
	}
	id, err := t.message(msg)
	if err != nil {
		return "", t.abandon(err)
	}
	return id, t.end(true)
}

// Retract withdraws a feed's message for those who have not read it. Whether the
// caller may is the caller's to know; doing it twice is no error.
func (s *Store) Retract(feed, id string) error {
	p, err := s.feed(feed)
	if err != nil {
		return err
	}
	unknown := fmt.Errorf("message %s: %w", id, ErrUnknownMessage)
	t, err := s.begin(p, false)
	if err != nil {
		if absent(err) == nil {
			err = unknown
		}
		return err
	}
	it, err := t.find(id)
	if err != nil {
		return t.abandon(err)
	}
	if it.ID == "" {
		return t.abandon(unknown)
	}
	if it.Closed == "" {
		if err := t.write(lines(note{T: recRetracted, ID: id, At: s.stamp()})); err != nil {
			return t.abandon(err)
		}
	}
	return t.end(true)
}

// FeedOptions of FeedNew.
type FeedOptions struct {
	Self string // session id of the reader, which is not shown its own messages
	Via  string
	// PID and Start name the process that puts the text out; zero is this one.
	PID   int
	Start string
	// Backfill is how far back a reader's first look reaches; 0 starts it at the
	// feed's end.
	Backfill time.Duration
	// FromStart begins a reader's first look at the feed's first message: standing
	// announcements.
	FromStart bool
	Limit     int
	Fits      func(Message) bool
}

// FeedNew claims what a reader has not seen of a feed. The reader's place is kept
// in its own box and moves when the claim is recorded as shown. One reader's
// parallel hooks take turns: while one is showing a feed, the others get nothing
// of it.
func (s *Store) FeedNew(feed, readerBox string, o FeedOptions) (*Claim, error) {
	fp, err := s.feed(feed)
	if err != nil {
		return nil, err
	}
	bp, err := s.box(readerBox)
	if err != nil {
		return nil, err
	}
	x, err := s.lookIndex(bp)
	if err != nil {
		return nil, err
	}
	at := s.feedPlace(x, feed)
	if at.moved || at.busy {
		return &Claim{}, nil
	}
	if at.known {
		if news, err := s.feedAfter(fp, at.cursor); err != nil || len(news) == 0 {
			return &Claim{}, err
		}
	}
	t, err := s.beginSettled(bp, true)
	if err != nil {
		return nil, err
	}
	t.hurry = true
	claim, err := t.claimFeed(fp, o)
	if err != nil {
		return nil, t.abandon(err)
	}
	return claim, t.end(false)
}

// FeedPeek is what FeedNew would give. It changes nothing.
func (s *Store) FeedPeek(feed, readerBox string, o FeedOptions) (items []Item, more int, err error) {
	fp, err := s.feed(feed)
	if err != nil {
		return nil, 0, err
	}
	bp, err := s.box(readerBox)
	if err != nil {
		return nil, 0, err
	}
	x, err := s.lookIndex(bp)
	if err != nil {
		return nil, 0, err
	}
	at := s.feedPlace(x, feed)
	if at.moved || at.busy {
		return nil, 0, nil
	}
	if !at.known {
		if at.cursor, err = s.firstCursor(fp, o); err != nil {
			return nil, 0, err
		}
	}
	news, err := s.feedAfter(fp, at.cursor)
	c, _ := pick(news, bp.key, at, o)
	return c.Messages, c.More, err
}

// feedPlace is where a reader is in a feed.
type feedPlace struct {
	known   bool   // it has looked before
	cursor  string // last id it is done with
	claimed string // last id that somebody was showing when it died
	busy    bool   // somebody living is showing it
	moved   bool   // the reader's box goes on elsewhere
}

// ofFeed reports whether a record is about this feed. The lines of this package name
// it right after the id, so they need not be decoded.
func (r record) ofFeed(feed string) bool {
	if name, ok := r.value(`,"feed":"`); ok {
		return string(name) == feed
	}
	n, ok := parseNote(r.line)
	return ok && n.Feed == feed
}

func (s *Store) feedPlace(x *index, feed string) feedPlace {
	at := feedPlace{moved: x.movedTo != ""}
	for _, r := range x.feeds {
		if r.t == recCursor && r.ofFeed(feed) {
			at.known = true
			at.cursor = max(at.cursor, string(r.id))
		}
	}
	// A claim that counts still reaches beyond the cursor.
	open := map[string]note{}
	for _, r := range x.feeds {
		if r.t == recCursor || string(r.id) <= at.cursor || !r.ofFeed(feed) {
			continue
		}
		n, ok := parseNote(r.line)
		switch {
		case !ok:
		case r.t == recFeedClaim:
			open[n.Claim] = n
		default:
			delete(open, n.Claim)
		}
	}
	for _, n := range open {
		if s.holds(n) {
			at.busy = true
		} else {
			at.claimed = max(at.claimed, n.ID)
		}
	}
	return at
}

// noID sorts before every id: the place before a feed's first message.
const noID = "00000000000000000000000000"

func (s *Store) firstCursor(p place, o FeedOptions) (string, error) {
	switch {
	case o.FromStart:
		return noID, nil
	case o.Backfill > 0:
		// Ids begin with the time, and they rise along the feed.
		return makeID(s.now().Add(-o.Backfill), [idLen - timeLen]byte{}), nil
	}
	last, err := s.feedLast(p)
	return max(last, noID), err
}

func (t *tx) claimFeed(fp place, o FeedOptions) (*Claim, error) {
	s := t.s
	at := s.feedPlace(t.idx, fp.key)
	if at.moved || at.busy {
		return &Claim{}, nil
	}
	cursor := note{T: recCursor, Feed: fp.key, At: s.stamp()}
	if !at.known {
		first, err := s.firstCursor(fp, o)
		if err != nil {
			return nil, err
		}
		at.cursor, cursor.ID = first, first
		if err := t.write(lines(cursor)); err != nil {
			return nil, err
		}
	}
	news, err := s.feedAfter(fp, at.cursor)
	if err != nil {
		return nil, err
	}
	claim, through := pick(news, t.p.key, at, o)
	if through == "" {
		return claim, nil
	}
	if len(claim.Messages) == 0 {
		cursor.ID = through // only own and withdrawn messages: pass them by
		return claim, t.write(lines(cursor))
	}
	if err := s.whoAmI(&o.PID, &o.Start); err != nil {
		return nil, err
	}
	mark := note{T: recFeedClaim, ID: through, Feed: fp.key, Claim: NewID(s.now()), By: o.Self, PID: o.PID, Start: o.Start, At: s.stamp()}
	key, all := t.p.key, len(claim.Messages)
	claim.commit = func(kind string, items []Item) error {
		end := note{T: recFeedUnclaim, ID: through, Feed: fp.key, Claim: mark.Claim, By: o.Self, At: s.stamp()}
		if kind == recShown {
			end.T, end.Via = recCursor, o.Via
		}
		if kind == recShown && len(items) < all {
			end.ID = items[len(items)-1].ID
		}
		return s.add(key, end)
	}
	return claim, t.write(lines(mark))
}

// pick chooses from a feed's news what this reader is shown, and tells through
// which id that settles the feed.
func pick(news []Item, readerBox string, at feedPlace, o FeedOptions) (c *Claim, through string) {
	c = &Claim{}
	full := false
	for _, it := range news {
		own := it.From.Box == readerBox || o.Self != "" && it.From.SessionID == o.Self
		if own || it.Closed != "" {
			if !full {
				through = it.ID
			}
			continue
		}
		full = full || o.Limit > 0 && len(c.Messages) >= o.Limit || o.Fits != nil && !o.Fits(it.Message)
		if full {
			c.More++
			continue
		}
		it.PossiblySeen = it.ID <= at.claimed
		c.Messages = append(c.Messages, it)
		through = it.ID
	}
	return c, through
}

// feedAfter reads the messages after a cursor, from the end of the feed backwards
// until it meets the cursor or an older message. How much the feed holds before
// that does not matter, nor whether the cursor's own message is still there.
func (s *Store) feedAfter(p place, cursor string) ([]Item, error) {
	var news []Item
	err := s.backwards(p, func(data []byte, all bool) (enough bool) {
		if newest(data) <= cursor && !all {
			return newest(data) != ""
		}
		if oldest(data) > cursor && !all {
			return false
		}
		st := s.replay(p, &snapshot{data: data})
		for i := range st.Items {
			if st.Items[i].ID > cursor {
				news = st.Items[i:]
				break
			}
		}
		return true
	})
	return news, err
}

// feedLast is the id of a feed's last message, "" when there was none ever.
func (s *Store) feedLast(p place) (last string, err error) {
	err = s.backwards(p, func(data []byte, _ bool) bool {
		last = newest(data)
		return last != ""
	})
	return last, err
}

// oldest is the id of the first message in data; "~", which sorts behind every
// id, when there is none.
func oldest(data []byte) string {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if r, ok := head(line); ok && r.t == recMsg {
			return string(r.id)
		}
		data = rest
	}
	return "~"
}

// newest is the greatest message id that data knows of.
func newest(data []byte) string {
	var last []byte
	bad := 0
	eachRecord(data, func(r record) {
		if (r.t == recMsg || r.t == recCompacted) && len(r.id) == idLen && bytes.Compare(r.id, last) > 0 {
			last = r.id
		}
	}, &bad)
	return string(last)
}

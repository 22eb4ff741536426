package mailbox

import (
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
		// Most calls find nothing new, and write nothing.
		if last, err := s.feedLast(fp); err != nil || last <= at.cursor {
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

// FeedEnter sets the place of a reader that has never looked at a feed, and gives
// nothing: it misses nothing from then on.
func (s *Store) FeedEnter(feed, readerBox string, o FeedOptions) error {
	o.Fits = func(Message) bool { return false }
	_, err := s.FeedNew(feed, readerBox, o)
	return err
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
	if err != nil {
		return nil, 0, err
	}
	c, _ := news.pick(at, o, s.ownOf(x, o))
	return c.Messages, c.More, nil
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
	claim, through := news.pick(at, o, s.ownOf(t.idx, o))
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
	key := t.p.key
	claim.commit = func(kind string, items []Item) error {
		end := note{T: recFeedUnclaim, ID: through, Feed: fp.key, Claim: mark.Claim, By: o.Self, At: s.stamp()}
		if last := lastInRow(claim.Messages, items); kind == recShown && last != "" {
			end.T, end.Via = recCursor, o.Via
			if len(items) < len(claim.Messages) {
				end.ID = last
			}
		}
		return s.add(key, end)
	}
	return claim, t.write(lines(mark))
}

// lastInRow is the id up to which all messages are among items: a cursor cannot
// leave one out.
func lastInRow(all, items []Item) (id string) {
	for i := range all {
		if i >= len(items) || items[i].ID != all[i].ID {
			break
		}
		id = all[i].ID
	}
	return id
}

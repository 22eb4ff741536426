package mailbox

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"time"
)

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
		return makeID(s.now().Add(-o.Backfill), [IDLen - timeLen]byte{}), nil
	}
	last, err := s.feedLast(p)
	return max(last, noID), err
}

// news are a feed's messages after some cursor, undecoded.
type news struct {
	messages  []record
	retracted map[string]bool
}

// feedAfter reads what came after a cursor, from the end of the feed backwards
// until it meets the cursor or an older message. How much the feed holds before
// that does not matter, nor whether the cursor's own message is still there.
func (s *Store) feedAfter(p place, cursor string) (news, error) {
	found := news{retracted: map[string]bool{}}
	err := s.backwards(p, func(data []byte, all bool) (enough bool) {
		if !all && oldest(data) > cursor {
			return false
		}
		last := cursor
		eachRecord(data, func(r record) {
			switch {
			case r.t == recRetracted:
				found.retracted[string(r.id)] = true
			case r.t == recMsg && string(r.id) > last:
				last = string(r.id)
				found.messages = append(found.messages, r)
			}
		})
		return true
	})
	return found, err
}

// pick chooses what this reader is shown, and tells through which id that settles
// the feed. What does not fit any more is not even decoded.
func (n news) pick(at feedPlace, o FeedOptions, isOwn func(Party) bool) (c *Claim, through string) {
	c = &Claim{}
	full := false
	for _, r := range n.messages {
		id := string(r.id)
		if full {
			if !n.retracted[id] && !sentBy(r.line, o.Self) {
				c.More++
			}
			continue
		}
		m, ok := parseMessage(r.line)
		if !ok || n.retracted[id] || isOwn(m.From) {
			through = id
			continue
		}
		if m.V > messageVersion {
			full = true
			c.Newer++
			c.More++
			continue
		}
		if o.Limit > 0 && len(c.Messages) >= o.Limit || o.Fits != nil && !o.Fits(m) {
			full = true
			c.More++
			continue
		}
		c.Messages = append(c.Messages, Item{Message: m, PossiblySeen: id <= at.claimed})
		through = id
	}
	return c, through
}

// ownOf tells a reader's own messages, also those that it sent before it went on
// under another id.
func (s *Store) ownOf(reader *index, o FeedOptions) func(Party) bool {
	known := map[string]bool{reader.key: true}
	return func(from Party) bool {
		if o.Self != "" && from.SessionID == o.Self {
			return true
		}
		own, ok := known[from.Box]
		if !ok && reader.heir {
			own = s.Resolve(from.Box) == reader.key
			known[from.Box] = own
		}
		return own
	}
}

// sentBy is a guess from an undecoded line, good enough for a count. No body can
// mislead it, since JSON escapes a body's quotes.
func sentBy(line []byte, session string) bool {
	return session != "" && bytes.Contains(line, []byte(`"from":{"session_id":"`+session+`"`))
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
	eachRecord(data, func(r record) {
		if (r.t == recMsg || r.t == recCompacted) && len(r.id) == IDLen && bytes.Compare(r.id, last) > 0 {
			last = r.id
		}
	})
	return string(last)
}

// FeedSeen reports whether a reader was shown a feed's message, in this box or in one
// that it goes on for, and has not lost it. A compaction forgets how a place moved on;
// what cannot be told any more counts as not seen.
func (s *Store) FeedSeen(feed, readerBox string, it Item) (bool, error) {
	boxes, err := s.Lineage(readerBox)
	for _, box := range boxes {
		p, boxErr := s.box(box)
		if boxErr != nil {
			return false, boxErr
		}
		x, boxErr := s.lookIndex(p)
		if boxErr != nil {
			return false, boxErr
		}
		if i := x.find(it.ID); i >= 0 && !x.entries[i].shown {
			return false, nil // it was lost, and waits
		}
		v, boxErr := s.peek(p, true)
		if boxErr != nil {
			return false, boxErr
		}
		if v.saw(feed, it) {
			return true, nil
		}
	}
	return false, err
}

// saw looks for what took the owner's place in a feed from before a message past it: a
// claim, which takes nothing that was withdrawn before.
func (v *snapshot) saw(feed string, it Item) (seen bool) {
	claimed := map[string]time.Time{}
	before, passed := false, false
	eachRecord(v.data, func(r record) {
		if passed || r.t != recCursor && r.t != recFeedClaim || !r.ofFeed(feed) {
			return
		}
		if string(r.id) < it.ID {
			before = before || r.t == recCursor
			return
		}
		switch n, ok := parseNote(r.line); {
		case !ok:
		case n.T == recFeedClaim:
			claimed[n.Claim] = n.At
		default:
			passed = true
			at, known := claimed[n.Claim]
			if !known {
				at = n.At
			}
			// Without a claim it began behind the message, or passed it by.
			seen = n.Claim != "" && (before || n.ID == it.ID) && (it.ClosedAt.IsZero() || at.Before(it.ClosedAt))
		}
	})
	return seen
}

// FeedsShownSince reports whether its owner was shown anything of any feed after t.
func (s *Store) FeedsShownSince(readerBox string, t time.Time) bool {
	p, err := s.box(readerBox)
	if err != nil {
		return false
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(x.feeds, func(r record) bool {
		n, ok := parseNote(r.line)
		return ok && n.T == recCursor && n.Claim != "" && n.At.After(t)
	})
}

// FeedsShown lists what its owner was shown of all feeds after t, each broadcast with
// that one showing, and not what was withdrawn since.
func (s *Store) FeedsShown(readerBox string, t time.Time) ([]Item, error) {
	p, err := s.box(readerBox)
	if err != nil {
		return nil, err
	}
	v, err := s.peek(p, true)
	if err != nil {
		return nil, err
	}
	x := newIndex(p, v.last, v.hotData())
	at := map[string]string{}
	went := map[string][]step{}
	eachRecord(v.data, func(r record) {
		if r.t != recCursor {
			return
		}
		n, ok := parseNote(r.line)
		if !ok {
			return
		}
		from, known := at[n.Feed]
		at[n.Feed] = max(from, n.ID)
		if known && n.Claim != "" && n.At.After(t) {
			went[n.Feed] = append(went[n.Feed], step{from, n})
		}
	})
	var items []Item
	var errs error
	for _, feed := range slices.Sorted(maps.Keys(went)) {
		shown, err := s.shownOf(x, feed, went[feed])
		items, errs = append(items, shown...), errors.Join(errs, err)
	}
	return items, errs
}

// step is how a reader's place in a feed went on from an id, as a cursor says.
type step struct {
	from string
	to   note
}

// shownOf is what a reader was shown of a feed in these steps, which are in order. The
// feed is read once for all.
func (s *Store) shownOf(reader *index, feed string, steps []step) (items []Item, err error) {
	p, err := s.feed(feed)
	if err != nil {
		return nil, err
	}
	news, err := s.feedAfter(p, steps[0].from)
	if err != nil {
		return nil, err
	}
	for _, r := range news.messages {
		id := string(r.id)
		for len(steps) > 0 && id > steps[0].to.ID {
			steps = steps[1:]
		}
		if len(steps) == 0 {
			break
		}
		to := steps[0].to
		m, ok := parseMessage(r.line)
		if ok && id > steps[0].from && !news.retracted[id] && !s.ownOf(reader, FeedOptions{Self: to.By})(m.From) {
			items = append(items, Item{Message: m, Shown: []Shown{{By: to.By, Via: to.Via, At: to.At}}})
		}
	}
	return items, nil
}

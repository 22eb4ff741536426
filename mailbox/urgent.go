package mailbox

import (
	"slices"
	"time"
)

// UrgencyHigh marks a message that its sender holds for urgent. A broadcast wakes
// nobody unless it is, and the person allows it.
const UrgencyHigh = "high"

// BellBroadcast in a bell says that it rings for an urgent broadcast too: that the
// person allows this is known to the waker, not to the hook.
const BellBroadcast = "broadcast"

// FeedUrgent counts the urgent messages of a feed that its reader, the session
// self, has not seen. One that has never looked at the feed has missed nothing. It
// changes nothing.
func (s *Store) FeedUrgent(feed, readerBox, self string) (int, error) {
	items, _, err := s.FeedPeek(feed, readerBox, FeedOptions{Self: self})
	if err != nil {
		return 0, err
	}
	urgent := 0
	for _, it := range items {
		if it.Urgency == UrgencyHigh {
			urgent++
		}
	}
	return urgent, nil
}

// FeedSeen reports whether a reader was shown a feed's message, in this box or in one
// that it goes on for. A compaction forgets how a place moved on; what cannot be told
// any more counts as not seen.
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
		if x.saw(feed, it) {
			return true, nil
		}
	}
	return false, err
}

// saw looks for what took the owner's place in a feed past a message: a claim, which
// takes nothing that was withdrawn before.
func (x *index) saw(feed string, it Item) bool {
	claimed := map[string]time.Time{}
	for _, r := range x.feeds {
		if string(r.id) < it.ID || !r.ofFeed(feed) {
			continue
		}
		switch n, ok := parseNote(r.line); {
		case !ok:
		case n.T == recFeedClaim:
			claimed[n.Claim] = n.At
		case n.T == recCursor && n.Claim == "":
			return false // it began behind the message, or passed it by
		case n.T == recCursor:
			at, known := claimed[n.Claim]
			if !known {
				at = n.At
			}
			return it.ClosedAt.IsZero() || at.Before(it.ClosedAt)
		}
	}
	return false
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

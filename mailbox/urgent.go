package mailbox

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

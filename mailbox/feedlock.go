package mailbox

// Tags of a broadcast that says "hands off" and of one that takes it back. They
// are advice between sessions; nothing enforces them.
const (
	TagLock    = "lock"
	TagRelease = "release"
)

// FeedLocks lists the locks of a feed that hold: not retracted, not released by
// their sender, and their sender alive. A release that answers a lock releases
// that one; any other releases all of its sender's.
func (s *Store) FeedLocks(feed string, alive func(Party) bool) ([]Item, error) {
	st, err := s.FeedState(feed)
	if err != nil {
		return nil, err
	}
	var held []Item
	for _, it := range st.Items {
		if it.Closed != "" {
			continue
		}
		switch it.Tag {
		case TagLock:
			held = append(held, it)
		case TagRelease:
			var rest []Item
			for _, lock := range held {
				if lock.From.label() != it.From.label() || it.ReplyTo != "" && it.ReplyTo != lock.ID {
					rest = append(rest, lock)
				}
			}
			held = rest
		}
	}
	var living []Item
	for _, lock := range held {
		if alive(lock.From) {
			living = append(living, lock)
		}
	}
	return living, nil
}

package hookrun

import (
	"errors"
	"io/fs"
	"strings"

	"peermux/internal/private"
	"peermux/mailbox"
)

// maxBell is more than a bell ever holds.
const maxBell = 4 << 10

// urgent reports whether the bell rang for an urgent broadcast that is still
// unshown. Without that, broadcasts wake nobody.
func (h *hook) urgent() (bool, error) {
	bell, err := private.ReadFile(mailbox.BellPath(h.home, h.key), maxBell)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if !strings.Contains(string(bell), mailbox.BellBroadcast) {
		return false, nil
	}
	feeds, err := h.feeds()
	for _, feed := range feeds {
		n, feedErr := h.mail.FeedUrgent(feed, h.key, h.in.SessionID)
		if n > 0 {
			return true, nil
		}
		err = errors.Join(err, feedErr)
	}
	return false, err
}

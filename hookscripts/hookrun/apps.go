package hookrun

import (
	"path/filepath"
	"strings"

	"peermux/mailbox"
)

// unansweredApps are the messages from apps that were shown and have no answer: a
// program cannot ask again as a peer would. A later message to the app counts as
// one. Questions and tasks of apps are owed like everybody's and are not listed
// here. Without a gateway it costs one system call.
func (h *hook) unansweredApps() ([]mailbox.Item, error) {
	if !exists(filepath.Join(h.home, "gateway.json")) {
		return nil, nil
	}
	state, err := h.mail.State(h.key)
	if err != nil {
		return nil, err
	}
	var items []mailbox.Item
	for _, it := range state.Items {
		if strings.HasPrefix(it.From.Box, "a-") && it.Kind == mailbox.KindNote && it.Urgency != "low" &&
			len(it.Shown) > 0 && it.Answered == "" && it.Closed == "" && it.MovedTo == "" && !wroteTo(state, it) {
			items = append(items, it)
		}
	}
	return items, nil
}

// wroteTo reports whether the session has sent something to the message's sender
// since it was shown.
func wroteTo(state *mailbox.State, it mailbox.Item) bool {
	for _, s := range state.Sent {
		if s.ToKey == it.From.Box && s.At.After(it.Shown[0].At) {
			return true
		}
	}
	return false
}

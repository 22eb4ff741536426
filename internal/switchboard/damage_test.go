package switchboard_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// A box that cannot be read hides itself and no other.
func TestUnreadableBox(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	k.join("ben")
	id := ann.mustSend("ben", "hello").MessageID
	if err := os.MkdirAll(mailbox.JournalPath(k.home, "s-broken-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	count, err := k.board.Count(t.Context(), "")
	if err != nil || count.Unshown != 1 || len(count.Notes) != 1 || !strings.Contains(count.Notes[0], "s-broken-1") {
		t.Errorf("count: %+v, %v", count, err)
	}
	var seen []string
	err = k.board.Events(t.Context(), switchboard.EventsRequest{Since: time.Now().Add(-time.Hour)}, func(e switchboard.Event) error {
		seen = append(seen, e.MessageID)
		return nil
	})
	if err != nil || len(seen) != 1 || seen[0] != id {
		t.Errorf("events: %v, %v", seen, err)
	}
	_, err = ann.reply("01M8P8BKVQW00RYWBPXFWS845V", "x")
	refused(t, err, switchboard.CodeUnknownMessage)
	_, err = k.join("cay").reply(id, "x")
	refused(t, err, switchboard.CodeNotYours)
}

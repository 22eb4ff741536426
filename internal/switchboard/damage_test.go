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

// What others wrote reaches a follower of events without commands for its terminal.
func TestEventsAreClean(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	k.join("ben")
	ann.mustSend("ben", "red \x1b[31m\u009b31m\u202e\u200b text")
	err := k.board.Events(t.Context(), switchboard.EventsRequest{Since: time.Now().Add(-time.Hour)}, func(e switchboard.Event) error {
		if strings.ContainsAny(e.Body, "\x1b\u009b\u202e\u200b") || !strings.HasPrefix(e.Body, "red ") || !strings.HasSuffix(e.Body, " text") {
			t.Errorf("body %q", e.Body)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Nobody is there to be woken once a session has ended, and that is said.
func TestWakeEnded(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	kill(t, ben.client)
	_, err := k.board.Wake(t.Context(), ann.actor(), ben.entry.SessionID, false)
	refused(t, err, switchboard.CodePeerGone)
	_, err = k.board.Wake(t.Context(), ann.actor(), "user", false)
	refused(t, err, switchboard.CodeBadRequest)
}

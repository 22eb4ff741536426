package mailbox_test

import (
	"os"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestFollow(t *testing.T) {
	home := t.TempDir()
	s, err := mailbox.Open(home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	key := mailbox.SessionKey("one")
	put := func(body, replyTo string) string {
		t.Helper()
		m := mailbox.Message{Body: body, ReplyTo: replyTo, From: mailbox.Party{SessionID: "peer"}}
		res, err := s.Append(key, &m, mailbox.AppendOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return res.ID
	}
	early, err := s.Follow(key) // before there is a box
	if err != nil {
		t.Fatal(err)
	}
	put("old", "")
	f, err := s.Follow(key)
	if err != nil {
		t.Fatal(err)
	}
	next := func(f *mailbox.Follower, want int) []mailbox.Line {
		t.Helper()
		lines, err := f.Next()
		if err != nil || len(lines) != want {
			t.Fatalf("got %d lines %+v, %v, want %d", len(lines), lines, err, want)
		}
		return lines
	}
	next(f, 0)
	next(early, 1)
	question := mailbox.NewID(time.Now())
	id := put("new", question)
	if l := next(f, 1)[0]; l.T != mailbox.LineMessage || l.ID != id || l.ReplyTo != question || l.From.SessionID != "peer" || l.Kind != mailbox.KindNote {
		t.Errorf("got %+v", l)
	}
	// A line that is being written waits until it is whole.
	file, err := os.OpenFile(mailbox.JournalPath(home, key), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(`{"t":"shown","id":"` + id + `",`); err != nil {
		t.Fatal(err)
	}
	next(f, 0)
	if _, err := file.WriteString("\"via\":\"cli\"}\nnot json\n"); err != nil {
		t.Fatal(err)
	}
	if l := next(f, 1)[0]; l.T != mailbox.LineShown || l.Via != "cli" {
		t.Errorf("got %+v", l)
	}
	// After a compaction everything comes once more.
	if err := s.Compact(key); err != nil {
		t.Fatal(err)
	}
	lines, err := f.Next()
	if err != nil || len(lines) < 2 {
		t.Errorf("after compaction: %+v, %v", lines, err)
	}
	next(f, 0)
	put("after", "")
	next(f, 1)
}

package mailbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// Each benchmark names its budget. Run them on a machine that does nothing else:
//
//	go test -run - -bench . ./mailbox

func newBenchStore(b *testing.B) *mailbox.Store {
	b.Helper()
	s, err := mailbox.Open(filepath.Join(b.TempDir(), "home"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func letter() *mailbox.Message {
	return &mailbox.Message{
		Body:    strings.Repeat("a line of a typical message\n", 8),
		From:    mailbox.Party{SessionID: "5f3a8c1e-7d5b-4b39-9f60-0a6c2b1d4e8f", Name: "reviewer", Client: "claude", Project: "/src/library"},
		Subject: "about the parser",
	}
}

// journal gives a box n messages, shown or not.
func journal(b *testing.B, s *mailbox.Store, key string, n int, shown bool) {
	b.Helper()
	var lines strings.Builder
	now := time.Now().UTC().Format(time.RFC3339Nano)
	body := strings.Repeat("a line of a typical message ", 8)
	for i := range n {
		fmt.Fprintf(&lines, `{"t":"msg","id":"%026d","v":1,"kind":"note","from":{"session_id":"5f3a8c1e","name":"bob"},"to":{},"body":"%s","sent_at":"%s"}`+"\n", i+1, body, now)
		if shown {
			fmt.Fprintf(&lines, `{"t":"claim","id":"%026[1]d","claim":"%026[1]d","by":"5f3a8c1e","pid":12345,"start":"67890","at":"%[2]s"}`+"\n", i+1, now)
			fmt.Fprintf(&lines, `{"t":"shown","id":"%026[1]d","claim":"%026[1]d","by":"5f3a8c1e","via":"PostToolUse","at":"%[2]s"}`+"\n", i+1, now)
		}
	}
	path := mailbox.JournalPath(s.Home(), key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}

func benchAppend(b *testing.B, s *mailbox.Store, sync bool) {
	b.Helper()
	for n := 0; b.Loop(); n++ {
		if _, err := s.Append(alice, letter(), mailbox.AppendOptions{NoSync: !sync}); err != nil {
			b.Fatal(err)
		}
		if n%100 == 99 { // else the inbox is full some time
			b.StopTimer()
			c, err := s.Claim(alice, mailbox.ClaimOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Shown(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// Under 0.3 ms.
func BenchmarkAppend(b *testing.B) { benchAppend(b, newBenchStore(b), false) }

// One fsync (see BenchmarkFsync) and under 0.3 ms.
func BenchmarkAppendSync(b *testing.B) { benchAppend(b, newBenchStore(b), true) }

// As fast as BenchmarkAppend.
func BenchmarkAppendToOldBox(b *testing.B) { benchAppend(b, oldBox(b), false) }

// The yardstick for BenchmarkAppendSync: the disk's part.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := make([]byte, 500)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// oldBox has had 100,000 messages.
func oldBox(b *testing.B) *mailbox.Store {
	b.Helper()
	s := newBenchStore(b)
	journal(b, s, alice, 100_000, true)
	if err := s.Compact(alice); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchPending(b *testing.B, s *mailbox.Store, want int) {
	b.Helper()
	for b.Loop() {
		n, err := s.Pending(alice)
		if err != nil || n != want {
			b.Fatal(n, err)
		}
	}
}

// Two system calls.
func BenchmarkPendingNoBox(b *testing.B) { benchPending(b, newBenchStore(b), 0) }

func BenchmarkPendingEmptyBox(b *testing.B) {
	s := newBenchStore(b)
	journal(b, s, alice, 0, false)
	benchPending(b, s, 0)
}

// Well under 0.1 ms: as much as a box has before it is compacted.
func BenchmarkPendingHistory256K(b *testing.B) {
	s := newBenchStore(b)
	journal(b, s, alice, 350, true)
	if info, err := os.Stat(mailbox.JournalPath(s.Home(), alice)); err != nil || info.Size() < 240<<10 || info.Size() > 260<<10 {
		b.Fatal(info, err)
	}
	benchPending(b, s, 0)
}

// As fast as an empty box that has a journal.
func BenchmarkPendingOldBox(b *testing.B) { benchPending(b, oldBox(b), 0) }

// Under 5 ms: claim 100 of 1,000 that wait, and record them as shown.
func BenchmarkShow100Of1000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := newBenchStore(b)
		journal(b, s, alice, 1000, false)
		if err := s.Compact(alice); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		c, err := s.Claim(alice, mailbox.ClaimOptions{Limit: 100})
		if err != nil || len(c.Messages) != 100 || c.More != 900 {
			b.Fatal(len(c.Messages), err)
		}
		if err := c.Shown(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchFeed(b *testing.B) *mailbox.Store {
	b.Helper()
	s := newBenchStore(b)
	journal(b, s, bob, 10_000, false)
	if err := os.Mkdir(filepath.Join(s.Home(), "feeds"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(mailbox.JournalPath(s.Home(), bob), mailbox.FeedPath(s.Home(), feed)); err != nil {
		b.Fatal(err)
	}
	if _, err := s.FeedNew(feed, alice, mailbox.FeedOptions{}); err != nil {
		b.Fatal(err)
	}
	return s
}

// Under 1 ms in a feed of 10,000 messages.
func BenchmarkFeedNothingNew(b *testing.B) {
	s := benchFeed(b)
	for b.Loop() {
		if c, err := s.FeedNew(feed, alice, mailbox.FeedOptions{}); err != nil || len(c.Messages) != 0 {
			b.Fatal(c, err)
		}
	}
}

// Under 1 ms, the recording included.
func BenchmarkFeedOneNew(b *testing.B) {
	s := benchFeed(b)
	for b.Loop() {
		b.StopTimer()
		if _, err := s.Broadcast(feed, letter()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		c, err := s.FeedNew(feed, alice, mailbox.FeedOptions{})
		if err != nil || len(c.Messages) != 1 {
			b.Fatal(c, err)
		}
		if err := c.Shown(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenWorkOldBox(b *testing.B) {
	s := oldBox(b)
	for b.Loop() {
		if work, err := s.OpenWork(alice); err != nil || len(work) != 0 {
			b.Fatal(work, err)
		}
	}
}

// What message_status and a look at old mail cost.
func BenchmarkStateOldBox(b *testing.B) {
	s := oldBox(b)
	for b.Loop() {
		if _, err := s.State(alice); err != nil {
			b.Fatal(err)
		}
	}
}

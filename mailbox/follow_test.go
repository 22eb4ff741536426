package mailbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

func (p *post) follow(key string) *mailbox.Follower {
	p.Helper()
	f, err := p.Follow(key)
	p.ok(err)
	return f
}

// next gives the lines that are new to a follower, which must be so many.
func (p *post) next(f *mailbox.Follower, want int) []mailbox.Line {
	p.Helper()
	lines, err := f.Next()
	if err != nil || len(lines) != want {
		p.Fatalf("got %d lines %+v, %v, want %d", len(lines), lines, err, want)
	}
	return lines
}

func TestFollow(t *testing.T) {
	p := newPost(t)
	early := p.follow(alice) // before there is a box
	p.send(alice, "old")
	f := p.follow(alice)
	p.next(f, 0)
	p.next(early, 1)
	question := mailbox.NewID(time.Now())
	id := p.post(alice, mailbox.Message{Body: "new", ReplyTo: question, From: mailbox.Party{SessionID: "peer"}})
	if l := p.next(f, 1)[0]; l.T != mailbox.LineMessage || l.ID != id || l.ReplyTo != question || l.From.SessionID != "peer" || l.Kind != mailbox.KindNote {
		t.Errorf("got %+v", l)
	}
}

func TestFollowWaitsForWholeLines(t *testing.T) {
	p := newPost(t)
	id := p.send(alice, "x")
	f := p.follow(alice)
	file, err := os.OpenFile(mailbox.JournalPath(p.home, alice), os.O_APPEND|os.O_WRONLY, 0)
	p.ok(err)
	defer file.Close()
	_, err = file.WriteString(`{"t":"shown","id":"` + id + `",`)
	p.ok(err)
	p.next(f, 0)
	_, err = file.WriteString("\"via\":\"cli\"}\nnot json\n")
	p.ok(err)
	if l := p.next(f, 1)[0]; l.T != mailbox.LineShown || l.Via != "cli" {
		t.Errorf("got %+v", l)
	}
}

// After a compaction everything comes once more.
func TestFollowThroughCompaction(t *testing.T) {
	p := newPost(t)
	f := p.follow(alice)
	p.send(alice, "one")
	p.send(alice, "two")
	p.next(f, 2)
	p.ok(p.Compact(alice))
	p.next(f, 4) // and the two lines that compaction adds
	p.next(f, 0)
	p.send(alice, "after")
	p.next(f, 1)
}

// The file of a compaction may have the number of one that an earlier compaction has
// removed, and be longer than what was read.
func TestFollowThroughCompactionsIntoOneFile(t *testing.T) {
	p := newPost(t)
	for range 10 {
		p.send(alice, "old")
	}
	p.show(alice)
	before := p.journal(alice) // with claims, which a compaction drops
	p.ok(p.Compact(alice))
	answer := p.send(alice, "answer")
	p.send(alice, strings.Repeat("x", len(before)))
	after := p.journal(alice)

	p.write(alice, before)
	f := p.follow(alice)
	p.write(alice, after)
	lines, err := f.Next()
	p.ok(err)
	if !slices.ContainsFunc(lines, func(l mailbox.Line) bool { return l.ID == answer }) {
		t.Errorf("no answer in %+v", lines)
	}
	p.next(f, 0)
}

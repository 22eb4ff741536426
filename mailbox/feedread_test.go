package mailbox_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestFeedSeen(t *testing.T) {
	p := newPost(t)
	seen := func(what, reader, id string, want bool) {
		t.Helper()
		p.clock.jump(time.Second)
		st, err := p.FeedState(feed)
		p.ok(err)
		it, ok := st.Item(id)
		if !ok {
			t.Fatalf("no message %s", id)
		}
		if got, err := p.FeedSeen(feed, reader, it); err != nil || got != want {
			t.Errorf("%s: got %v, want %v (%v)", what, got, want, err)
		}
	}
	for _, reader := range []string{alice, bob} {
		p.hear(reader, mailbox.FeedOptions{})
	}
	first := p.say("dave", "first")
	seen("before the look", bob, first, false)
	expect(t, "bob", p.hear(bob, mailbox.FeedOptions{}), "first")
	held := p.news(alice, mailbox.FeedOptions{}) // a hook that is showing it while it is withdrawn
	p.clock.jump(time.Second)
	p.ok(p.Retract(feed, first))
	p.ok(held.Shown())
	seen("shown before it was withdrawn", bob, first, true)
	seen("being shown when it was withdrawn", alice, first, true)

	second := p.say("dave", "second")
	p.ok(p.Retract(feed, second))
	p.clock.jump(time.Second)
	expect(t, "bob passes it", p.hear(bob, mailbox.FeedOptions{}), "")
	seen("passed by", bob, second, false)
	third := p.say("dave", "third")
	expect(t, "alice, with a later one", p.hear(alice, mailbox.FeedOptions{}), "third")
	seen("passed by together with one that was shown", alice, second, false)
	seen("the one that was shown", alice, third, true)

	cleared := mailbox.SessionKey("cleared")
	p.ok(p.Move(alice, cleared))
	seen("before its owner went on as another session", cleared, third, true)
	seen("passed by before that", cleared, second, false)

	late := mailbox.SessionKey("late")
	p.hear(late, mailbox.FeedOptions{})
	seen("one who came later", late, third, false)
	fourth, fifth := p.say("dave", "fourth"), p.say("dave", "fifth")
	expect(t, "late", p.hear(late, mailbox.FeedOptions{Limit: 1}), "fourth")
	expect(t, "late", p.hear(late, mailbox.FeedOptions{Limit: 1}), "fifth")
	for _, age := range []time.Duration{0, 48 * time.Hour} {
		p.clock.jump(age)
		p.ok(p.Compact(late))
		seen("after a compaction, one who came later", late, third, false)
		seen("after a compaction, the last one", late, fifth, true)
		seen("after a compaction, one before it", late, fourth, age == 0)
	}
	if got, err := p.FeedSeen(feed, mailbox.SessionKey("nobody"), mailbox.Item{}); err != nil || got {
		t.Errorf("a box that is not there: got %v, %v", got, err)
	}
}

// Who reads a feed takes no lock of it, so a line may be there in part: whatever part
// that is, the message comes when it is whole.
func TestFeedReadWhileItIsWritten(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{FromStart: true})
	p.say("alice", "one")
	p.say("alice", "func two() { if true { return } }")
	whole, err := os.ReadFile(mailbox.FeedPath(p.home, feed))
	p.ok(err)
	journal := p.journal(bob)
	first := bytes.IndexByte(whole, '\n') + 1
	for cut := range whole {
		p.write(bob, journal)
		p.ok(os.WriteFile(mailbox.FeedPath(p.home, feed), whole[:cut], 0o600))
		begun := p.hear(bob, mailbox.FeedOptions{})
		if cut >= first && !strings.HasPrefix(begun, "one") {
			t.Fatalf("with %d bytes there: %q", cut, begun)
		}
		p.ok(os.WriteFile(mailbox.FeedPath(p.home, feed), whole, 0o600))
		got := strings.TrimSpace(begun + " " + p.hear(bob, mailbox.FeedOptions{}))
		expect(t, fmt.Sprintf("first with %d bytes there", cut), got, "one func two() { if true { return } }")
	}
}

// Where a place was before it moved on is known as long as that it did, however old.
func TestFeedsShownAfterACompaction(t *testing.T) {
	p := newPost(t)
	p.hear(alice, mailbox.FeedOptions{FromStart: true})
	for range 2 {
		p.clock.jump(48 * time.Hour)
		began := p.clock.now()
		p.clock.jump(time.Second)
		p.say("dave", "news")
		expect(t, "heard", p.hear(alice, mailbox.FeedOptions{}), "news")
		for range 2 {
			items, err := p.FeedsShown(alice, began)
			p.ok(err)
			expect(t, "shown in this turn", bodies(items), "news")
			p.ok(p.Compact(alice))
		}
	}
	if n := strings.Count(p.journal(alice), `"cursor"`); n > 2 {
		t.Errorf("%d old places are kept", n)
	}
}

// A long turn hears many broadcasts one by one: each is decoded for its own showing only.
func TestFeedsShownOneByOne(t *testing.T) {
	cost := func(broadcasts int) float64 {
		p := newPost(t)
		p.hear(alice, mailbox.FeedOptions{FromStart: true})
		began := p.clock.now()
		for range broadcasts {
			p.clock.jump(time.Second)
			p.say("dave", "news")
			p.hear(alice, mailbox.FeedOptions{})
		}
		return testing.AllocsPerRun(3, func() {
			if items, err := p.FeedsShown(alice, began); err != nil || len(items) != broadcasts {
				t.Errorf("%d items, %v", len(items), err)
			}
		})
	}
	if few, many := cost(40), cost(160); many > 8*few {
		t.Errorf("four times the broadcasts cost %.0f allocations instead of %.0f", many, few)
	}
}

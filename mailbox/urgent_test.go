package mailbox_test

import (
	"fmt"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestFeedsByScope(t *testing.T) {
	project, group := mailbox.FeedProject("/src/library"), mailbox.FeedGroup("team")
	for _, tt := range []struct{ group, receive, want string }{
		{"", "", project + " global"},
		{"team", "", project + " " + group + " global"},
		{"team", "project, group", project + " " + group},
		{"", "group", ""},
		{"team", "global", "global"},
		{"team", "none", ""},
	} {
		got := ""
		for _, f := range mailbox.Feeds("/src/library", tt.group, tt.receive) {
			got += " " + f.Key
		}
		if got != "" {
			got = got[1:]
		}
		expect(t, fmt.Sprintf("%+v", tt), got, tt.want)
	}
}

func (p *post) shout(from, body string) string {
	p.Helper()
	id, err := p.Broadcast(feed, &mailbox.Message{Body: body, Urgency: mailbox.UrgencyHigh, From: mailbox.Party{SessionID: from}})
	if err != nil {
		p.Fatal(err)
	}
	return id
}

func TestFeedUrgent(t *testing.T) {
	p := newPost(t)
	urgent := func(what, reader, self string, want int) {
		t.Helper()
		if got, err := p.FeedUrgent(feed, reader, self); err != nil || got != want {
			t.Errorf("%s: got %d, want %d (%v)", what, got, want, err)
		}
	}
	p.hear(bob, mailbox.FeedOptions{})
	p.say("alice", "calm")
	urgent("nothing urgent", bob, "bob", 0)
	id := p.shout("alice", "stop")
	p.shout("alice", "at once")
	urgent("unseen", bob, "bob", 2)
	urgent("own", bob, "alice", 0)
	urgent("never looked", alice, "carol", 0)
	p.ok(p.Retract(feed, id))
	urgent("one withdrawn", bob, "bob", 1)
	c := p.news(bob, mailbox.FeedOptions{})
	urgent("being shown", bob, "bob", 0)
	p.ok(c.Release())
	urgent("not shown after all", bob, "bob", 1)
	before := p.clock.now()
	p.clock.jump(time.Second)
	if p.FeedsShownSince(bob, before) || p.FeedsShownSince("no box", before) {
		t.Error("nothing was shown yet")
	}
	expect(t, "bob", p.hear(bob, mailbox.FeedOptions{}), "calm at once")
	urgent("shown", bob, "bob", 0)
	if !p.FeedsShownSince(bob, before) || p.FeedsShownSince(bob, p.clock.now()) || p.FeedsShownSince(alice, before) {
		t.Error("shown to bob, and at that moment")
	}
}

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
	if got, err := p.FeedSeen(feed, mailbox.SessionKey("nobody"), mailbox.Item{}); err != nil || got {
		t.Errorf("a box that is not there: got %v, %v", got, err)
	}
}

func TestFeedEnter(t *testing.T) {
	p := newPost(t)
	p.say("alice", "before")
	p.ok(p.FeedEnter(feed, bob, mailbox.FeedOptions{}))
	p.say("alice", "after")
	p.ok(p.FeedEnter(feed, bob, mailbox.FeedOptions{})) // it has a place, and keeps it
	expect(t, "bob", p.hear(bob, mailbox.FeedOptions{}), "after")
}

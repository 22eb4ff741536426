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

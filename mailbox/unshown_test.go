package mailbox_test

import (
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// seen are the messages of a box as its reader knows them.
func (p *post) seen(key string, ids ...string) (items []mailbox.Item) {
	p.Helper()
	for _, id := range ids {
		items = append(items, p.item(key, id))
	}
	return items
}

func marked(items []mailbox.Item) string {
	var all []string
	for _, it := range items {
		if it.PossiblySeen {
			all = append(all, it.Body+"?")
		} else {
			all = append(all, it.Body)
		}
	}
	return strings.Join(all, " ")
}

// take is show that tells which messages are marked.
func (p *post) take(key string, o mailbox.ClaimOptions) string {
	p.Helper()
	c := p.claim(key, o)
	p.ok(c.Shown())
	return marked(c.Messages)
}

// What was shown and did not arrive waits again, in its place and marked.
func TestUnshown(t *testing.T) {
	p := newPost(t)
	one, two := p.send(bob, "one"), p.post(bob, mailbox.Message{Kind: mailbox.KindAsk, Body: "two"})
	three := p.send(bob, "three")
	p.show(bob)
	four := p.send(bob, "four")
	was := p.seen(bob, one, two, three)
	p.ok(p.Answered(bob, three, four))
	p.ok(p.Unshown(bob, "bob", was))
	p.ok(p.Unshown(bob, "bob", was)) // a hook that is installed twice
	p.pending(bob, 3)
	if it := p.item(bob, one); it.Status() != "queued" || !it.PossiblySeen {
		t.Errorf("status %s, possibly seen %v", it.Status(), it.PossiblySeen)
	}
	expect(t, "a start", p.take(bob, mailbox.ClaimOptions{Fresh: true, Limit: 1}), "four")
	expect(t, "a page", p.take(bob, mailbox.ClaimOptions{Limit: 1}), "one?")
	p.ok(p.Unshown(bob, "bob", was)) // too late: it has been shown since
	p.ok(p.Compact(bob))
	expect(t, "the rest", p.take(bob, mailbox.ClaimOptions{}), "two?")
	p.pending(bob, 0)
	p.ok(p.Unshown(bob, "bob", p.seen(bob, two)))
	p.claim(bob, mailbox.ClaimOptions{PID: 3})
	p.dead[3] = true
	expect(t, "lost twice, and a reader that died", p.take(bob, mailbox.ClaimOptions{}), "two?")
	if it := p.item(bob, two); it.PossiblySeen || !it.Open(false) {
		t.Errorf("possibly seen %v, open %v", it.PossiblySeen, it.Open(false))
	}
}

// Compaction may come between the showing and word of its loss, and a move too.
func TestUnshownAfterCompactionAndMove(t *testing.T) {
	p := newPost(t)
	one, two := p.send(bob, "one"), p.post(bob, mailbox.Message{Kind: mailbox.KindTask, Body: "two"})
	p.show(bob)
	was := p.seen(bob, one, two)
	p.ok(p.Compact(bob))
	p.ok(p.Unshown(bob, "bob", was[:1]))
	expect(t, "after compaction", p.take(bob, mailbox.ClaimOptions{}), "one?")
	was = p.seen(bob, one, two)
	p.ok(p.Move(bob, carol))
	p.ok(p.Unshown(bob, "bob", was))
	p.ok(p.Unshown(bob, "bob", was))
	p.pending(bob, 0)
	p.ok(p.Compact(carol))
	p.ok(p.Move(carol, alice))
	expect(t, "after two moves", p.take(alice, mailbox.ClaimOptions{}), "one? two?")
	p.pending(carol, 0)
}

// A session that is left with /clear and resumed, to and fro: a message is lost in the
// box where it was shown, and waits where the session is now, whatever that box knows
// of it from before.
func TestUnshownAfterARoundTrip(t *testing.T) {
	p := newPost(t)
	id := p.send(bob, "one")
	p.ok(p.Move(bob, carol))
	expect(t, "where it went", p.take(carol, mailbox.ClaimOptions{}), "one")
	lost := p.seen(carol, id)
	p.ok(p.Move(carol, bob))
	p.ok(p.Unshown(carol, "carol", lost)) // a hook that comes after the move
	p.ok(p.Unshown(carol, "carol", lost))
	p.pending(bob, 1)
	p.ok(p.Move(bob, carol)) // which has shown it before
	expect(t, "there again", p.take(carol, mailbox.ClaimOptions{}), "one?")

	p.ok(p.Move(carol, bob))
	p.clock.jump(time.Second)
	p.ok(p.Unshown(bob, "bob", p.seen(carol, id)))
	expect(t, "in the first box", p.take(bob, mailbox.ClaimOptions{}), "one?")
	lost = p.seen(bob, id)
	p.ok(p.Move(bob, carol))
	p.clock.jump(time.Second)
	p.ok(p.Unshown(bob, "bob", lost)) // carol knows of an earlier showing
	expect(t, "after the later one was lost", p.take(carol, mailbox.ClaimOptions{}), "one?")
	p.ok(p.Unshown(bob, "bob", lost)) // it has been shown since
	p.pending(carol, 0)
}

// What is put there anew still comes before what is younger.
func TestUnshownKeepsTheOrder(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	var ids []string
	send := func(body string) {
		p.clock.jump(time.Second)
		ids = append(ids, p.send(bob, body))
	}
	began := p.clock.now()
	send("one")
	send("two")
	p.show(bob)
	p.ok(p.Compact(bob))
	p.clock.jump(time.Second)
	p.say("alice", "three")
	p.hear(bob, mailbox.FeedOptions{})
	send("four")
	p.show(bob)
	send("five")
	heard, err := p.FeedsShown(bob, began)
	p.ok(err)
	p.ok(p.Unshown(bob, "bob", append(p.seen(bob, ids[:3]...), heard...)))
	send("six")
	expect(t, "a page", p.take(bob, mailbox.ClaimOptions{Limit: 2}), "one? two?")
	p.ok(p.Compact(bob))
	p.ok(p.Move(bob, carol))
	expect(t, "the rest", p.take(carol, mailbox.ClaimOptions{}), "three? four? five six")
}

// In a repository's box each reader has its own copy, and loses it alone.
func TestUnshownOfARepository(t *testing.T) {
	p := newPost(t)
	id := p.send(repo, "one")
	for _, reader := range []string{"alice", "bob"} {
		expect(t, reader, p.take(repo, mailbox.ClaimOptions{Reader: reader}), "one")
	}
	p.ok(p.Unshown(repo, "bob", p.seen(repo, id)))
	p.ok(p.Compact(repo))
	expect(t, "alice", p.take(repo, mailbox.ClaimOptions{Reader: "alice"}), "")
	expect(t, "bob", p.take(repo, mailbox.ClaimOptions{Reader: "bob"}), "one?")
	expect(t, "bob again", p.take(repo, mailbox.ClaimOptions{Reader: "bob"}), "")
}

// A reader's place in a feed cannot go back: a lost broadcast waits in its box.
func TestFeedsShown(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	p.say("alice", "early")
	p.hear(bob, mailbox.FeedOptions{})
	p.clock.jump(time.Second)
	began := p.clock.now()
	shown := func(what, want string) (items []mailbox.Item) {
		t.Helper()
		items, err := p.FeedsShown(bob, began)
		p.ok(err)
		expect(t, what, bodies(items), want)
		return items
	}
	shown("nothing yet", "")
	p.clock.jump(time.Second)
	p.say("alice", "one")
	p.say("bob", "own")
	wrong := p.say("alice", "wrong")
	expect(t, "bob", p.hear(bob, mailbox.FeedOptions{Self: "bob", Via: "PreToolUse"}), "one wrong")
	p.say("alice", "two")
	p.hear(bob, mailbox.FeedOptions{Self: "bob", Via: "PostToolUse"})
	p.say("alice", "unseen")
	p.ok(p.Retract(feed, wrong))
	p.ok(p.Compact(bob))
	lost := shown("since the turn began", "one two")
	if s := lost[0].Shown; len(s) != 1 || s[0].By != "bob" || s[0].Via != "PreToolUse" || !s[0].At.After(began) {
		t.Errorf("shown: %+v", s)
	}
	seen := func(want bool) {
		t.Helper()
		if got, err := p.FeedSeen(feed, bob, lost[1]); err != nil || got != want {
			t.Errorf("seen: got %v, want %v (%v)", got, want, err)
		}
	}
	seen(true)
	p.ok(p.Unshown(bob, "bob", lost))
	p.ok(p.Unshown(bob, "bob", lost))
	seen(false)
	expect(t, "from the box", p.take(bob, mailbox.ClaimOptions{}), "one? two?")
	p.ok(p.Unshown(bob, "bob", lost))
	p.pending(bob, 0)
	seen(true)
	expect(t, "the feed goes on", p.hear(bob, mailbox.FeedOptions{Self: "bob"}), "unseen")
	p.clock.jump(25 * time.Hour)
	p.ok(p.Compact(bob))
	shown("long ago", "")
}

package mailbox_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/mailbox"
)

var feed = mailbox.FeedProject("/src/library")

func (p *post) say(from, body string) string {
	p.Helper()
	id, err := p.Broadcast(feed, &mailbox.Message{Body: body, From: mailbox.Party{SessionID: from}})
	if err != nil {
		p.Fatal(err)
	}
	return id
}

func (p *post) news(key string, o mailbox.FeedOptions) *mailbox.Claim {
	p.Helper()
	if o.PID == 0 {
		o.PID = 1
	}
	c, err := p.FeedNew(feed, key, o)
	if err != nil {
		p.Fatal(err)
	}
	return c
}

func (p *post) hear(key string, o mailbox.FeedOptions) string {
	p.Helper()
	c := p.news(key, o)
	p.ok(c.Shown())
	return bodies(c.Messages)
}

func TestFeedIsReadOnceFromItsEnd(t *testing.T) {
	p := newPost(t)
	none := mailbox.FeedOptions{}
	expect(t, "before the feed exists", p.hear(bob, none), "")
	p.say("alice", "one")
	expect(t, "a new reader", p.hear(alice, none), "")
	p.say("alice", "two")
	expect(t, "bob", p.hear(bob, none), "one two")
	expect(t, "bob again", p.hear(bob, none), "")
	expect(t, "own", p.hear(alice, mailbox.FeedOptions{Self: "alice"}), "")
	p.say("carol", "three")
	expect(t, "behind own", p.hear(alice, mailbox.FeedOptions{Self: "alice"}), "three")
	if got := mustState(p, bob).Cursors[feed]; got == "" {
		t.Error("no cursor")
	}
}

func TestFeedStartsWhereAsked(t *testing.T) {
	p := newPost(t)
	p.say("alice", "old")
	p.clock.jump(time.Hour)
	p.say("alice", "new")
	p.clock.jump(time.Minute)
	expect(t, "backfill", p.hear(bob, mailbox.FeedOptions{Backfill: 10 * time.Minute}), "new")
	expect(t, "once", p.hear(bob, mailbox.FeedOptions{Backfill: 10 * time.Hour}), "")
	expect(t, "from the start", p.hear(repo, mailbox.FeedOptions{FromStart: true}), "old new")
	_, err := p.Broadcast(feed, &mailbox.Message{Body: "ours", From: mailbox.Party{Box: repo}})
	p.ok(err)
	expect(t, "not back to its sender's box", p.hear(repo, mailbox.FeedOptions{FromStart: true}), "")
}

func TestFeedInPages(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	for i := range 5 {
		p.say("alice", fmt.Sprint(i))
	}
	c := p.news(bob, mailbox.FeedOptions{Limit: 2})
	if bodies(c.Messages) != "0 1" || c.More != 3 {
		t.Errorf("page: %q, %d more", bodies(c.Messages), c.More)
	}
	items, more, err := p.FeedPeek(feed, bob, mailbox.FeedOptions{})
	if err != nil || len(items) != 0 || more != 0 {
		t.Errorf("peek while somebody shows: %v, %d, %v", items, more, err)
	}
	p.ok(c.ShownOnly([]string{c.Messages[0].ID}))
	fits := func(m mailbox.Message) bool { return m.Body < "3" }
	expect(t, "next", p.hear(bob, mailbox.FeedOptions{Fits: fits}), "1 2")
	items, _, err = p.FeedPeek(feed, bob, mailbox.FeedOptions{})
	p.ok(err)
	expect(t, "peek", bodies(items), "3 4")
	p.ok(p.news(bob, mailbox.FeedOptions{}).Release())
	expect(t, "last", p.hear(bob, mailbox.FeedOptions{}), "3 4")
}

func TestParallelHooksOfOneReaderTakeTurns(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	p.say("alice", "one")
	first := p.news(bob, mailbox.FeedOptions{PID: 1})
	p.say("alice", "two")
	expect(t, "second hook", bodies(p.news(bob, mailbox.FeedOptions{PID: 2}).Messages), "")
	p.ok(first.Shown())
	expect(t, "then", p.hear(bob, mailbox.FeedOptions{PID: 2}), "two")

	p.say("alice", "three")
	p.news(bob, mailbox.FeedOptions{PID: 3})
	p.dead[3] = true
	p.say("alice", "four")
	c := p.news(bob, mailbox.FeedOptions{PID: 4})
	if bodies(c.Messages) != "three four" || !c.Messages[0].PossiblySeen || c.Messages[1].PossiblySeen {
		t.Errorf("after a death: %+v", c.Messages)
	}
}

func TestFeedIDsRiseWhateverTheClockSays(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	last := ""
	for i := range 50 {
		id := p.say("alice", fmt.Sprint(i))
		if id <= last {
			t.Fatalf("id %s after %s", id, last)
		}
		last = id
		p.clock.jump(time.Duration(i%7-3) * time.Hour)
	}
	if got := strings.Fields(p.hear(bob, mailbox.FeedOptions{})); len(got) != 50 {
		t.Errorf("read %d of 50", len(got))
	}
	given := mailbox.NewID(p.clock.now().Add(-1000 * time.Hour))
	id, err := p.Broadcast(feed, &mailbox.Message{ID: given, Body: "late"})
	p.ok(err)
	if id <= last {
		t.Errorf("an old id was taken: %s", id)
	}
}

func TestRetract(t *testing.T) {
	p := newPost(t)
	p.hear(bob, mailbox.FeedOptions{})
	p.hear(alice, mailbox.FeedOptions{})
	id := p.say("carol", "wrong")
	p.say("carol", "right")
	expect(t, "alice was quick", p.hear(alice, mailbox.FeedOptions{}), "wrong right")
	p.ok(p.Retract(feed, id))
	p.ok(p.Retract(feed, id))
	expect(t, "bob", p.hear(bob, mailbox.FeedOptions{}), "right")
	if st, err := p.FeedState(feed); err != nil || st.Items[0].Status() != "retracted" {
		t.Errorf("status: %v, %v", st.Items[0].Status(), err)
	}
	for _, f := range []string{feed, mailbox.FeedGlobal} {
		if err := p.Retract(f, "unknown"); !errors.Is(err, mailbox.ErrUnknownMessage) {
			t.Errorf("unknown: %v", err)
		}
	}
}

// Trimming neither moves a reader back nor makes it skip what is still there.
func TestFeedTrimming(t *testing.T) {
	p := newPost(t)
	p.hear(alice, mailbox.FeedOptions{})
	p.hear(bob, mailbox.FeedOptions{})
	long := strings.Repeat("x", 4000)
	say := func(i int) { p.say("carol", fmt.Sprintf("%d-%s", i, long)) }
	n := 0
	for ; n < 40; n++ {
		say(n)
	}
	p.hear(alice, mailbox.FeedOptions{})
	p.clock.jump(31 * 24 * time.Hour)
	for ; n < 150; n++ {
		say(n) // past 256 KiB on the way
	}
	if st, err := p.FeedState(feed); err != nil || len(st.Items) != 110 || !strings.HasPrefix(st.Items[0].Body, "40-") {
		t.Errorf("feed: %d messages, %v", len(st.Items), err)
	}
	for _, reader := range []string{alice, bob} {
		got := strings.Fields(p.hear(reader, mailbox.FeedOptions{}))
		if len(got) != 110 || !strings.HasPrefix(got[0], "40-") || !strings.HasPrefix(got[109], "149-") {
			t.Errorf("%s read %d messages", reader, len(got))
		}
	}
	p.ok(os.Remove(mailbox.FeedPath(p.home, feed))) // by hand, or by gc
	p.clock.jump(time.Second)
	p.say("carol", "again")
	expect(t, "after the feed was made anew", p.hear(bob, mailbox.FeedOptions{}), "again")
}

// However young they are, a feed keeps no more than its last 10,000 messages.
func TestFeedTrimmingByCount(t *testing.T) {
	p := newPost(t)
	p.hear(alice, mailbox.FeedOptions{})
	p.say("carol", "0")
	var lines strings.Builder
	for n := range 10_300 {
		p.clock.jump(time.Millisecond)
		fmt.Fprintf(&lines, `{"t":"msg","id":%q,"v":1,"kind":"note","from":{"session_id":"carol"},"to":{},"body":"%d","sent_at":%q}`+"\n",
			mailbox.NewID(p.clock.now()), n+1, p.clock.now().Format(time.RFC3339Nano))
	}
	f, err := os.OpenFile(mailbox.FeedPath(p.home, feed), os.O_APPEND|os.O_WRONLY, 0)
	p.ok(err)
	_, err = f.WriteString(lines.String())
	p.ok(err)
	p.ok(f.Close())
	_, err = p.GC(mailbox.GCOptions{})
	p.ok(err)
	got := strings.Fields(p.hear(alice, mailbox.FeedOptions{}))
	if len(got) != 10_000 || got[0] != "301" || got[9_999] != "10300" {
		t.Errorf("%d messages, from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

func TestStandingAnnouncementsStayUntilRetracted(t *testing.T) {
	p := newPost(t)
	say := func(body string) string {
		id, err := p.Broadcast(mailbox.FeedRepos, &mailbox.Message{Body: body})
		p.ok(err)
		return id
	}
	gone := say("gone")
	say("stays")
	p.ok(p.Retract(mailbox.FeedRepos, gone))
	p.clock.jump(90 * 24 * time.Hour)
	for range 80 {
		say(strings.Repeat("x", 4000))
	}
	c, err := p.FeedNew(mailbox.FeedRepos, repo, mailbox.FeedOptions{FromStart: true, Limit: 1, PID: 1})
	p.ok(err)
	expect(t, "a repository that appears later", bodies(c.Messages), "stays")
	if st, err := p.FeedState(mailbox.FeedRepos); err != nil || len(st.Items) != 81 {
		t.Errorf("%d messages, %v; want the retracted one gone", len(st.Items), err)
	}
}

func TestCursorsGoAlong(t *testing.T) {
	p := newPost(t)
	p.hear(alice, mailbox.FeedOptions{})
	p.say("carol", "one")
	p.hear(alice, mailbox.FeedOptions{})
	p.say("carol", "two")
	p.ok(p.Move(alice, bob))
	p.ok(p.Compact(bob))
	expect(t, "after /clear", p.hear(bob, mailbox.FeedOptions{}), "two")
	expect(t, "the old id", p.hear(alice, mailbox.FeedOptions{}), "")
}

// A session's own broadcasts stay its own when it goes on under a new id.
func TestOwnBroadcastsAfterMoving(t *testing.T) {
	p := newPost(t)
	box := []string{mailbox.SessionKey("first"), mailbox.SessionKey("second"), mailbox.SessionKey("third")}
	p.send(box[0], "before")
	expect(t, "nothing yet", p.hear(box[0], mailbox.FeedOptions{Self: "first"}), "")
	_, err := p.Broadcast(feed, &mailbox.Message{Body: "own", From: mailbox.Party{SessionID: "first", Box: box[0]}})
	p.ok(err)
	p.ok(p.Move(box[0], box[1]))
	p.ok(p.Move(box[1], box[2]))
	p.say("bob", "another's")
	expect(t, "after two moves", p.hear(box[2], mailbox.FeedOptions{Self: "third"}), "another's")
}

func TestFeedWithManyReadersAndWriters(t *testing.T) {
	p := newPost(t)
	const writers, each, readers = 4, 50, 3
	for r := range readers {
		p.hear(mailbox.SessionKey(fmt.Sprint("reader", r)), mailbox.FeedOptions{})
	}
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	seen := make([][]string, readers)
	for r := range readers {
		reading.Go(func() {
			key := mailbox.SessionKey(fmt.Sprint("reader", r))
			for last := false; ; {
				c, err := p.FeedNew(feed, key, mailbox.FeedOptions{Limit: 7, PID: 1})
				if err != nil {
					t.Error(err)
					return
				}
				if err := c.Shown(); err != nil {
					t.Error(err)
				}
				seen[r] = append(seen[r], strings.Fields(bodies(c.Messages))...)
				if len(c.Messages) > 0 {
					continue
				}
				if last {
					return
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := p.Broadcast(feed, &mailbox.Message{Body: fmt.Sprintf("%d-%03d", w, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	for r, got := range seen {
		next := make(map[byte]string)
		for _, body := range got {
			if body <= next[body[0]] {
				t.Fatalf("reader %d: %s after %s", r, body, next[body[0]])
			}
			next[body[0]] = body
		}
		if len(got) != writers*each {
			t.Errorf("reader %d saw %d of %d", r, len(got), writers*each)
		}
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

package mailbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestMailIsShownOnceInOrder(t *testing.T) {
	p := newPost(t)
	for _, body := range []string{"a", "b", "c"} {
		p.send(alice, body)
	}
	p.pending(alice, 3)
	c := p.claim(alice, mailbox.ClaimOptions{Reader: "alice", Via: "PostToolUse"})
	expect(t, "claimed", bodies(c.Messages), "a b c")
	p.pending(alice, 3) // claimed is not shown
	p.clock.jump(time.Second)
	p.ok(c.Shown())
	p.pending(alice, 0)
	expect(t, "shown again", p.show(alice), "")
	it := p.item(alice, c.Messages[1].ID)
	if want := (mailbox.Shown{By: "alice", Via: "PostToolUse", At: p.clock.now()}); len(it.Shown) != 1 || it.Shown[0] != want {
		t.Errorf("receipt: got %+v, want %+v", it.Shown, want)
	}
	expect(t, "status", it.Status(), "shown")
}

func TestTwoReadersNeverShowTheSame(t *testing.T) {
	p := newPost(t)
	p.send(alice, "a")
	p.send(alice, "b")
	first := p.claim(alice, mailbox.ClaimOptions{PID: 1, Limit: 1})
	second := p.claim(alice, mailbox.ClaimOptions{PID: 2})
	third := p.claim(alice, mailbox.ClaimOptions{PID: 3})
	expect(t, "first", bodies(first.Messages), "a")
	expect(t, "second", bodies(second.Messages), "b")
	expect(t, "third", bodies(third.Messages), "")
	if first.More != 1 || third.More != 0 {
		t.Errorf("more: %d, %d", first.More, third.More)
	}
	p.ok(first.Release())
	expect(t, "released", bodies(p.claim(alice, mailbox.ClaimOptions{PID: 3}).Messages), "a")
	p.ok(second.Shown())
	p.pending(alice, 1)
}

func TestClaimOfTheDeadComesBackMarked(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(p *post)
		back bool
	}{
		{"alive", func(p *post) { p.clock.jump(50 * time.Second) }, false},
		{"killed", func(p *post) { p.dead[1] = true }, true},
		{"silent for a minute", func(p *post) { p.clock.jump(time.Minute) }, true},
		{"clock set back", func(p *post) { p.clock.jump(-time.Hour) }, true},
		{"clock set forward", func(p *post) { p.clock.jump(24 * time.Hour) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPost(t)
			p.send(alice, "a")
			claim := p.claim(alice, mailbox.ClaimOptions{PID: 1})
			tt.end(p)
			p.send(alice, "b")
			again := p.claim(alice, mailbox.ClaimOptions{PID: 2})
			if !tt.back {
				expect(t, "claimed", bodies(again.Messages), "b")
				return
			}
			expect(t, "claimed", bodies(again.Messages), "a b")
			if !again.Messages[0].PossiblySeen || again.Messages[1].PossiblySeen {
				t.Errorf("possibly seen: %v, %v", again.Messages[0].PossiblySeen, again.Messages[1].PossiblySeen)
			}
			// The first one was only slow: its release must not free the second's claim.
			p.ok(claim.Release())
			expect(t, "third", bodies(p.claim(alice, mailbox.ClaimOptions{PID: 3}).Messages), "")
		})
	}
}

func TestClaimFillsABudgetWithWholeMessages(t *testing.T) {
	p := newPost(t)
	for _, body := range []string{"one", "two", "three", "x"} {
		p.send(alice, body)
	}
	left := 8
	asked := 0
	c := p.claim(alice, mailbox.ClaimOptions{Fits: func(m mailbox.Message) bool {
		asked++
		left -= len(m.Body)
		return left >= 0
	}})
	expect(t, "claimed", bodies(c.Messages), "one two")
	if c.More != 2 || asked != 3 {
		t.Errorf("more %d, asked %d; want 2 and 3", c.More, asked)
	}
	p.ok(c.ShownOnly([]string{c.Messages[0].ID}))
	expect(t, "rest", p.show(alice), "two three x")
}

func TestClaimOfCertainMessages(t *testing.T) {
	p := newPost(t)
	p.send(alice, "a")
	id := p.send(alice, "b")
	c := p.claim(alice, mailbox.ClaimOptions{OnlyIDs: []string{id, "unknown"}})
	expect(t, "claimed", bodies(c.Messages), "b")
	none := p.claim(alice, mailbox.ClaimOptions{OnlyIDs: []string{}})
	expect(t, "none", bodies(none.Messages), "")
}

func TestLookingChangesNothing(t *testing.T) {
	p := newPost(t)
	look := func() {
		_, err1 := p.Pending(alice)
		_, _, err2 := p.Peek(alice, mailbox.ClaimOptions{})
		_, err3 := p.State(alice)
		_, err4 := p.OpenWork(alice)
		_, err5 := p.OpenAsks(alice)
		_, err6 := p.Boxes()
		_, _, err7 := p.FeedPeek(mailbox.FeedGlobal, alice, mailbox.FeedOptions{})
		_, err8 := p.FeedState(mailbox.FeedGlobal)
		_, err9 := p.GC(mailbox.GCOptions{DryRun: true})
		p.ok(errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9))
	}
	look()
	if _, err := os.Stat(p.home); err == nil {
		t.Error("looking made the home")
	}
	p.send(alice, "a")
	_, err := p.Broadcast(mailbox.FeedGlobal, &mailbox.Message{Body: "all"})
	p.ok(err)
	c := p.claim(alice, mailbox.ClaimOptions{}) // a claim that dies
	p.dead[1] = true
	if len(c.Messages) != 1 {
		t.Fatal("no claim")
	}
	before := tree(t, p.home)
	look()
	if after := tree(t, p.home); !slices.Equal(before, after) {
		t.Errorf("looking changed\n%v\ninto\n%v", before, after)
	}
}

// tree is every file under dir with its content and time.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		line := path + " " + info.ModTime().String()
		if !e.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(data)
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRepliesAreLeftToTheOneWhoWaits(t *testing.T) {
	const asker = 7
	until := func(p *post) time.Time { return p.clock.now().Add(time.Minute) }
	for _, tt := range []struct {
		name string
		then func(p *post)
		mail string // what a hook is given
	}{
		{"waiting", func(p *post) {}, "other"},
		{"asker killed", func(p *post) { p.dead[asker] = true }, "answer other"},
		{"timed out", func(p *post) { p.ok(p.AskEnded(alice, "q", "timed_out", "")) }, "answer other"},
		{"cancelled", func(p *post) { p.ok(p.AskEnded(alice, "q", "cancelled", "")) }, "answer other"},
		{"answered", func(p *post) { p.ok(p.AskEnded(alice, "q", "answered", "r")) }, "answer other"},
		{"long over", func(p *post) { p.clock.jump(2 * time.Minute) }, "answer other"},
		{"just over", func(p *post) { p.clock.jump(65 * time.Second) }, "other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPost(t)
			p.ok(p.Asked(alice, mailbox.Ask{ID: "q", ToName: "bob", PID: asker, Start: "s", Until: until(p)}))
			p.post(alice, mailbox.Message{Kind: mailbox.KindReply, ReplyTo: "q", Body: "answer"})
			p.post(alice, mailbox.Message{Kind: mailbox.KindReply, ReplyTo: "another", Body: "other"})
			tt.then(p)
			waits, err := p.OpenAsks(alice)
			p.ok(err)
			if open := tt.mail == "other"; (len(waits) == 1) != open {
				t.Errorf("open questions: %+v", waits)
			}
			hook := p.claim(alice, mailbox.ClaimOptions{PID: 2})
			expect(t, "hook", bodies(hook.Messages), tt.mail)
			p.ok(hook.Release())
			mine := p.claim(alice, mailbox.ClaimOptions{PID: asker, OnlyReplyTo: "q"})
			expect(t, "asker", bodies(mine.Messages), "answer")
			p.ok(mine.Shown())
			expect(t, "rest", p.show(alice), "other")
		})
	}
}

func TestRepositoryMailIsShownToEachReaderUntilClosed(t *testing.T) {
	p := newPost(t)
	id := p.send(repo, "parser breaks us")
	other := p.send(repo, "thanks")
	read := func(who string, again bool) string {
		c := p.claim(repo, mailbox.ClaimOptions{Reader: who, Again: again})
		p.ok(c.Shown())
		return bodies(c.Messages)
	}
	expect(t, "ann", read("ann", false), "parser breaks us thanks")
	expect(t, "ann again", read("ann", false), "")
	expect(t, "ann, next session start", read("ann", true), "parser breaks us thanks")
	expect(t, "ben", read("ben", false), "parser breaks us thanks")
	p.pending(repo, 2)

	// While one shows it, another may, but not the same one twice.
	one := p.claim(repo, mailbox.ClaimOptions{Reader: "cid", PID: 1})
	expect(t, "cid in parallel", bodies(p.claim(repo, mailbox.ClaimOptions{Reader: "cid", PID: 2}).Messages), "")
	expect(t, "dan in parallel", bodies(p.claim(repo, mailbox.ClaimOptions{Reader: "dan", PID: 3}).Messages), "parser breaks us thanks")
	p.ok(one.Release())

	p.ok(p.Close(repo, id, "done", mailbox.Party{SessionID: "ben"}, ""))
	if err := p.Close(repo, id, "done", mailbox.Party{SessionID: "ann"}, ""); !errors.Is(err, mailbox.ErrAlreadyClosed) ||
		!strings.Contains(err.Error(), "ben") {
		t.Errorf("closing twice: %v", err)
	}
	p.ok(p.Answered(repo, other, "reply-id"))
	expect(t, "after closing", read("ann", true), "")
	p.pending(repo, 0)
	open, err := p.OpenWork(repo)
	p.ok(err)
	expect(t, "open", bodies(open), "")
}

func TestRemindNamesEachMessageOnce(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, mailbox.Message{Kind: mailbox.KindTask, Body: "do it"})
	p.show(alice)
	for i, want := range []int{1, 0} {
		fresh, err := p.Remind(alice, mailbox.Shown{By: "alice", Via: "Stop reminder"}, []string{id, "unknown"})
		p.ok(err)
		if len(fresh) != want {
			t.Errorf("reminder %d: %v", i, fresh)
		}
	}
	open, err := p.OpenWork(alice)
	p.ok(err)
	if len(open) != 1 || len(open[0].Shown) != 2 {
		t.Errorf("open: %+v", open)
	}
}

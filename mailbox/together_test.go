package mailbox_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"peermux/internal/private"
	"peermux/mailbox"
)

// hold takes the lock of a box, as another process would.
func (p *post) hold(key string) (release func()) {
	p.Helper()
	f, err := os.OpenFile(mailbox.JournalPath(p.home, key), os.O_RDWR, 0)
	p.ok(err)
	p.ok(private.Flock(f))
	return func() { p.ok(f.Close()) }
}

// awaitQueued waits until n changes of a box wait for the one that is under way.
func (p *post) awaitQueued(key string, n int) {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, busy := p.Queued(key)
		if busy && got == n {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%d changes wait, %v; want %d", got, busy, n)
		}
	}
}

// Changes of a box that come while another one is under way share a transaction.
// Each has its own outcome, and nobody stays behind in the queue.
func TestChangesTogether(t *testing.T) {
	p := newPost(t)
	p.fill(alice, mailbox.MaxUnshown-10, "old")
	release := p.hold(alice)
	const senders = 30
	errs := make([]error, senders)
	var all sync.WaitGroup
	send := func(i int) {
		all.Go(func() {
			m := mailbox.Message{Body: fmt.Sprint("new ", i)}
			_, errs[i] = p.Append(alice, &m, mailbox.AppendOptions{NoSync: i%2 == 0})
		})
	}
	send(0)
	p.awaitQueued(alice, 0)
	for i := 1; i < senders; i++ {
		send(i)
	}
	p.awaitQueued(alice, senders-1)
	release()
	all.Wait()
	stored := map[string]int{}
	for _, it := range p.claim(alice, mailbox.ClaimOptions{}).Messages {
		stored[it.Body]++
	}
	accepted := 0
	for i, err := range errs {
		want := 0
		if err == nil {
			want = 1
			accepted++
		} else if !errors.Is(err, mailbox.ErrInboxFull) {
			t.Errorf("sender %d: %v", i, err)
		}
		if body := fmt.Sprint("new ", i); stored[body] != want {
			t.Errorf("%q is there %d times, want %d", body, stored[body], want)
		}
	}
	if accepted != 10 {
		t.Errorf("%d were accepted, want 10", accepted)
	}
	if n, busy := p.Queued(alice); n != 0 || busy {
		t.Errorf("%d are left in the queue, busy %v", n, busy)
	}
}

// Whoever cannot have the box at all is told so, alone and in company.
func TestChangesTogetherFail(t *testing.T) {
	p := newPost(t)
	p.send(alice, "x")
	release := p.hold(alice)
	errs := make([]error, 5)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			m := mailbox.Message{Body: "y"}
			_, errs[i] = p.Append(alice, &m, mailbox.AppendOptions{})
		})
	}
	p.awaitQueued(alice, len(errs)-1)
	// The journal is not a file any more when their turn comes.
	path := mailbox.JournalPath(p.home, alice)
	p.ok(os.Remove(path))
	p.ok(os.Mkdir(path, 0o700))
	release()
	all.Wait()
	for i, err := range errs {
		if err == nil {
			t.Errorf("change %d of a folder succeeded", i)
		}
	}
	if n, busy := p.Queued(alice); n != 0 || busy {
		t.Errorf("%d are left in the queue, busy %v", n, busy)
	}
}

// A box moves away while changes of it wait: they follow it.
func TestChangesFollowAMove(t *testing.T) {
	p := newPost(t)
	p.send(alice, "first")
	const senders, each = 8, 25
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for range each {
				m := mailbox.Message{Body: "x"}
				if _, err := p.Append(alice, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	other, err := mailbox.Open(p.home, time.Now)
	p.ok(err)
	p.ok(other.Move(alice, bob))
	all.Wait()
	p.pending(alice, 0)
	p.pending(bob, 1+senders*each)
}

// An answer is taken once, ends its question, and is mail again when it could not
// be shown.
func TestTakeAnswer(t *testing.T) {
	p := newPost(t)
	p.ok(p.Asked(alice, mailbox.Ask{ID: "question", PID: 1}))
	id := p.post(alice, mailbox.Message{Kind: mailbox.KindReply, ReplyTo: "question", Body: "yes"})
	take := func(key string) *mailbox.Claim {
		t.Helper()
		c, err := p.TakeAnswer(key, "question", mailbox.ClaimOptions{PID: 1, OnlyIDs: []string{id}, OnlyReplyTo: "question", Via: "ask"})
		p.ok(err)
		return c
	}
	open := func(want int) {
		t.Helper()
		if asks, err := p.OpenAsks(alice); err != nil || len(asks) != want {
			t.Errorf("open questions: %v, %v; want %d", asks, err, want)
		}
	}
	if c := take(bob); len(c.Messages) != 0 {
		t.Errorf("taken out of another box: %v", c.Messages)
	}
	open(1)
	c := take(alice)
	expect(t, "taken", bodies(c.Messages), "yes")
	open(0)
	expect(t, "taken again", bodies(take(alice).Messages), "")
	expect(t, "shown to others", p.show(alice), "")
	p.ok(c.Release())
	expect(t, "released", p.show(alice), "yes")
	p.ok(p.Asked(alice, mailbox.Ask{ID: "question", PID: 1}))
	expect(t, "taken when it was shown", bodies(take(alice).Messages), "")
	open(1)
}

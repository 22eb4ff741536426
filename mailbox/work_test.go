package mailbox_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"peermux/mailbox"
)

func (p *post) open(key string) string {
	p.Helper()
	items, err := p.OpenWork(key)
	if err != nil {
		p.Fatal(err)
	}
	return bodies(items)
}

func task(from, body string) mailbox.Message {
	return mailbox.Message{Kind: mailbox.KindTask, Body: body, From: mailbox.Party{SessionID: from, Box: mailbox.SessionKey(from)}}
}

func TestOpenWork(t *testing.T) {
	p := newPost(t)
	p.send(alice, "note")
	job := p.post(alice, task("bob", "task"))
	ask := p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: "ask"})
	expect(t, "unshown", p.open(alice), "task ask")
	p.show(alice)
	expect(t, "shown", p.open(alice), "task ask")
	p.ok(p.Compact(alice))
	expect(t, "compacted", p.open(alice), "task ask")
	p.ok(p.Answered(alice, job, "r1")) // a reply leaves a task open
	p.ok(p.Answered(alice, ask, "r2"))
	expect(t, "answered", p.open(alice), "task")
	if it := p.item(alice, ask); it.Answered != "r2" || it.Status() != "answered" {
		t.Errorf("ask: %+v", it)
	}
	p.ok(p.Close(alice, job, "blocked", mailbox.Party{SessionID: "alice"}, "r3"))
	expect(t, "closed", p.open(alice), "")
	if it := p.item(alice, job); it.Status() != "blocked" || it.ClosedID != "r3" || it.ClosedBy != "alice" || it.ClosedAt.IsZero() {
		t.Errorf("task: %+v", it)
	}
	for _, tt := range []struct{ id, how string }{{"unknown", "done"}, {job, "finished"}} {
		if err := p.Close(alice, tt.id, tt.how, mailbox.Party{}, ""); err == nil {
			t.Errorf("Close(%v) was taken", tt)
		}
	}
	if err := p.Answered(bob, ask, "x"); !errors.Is(err, mailbox.ErrUnknownMessage) {
		t.Errorf("somebody else's mail: %v", err)
	}
}

func TestWithdraw(t *testing.T) {
	p := newPost(t)
	id := p.send(alice, "never mind")
	shown := p.send(alice, "seen")
	p.ok(p.claim(alice, mailbox.ClaimOptions{OnlyIDs: []string{shown}}).Shown())
	for _, tt := range []struct {
		id   string
		want bool
	}{{id, true}, {shown, false}, {id, false}} {
		if got, err := p.Withdraw(alice, tt.id); err != nil || got != tt.want {
			t.Errorf("withdraw: %v, %v; want %v", got, err, tt.want)
		}
	}
	expect(t, "shown", p.show(alice), "")
	if it := p.item(alice, id); it.Status() != "retracted" {
		t.Errorf("status %s", it.Status())
	}
}

func completion(task, how, by, body string) mailbox.Completion {
	return mailbox.Completion{
		Task: task, How: how, By: mailbox.Party{SessionID: by},
		Result: &mailbox.Message{Body: body, From: mailbox.Party{SessionID: by}},
	}
}

func TestCompleteDeliversAndCloses(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, task("bob", "do it"))
	res, err := p.Complete(alice, completion(id, "done", "alice", "did it"))
	p.ok(err)
	if res.ID != mailbox.CompletionID(id) || res.Key != bob {
		t.Errorf("result: %+v", res)
	}
	c := p.claim(bob, mailbox.ClaimOptions{})
	if m := c.Messages; len(m) != 1 || m[0].Kind != mailbox.KindResult || m[0].Tag != "done" || m[0].ReplyTo != id {
		t.Fatalf("requester got %+v", m)
	}
	p.ok(c.Shown())
	if it := p.item(alice, id); it.Closed != "done" || it.ClosedID != res.ID {
		t.Errorf("task: %+v", it)
	}
	if _, err := p.Complete(alice, completion(id, "blocked", "alice", "no")); !errors.Is(err, mailbox.ErrAlreadyClosed) {
		t.Errorf("again: %v", err)
	}
	p.pending(bob, 0)
}

// The process dies after it delivered the result and before it closed the task.
func TestCompleteAfterACrash(t *testing.T) {
	for _, tt := range []struct {
		name    string
		retry   mailbox.Completion
		then    func(p *post)
		wantErr error
	}{
		{"the same again", completion("", "done", "alice", "did it"), nil, nil},
		{"another word", completion("", "blocked", "alice", "could not"), nil, mailbox.ErrAlreadyClosed},
		{"another closer", completion("", "done", "ann", "did it"), nil, mailbox.ErrAlreadyClosed},
		{"the result was shown", completion("", "done", "alice", "did it"), func(p *post) { p.show(bob) }, nil},
		{"the requester moved", completion("", "done", "alice", "did it"), func(p *post) {
			p.show(bob)
			p.ok(p.Move(bob, carol))
		}, nil},
		{"the task moved", completion("", "done", "alice", "did it"), func(p *post) {
			p.ok(p.Move(alice, mailbox.SessionKey("alice after clear")))
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPost(t)
			id := p.post(alice, task("bob", "do it"))
			p.show(alice)
			before := p.journal(alice)
			_, err := p.Complete(alice, completion(id, "done", "alice", "did it"))
			p.ok(err)
			p.write(alice, before) // as if it had died before the second write
			expect(t, "open", p.open(alice), "do it")
			if tt.then != nil {
				tt.then(p)
			}
			tt.retry.Task = id
			if _, err := p.Complete(alice, tt.retry); !errors.Is(err, tt.wantErr) {
				t.Errorf("retry: got %v, want %v", err, tt.wantErr)
			}
			it := p.item(alice, id)
			if it.Closed != "done" || it.ClosedBy != "alice" {
				t.Errorf("task: closed %q by %q; want what the requester was told", it.Closed, it.ClosedBy)
			}
			got := 0
			for _, key := range []string{bob, carol} {
				st, err := p.State(key)
				p.ok(err)
				got += strings.Count(bodies(st.Items), "did it")
			}
			if got != 1 {
				t.Errorf("the result was delivered %d times", got)
			}
		})
	}
}

func TestCompleteIsWonByOne(t *testing.T) {
	p := newPost(t)
	for range 20 {
		a, b := p.post(alice, task("bob", "for alice")), p.post(bob, task("alice", "for bob"))
		var wins [2]int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				// Both directions at once: the locks must not wait for each other.
				for j, key := range []string{alice, bob} {
					id := []string{a, b}[j]
					how := []string{"done", "blocked"}[i%2]
					_, err := p.Complete(key, completion(id, how, "closer", how))
					if err != nil && !errors.Is(err, mailbox.ErrAlreadyClosed) {
						t.Error(err)
					}
					if err == nil {
						mu.Lock()
						wins[j]++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		if wins != [2]int{1, 1} {
			t.Fatalf("closed %v times", wins)
		}
		for j, key := range []string{alice, bob} {
			id := []string{a, b}[j]
			res := p.item([]string{bob, alice}[j], mailbox.CompletionID(id))
			if it := p.item(key, id); it.Closed != res.Tag {
				t.Errorf("closed as %s, the requester was told %s", it.Closed, res.Tag)
			}
		}
	}
}

func TestCompleteRefusals(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, task("bob", "do it"))
	orphan := p.post(alice, mailbox.Message{Kind: mailbox.KindTask, Body: "from nowhere"})
	self := p.post(alice, task("alice", "to myself"))
	for _, tt := range []struct {
		name string
		c    mailbox.Completion
		want error
	}{
		{"unknown", completion("nope", "done", "a", "x"), mailbox.ErrUnknownMessage},
		{"how", completion(id, "maybe", "a", "x"), nil},
		{"empty", completion(id, "done", "a", ""), mailbox.ErrEmptyBody},
		{"no requester", completion(orphan, "done", "a", "x"), nil},
	} {
		if _, err := p.Complete(alice, tt.c); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	p.fill(bob, mailbox.MaxUnshown, "x")
	if _, err := p.Complete(alice, completion(id, "done", "a", "x")); !errors.Is(err, mailbox.ErrInboxFull) {
		t.Errorf("full: %v", err)
	}
	expect(t, "still open", p.open(alice), "do it from nowhere to myself")
	_, err := p.Complete(alice, completion(self, "done", "alice", "x"))
	p.ok(err)
	expect(t, "own task", p.open(alice), "do it from nowhere")
}

func TestSentIsFoundUnderFormerIDs(t *testing.T) {
	p := newPost(t)
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: "m1", Kind: mailbox.KindNote, ToKey: bob, ToName: "bob"}))
	p.ok(p.Move(alice, carol))
	p.clock.jump(1)
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: "m2", ToKey: bob})) // by the old name
	sent, err := p.SentBy(carol)
	p.ok(err)
	if len(sent) != 2 || sent[0].ID != "m1" || sent[1].ID != "m2" || sent[0].ToKey != bob {
		t.Errorf("sent: %+v", sent)
	}
}

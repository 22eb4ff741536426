package mailbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"peermux/mailbox"
)

// settle gives alice n questions that she has answered, and n of her own that were
// answered.
func (p *post) settle(n int) {
	p.Helper()
	for i := range n {
		asked := p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: fmt.Sprint("question ", i), From: mailbox.Party{Box: bob}})
		p.show(alice)
		p.ok(p.Answered(alice, asked, "answer"))
		p.ok(p.Sent(alice, mailbox.SentRecord{ID: asked, Kind: mailbox.KindReply, ToKey: bob}))
		p.answered(i)
	}
}

// answered is a question of alice's own that is answered.
func (p *post) answered(i int) {
	p.Helper()
	id := mailbox.NewID(p.clock.now())
	p.ok(p.Asked(alice, mailbox.Ask{ID: id, ToBox: bob, PID: 1}))
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: id, Kind: mailbox.KindAsk, ToKey: bob}))
	p.post(alice, mailbox.Message{Kind: mailbox.KindReply, Body: fmt.Sprint("answer ", i), ReplyTo: id})
	c, err := p.TakeAnswer(alice, id, mailbox.ClaimOptions{OnlyReplyTo: id, PID: 1})
	p.ok(err)
	p.ok(c.Shown())
}

func TestShownSince(t *testing.T) {
	p := newPost(t)
	since := func(want bool) {
		t.Helper()
		if got, err := p.ShownSince(alice, p.clock.now()); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		p.clock.jump(time.Second)
	}
	since(false)
	p.send(alice, "one")
	p.show(alice)
	since(false)
	p.send(alice, "two")
	before := p.clock.now()
	p.clock.jump(time.Second)
	p.show(alice)
	for range 2 {
		if got, err := p.ShownSince(alice, before); err != nil || !got {
			t.Errorf("shown after that, and got %v, %v", got, err)
		}
		p.ok(p.Compact(alice))
	}
}

// Asks lists the same as State.
func TestAsks(t *testing.T) {
	p := newPost(t)
	p.settle(3)
	open := mailbox.NewID(p.clock.now())
	p.ok(p.Asked(alice, mailbox.Ask{ID: open, ToBox: bob, PID: 1}))
	for range 2 {
		st, err := p.State(alice)
		p.ok(err)
		got, err := p.Asks(alice)
		p.ok(err)
		short := func(asks []mailbox.Ask) (s []string) {
			for _, a := range asks {
				s = append(s, fmt.Sprint(a.ID, a.ToBox, a.Ended, a.Reply, a.At))
			}
			return s
		}
		if len(got) != 4 || !slices.Equal(short(got), short(st.Asks)) {
			t.Errorf("got  %v\nwant %v", short(got), short(st.Asks))
		}
		p.ok(p.Compact(alice))
	}
}

// What asks and answers do to a box decodes nothing of what is settled there.
func TestSettledCostsNothing(t *testing.T) {
	few, many := newPost(t), newPost(t)
	few.settle(3)
	many.settle(300)
	for _, tt := range []struct {
		name string
		do   func(*post, string) error
	}{
		{"Find", func(p *post, id string) error { _, err := p.Find(alice, id); return err }},
		{"Trace", func(p *post, id string) error { _, err := p.Trace(alice, id); return err }},
		{"Lineage", func(p *post, _ string) error { _, err := p.Lineage(alice); return err }},
		{"Resolve", func(p *post, _ string) error { p.Resolve(alice); return nil }},
		{"Answered", func(p *post, id string) error { return p.Answered(alice, id, "answer") }},
		{"Naming", func(p *post, id string) error { _, err := p.Naming(alice, id); return err }},
		{"OpenAsks", func(p *post, _ string) error { _, err := p.OpenAsks(alice); return err }},
		{"OpenWork", func(p *post, _ string) error { _, err := p.OpenWork(alice); return err }},
		{"an ask", func(p *post, _ string) error { p.answered(0); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			count := func(p *post) float64 {
				id := p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: "now"})
				p.show(alice)
				n := testing.AllocsPerRun(5, func() { p.ok(tt.do(p, id)) })
				p.ok(p.Answered(alice, id, "answer"))
				return n
			}
			// Lists grow in steps, so a few more there may be.
			a, b := count(many), count(few)
			if t.Logf("%v allocations, with little settled %v", a, b); a > b+100 {
				t.Errorf("it decodes what is settled")
			}
		})
	}
}

package mailbox_test

import (
	"testing"
	"time"

	"peermux/mailbox"
)

// TestGlance: it says at every stage what the three calls say that it stands for.
func TestGlance(t *testing.T) {
	p := newPost(t)
	same := func(stage string, unshown, tasks, asks int) {
		t.Helper()
		g, err := p.Glance(alice)
		p.ok(err)
		if g.Unshown != unshown || g.Tasks != tasks || len(g.Asks) != asks {
			t.Errorf("%s: %+v, want %d unshown, %d tasks, %d asks", stage, g, unshown, tasks, asks)
		}
		pending, err := p.Pending(alice)
		p.ok(err)
		open, err := p.OpenAsks(alice)
		p.ok(err)
		if pending != g.Unshown || len(open) != len(g.Asks) {
			t.Errorf("%s: %+v, but %d pending and %d open asks", stage, g, pending, len(open))
		}
	}
	same("nothing there", 0, 0, 0)
	p.send(alice, "note")
	job := p.post(alice, task("bob", "task"))
	p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: "ask"})
	p.ok(p.Asked(alice, mailbox.Ask{ID: job, ToBox: bob, PID: 7, Start: "1", At: p.clock.now(), Until: p.clock.now().Add(time.Minute)}))
	same("arrived", 3, 1, 1)
	p.show(alice)
	same("shown", 0, 1, 1)
	p.ok(p.Compact(alice))
	same("compacted", 0, 1, 1)
	p.ok(p.Close(alice, job, "done", mailbox.Party{SessionID: "alice"}, "r"))
	same("closed", 0, 0, 1)
	p.dead[7] = true
	same("the asker is dead", 0, 0, 0)
	if _, err := p.Glance("../etc"); err == nil {
		t.Error("a key that is none was taken")
	}
}

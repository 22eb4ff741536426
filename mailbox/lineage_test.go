package mailbox_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

func TestLineage(t *testing.T) {
	s, err := mailbox.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{mailbox.SessionKey("one"), mailbox.SessionKey("two"), mailbox.SessionKey("three")}
	for i := range 2 {
		m := mailbox.Message{Body: "x"}
		if _, err := s.Append(keys[i], &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Move(keys[i], keys[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	// Compaction keeps what a lineage is read from.
	if err := s.Compact(keys[2]); err != nil {
		t.Fatal(err)
	}
	got, err := s.Lineage(keys[2])
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{keys[2], keys[1], keys[0]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A box that comes back to life continues the one it had become.
	if err := s.Move(keys[2], keys[0]); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Lineage(keys[0]); err != nil || len(got) != 3 || got[0] != keys[0] {
		t.Errorf("after moving back: %v, %v", got, err)
	}
	if got, err := s.Lineage(mailbox.SessionKey("nobody")); err != nil || len(got) != 1 {
		t.Errorf("a box that is not there: %v, %v", got, err)
	}
}

// Of a message that went along, arrived and has been forgotten there nothing is
// claimed; one on its way waits.
func TestForgotten(t *testing.T) {
	p := newPost(t)
	id := p.send(alice, "old")
	p.ok(p.Move(alice, bob))
	status := func(want string) {
		t.Helper()
		traced, err := p.Trace(alice, id)
		p.ok(err)
		for what, it := range map[string]mailbox.Item{"of alice": p.item(alice, id), "of bob": p.item(bob, id), "traced": traced} {
			if it.Status() != want || it.Body != "old" {
				t.Errorf("%s: got %s %q, want %s", what, it.Status(), it.Body, want)
			}
		}
	}
	status("queued")
	arrived := p.journal(bob)
	adopt, _, _ := strings.Cut(arrived, "\n")
	p.write(bob, adopt+"\n") // the move broke off before the mail was there
	status("queued")
	p.write(bob, arrived)
	p.ok(p.Revive(alice)) // which says nothing of what went along before
	status("queued")
	p.show(bob)
	status("shown")
	p.clock.jump(31 * 24 * time.Hour)
	p.ok(p.Compact(bob))
	status("unknown")
	p.ok(p.Move(bob, carol))
	status("unknown")
}

// Trace says what Find says, from the lines about one message.
func TestTrace(t *testing.T) {
	p := newPost(t)
	p.send(alice, "settled")
	p.show(alice)
	id := p.post(alice, task("bob", "job"))
	answer := p.post(alice, mailbox.Message{Kind: mailbox.KindReply, ReplyTo: id, Body: "answer"})
	same := func(what string) {
		t.Helper()
		for _, m := range []string{id, answer} {
			got, err := p.Trace(alice, m)
			p.ok(err)
			if want := p.item(alice, m); got.Status() != want.Status() || got.Body != want.Body || len(got.Shown) != len(want.Shown) {
				t.Errorf("%s: got %s %q, want %s %q", what, got.Status(), got.Body, want.Status(), want.Body)
			}
		}
	}
	same("queued")
	p.ok(p.Compact(alice))
	same("compacted")
	p.show(alice)
	p.ok(p.Compact(alice))
	same("shown and compacted")
	p.ok(p.Move(alice, bob))
	same("moved")
	p.ok(p.Close(bob, id, "done", mailbox.Party{}, "r"))
	same("closed")
	if _, err := p.Trace(carol, id); !errors.Is(err, mailbox.ErrUnknownMessage) {
		t.Errorf("unknown: %v", err)
	}
}

package mailbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"peermux/mailbox"
)

func TestMoveTakesAlongWhatWaits(t *testing.T) {
	p := newPost(t)
	p.send(alice, "read")
	job := p.post(alice, task("bob", "job"))
	p.show(alice)
	p.send(alice, "unread")
	p.send(carol, "of the new session")
	p.ok(p.Asked(alice, mailbox.Ask{ID: "q", ToName: "bob", PID: 1}))
	p.ok(p.Asked(alice, mailbox.Ask{ID: "over", PID: 1}))
	p.ok(p.AskEnded(alice, "over", "timed_out", ""))

	p.ok(p.Move(alice, carol))
	p.ok(p.Move(alice, carol)) // again: nothing more to do
	late := p.send(alice, "late")

	p.pending(alice, 0)
	expect(t, "open in the old box", p.open(alice), "")
	expect(t, "open", p.open(carol), "job")
	expect(t, "shown", p.show(carol), "of the new session unread late")
	expect(t, "the old id's hook", p.show(alice), "")
	if got := p.Resolve(alice); got != carol {
		t.Errorf("resolves to %s", got)
	}
	asks, err := p.OpenAsks(carol)
	p.ok(err)
	if len(asks) != 1 || asks[0].ID != "q" || asks[0].ToName != "bob" {
		t.Errorf("questions: %+v", asks)
	}
	// Old ids still find their messages, wherever they are now, and the new session
	// finds what the old one had read.
	expect(t, "status by the old key", p.item(alice, late).Status(), "shown")
	for _, it := range mustState(p, alice).Items {
		expect(t, "found", p.item(carol, it.ID).Body, it.Body)
	}
	p.ok(p.Answered(carol, mustState(p, alice).Items[0].ID, "reply"))
	expect(t, "answered under the old id", p.item(alice, mustState(p, alice).Items[0].ID).Answered, "reply")
	p.ok(p.Close(carol, job, "done", mailbox.Party{}, ""))
	expect(t, "closed", p.item(alice, job).Status(), "done")
}

func mustState(p *post, key string) *mailbox.State {
	p.Helper()
	st, err := p.State(key)
	p.ok(err)
	return st
}

func TestMoveBackAndForth(t *testing.T) {
	p := newPost(t)
	p.post(alice, task("x", "job"))
	p.show(alice)
	first := p.send(alice, "first")
	p.ok(p.Move(alice, bob)) // /clear
	second := p.send(alice, "second")
	expect(t, "bob", p.show(bob), "first second")
	p.send(bob, "third")
	p.ok(p.Move(bob, alice)) // /resume of the old conversation
	if p.Resolve(bob) != alice || p.Resolve(alice) != alice {
		t.Fatalf("bob resolves to %s, alice to %s", p.Resolve(bob), p.Resolve(alice))
	}
	p.send(bob, "fourth")
	p.send(alice, "fifth")
	expect(t, "alice", p.show(alice), "third fourth fifth")
	expect(t, "alice owes", p.open(alice), "job")
	p.ok(p.Compact(alice))
	p.ok(p.Compact(bob))
	p.ok(p.Move(alice, bob))
	p.ok(p.Move(bob, carol))
	p.ok(p.Move(carol, alice))
	expect(t, "nothing twice", p.show(alice)+p.show(bob)+p.show(carol), "")
	expect(t, "owed once", p.open(alice)+p.open(bob)+p.open(carol), "job")
	for _, id := range []string{first, second} {
		for _, key := range []string{alice, bob, carol} {
			expect(t, "status", p.item(key, id).Status(), "shown")
		}
	}
}

func TestRevive(t *testing.T) {
	p := newPost(t)
	p.send(alice, "before")
	p.ok(p.Move(alice, bob))
	p.send(alice, "meanwhile")
	p.ok(p.Revive(alice)) // resumed in another terminal, while bob goes on
	p.ok(p.Revive(alice))
	p.ok(p.Revive(carol)) // never moved: nothing happens
	p.send(alice, "after")
	expect(t, "alice", p.show(alice), "after")
	expect(t, "bob", p.show(bob), "before meanwhile")
}

func TestMoveOfNothing(t *testing.T) {
	p := newPost(t)
	p.ok(p.Move(alice, bob))
	p.send(alice, "x") // a peer that holds the old id
	expect(t, "bob", p.show(bob), "x")
	if err := p.Move(bob, bob); err == nil {
		t.Error("moved into itself")
	}
}

func TestClaimInFlightFollowsAMove(t *testing.T) {
	p := newPost(t)
	p.send(alice, "a")
	p.send(alice, "b")
	slow := p.claim(alice, mailbox.ClaimOptions{PID: 1, Limit: 1})
	p.ok(p.Move(alice, bob))
	expect(t, "meanwhile", bodies(p.claim(bob, mailbox.ClaimOptions{PID: 2}).Messages), "b")
	p.ok(slow.Shown())
	p.dead[1], p.dead[2] = true, true
	expect(t, "after", p.show(bob), "b")
}

// disk is the journals of alice and bob.
type disk struct{ a, b string }

// brokenMoves are all states that a crash during a move of alice to bob can leave
// on disk, down to single bytes. There is a job to do, and "one", "two" and "own"
// wait.
func brokenMoves(t *testing.T) (disks []disk) {
	t.Helper()
	p := newPost(t)
	p.post(alice, task("x", "job"))
	p.show(alice)
	p.send(alice, "one")
	p.send(alice, "two")
	p.send(bob, "own")
	a0, b0 := p.journal(alice), p.journal(bob)
	p.ok(p.Move(alice, bob))
	moved, ok1 := strings.CutPrefix(p.journal(alice), a0)
	arrived, ok2 := strings.CutPrefix(p.journal(bob), b0)
	if !ok1 || !ok2 {
		t.Fatal("a move does more than append")
	}
	adopt := strings.Index(arrived, "\n") + 1
	for n := range adopt {
		disks = append(disks, disk{a0, b0 + arrived[:n]})
	}
	for n := range len(moved) + 1 {
		disks = append(disks, disk{a0 + moved[:n], b0 + arrived[:adopt]})
	}
	for n := adopt; n < len(arrived)+1; n++ {
		disks = append(disks, disk{a0 + moved, b0 + arrived[:n]})
	}
	return disks
}

func TestMoveBrokenOffAnywhere(t *testing.T) {
	for i, d := range brokenMoves(t) {
		if i%stress(6, 1) != 0 {
			continue
		}
		order := [][]string{{alice, bob}, {bob, alice}}[i/stress(6, 1)%2]
		p := newPost(t)
		p.write(alice, d.a)
		p.write(bob, d.b)
		p.send(alice, "three")
		p.send(bob, "four")
		var got, owed []string
		for _, key := range order {
			waiting, err := p.Pending(key)
			p.ok(err)
			shown := strings.Fields(p.show(key))
			got, owed = append(got, shown...), append(owed, strings.Fields(p.open(key))...)
			if len(shown) != waiting {
				t.Errorf("state %d: %d shown of %s, %d were pending", i, len(shown), key, waiting)
			}
		}
		p.ok(p.Move(alice, bob))
		got = append(got, strings.Fields(p.show(bob))...)
		if fmt.Sprint(owed) != "[job]" || p.open(bob) != "job" {
			t.Errorf("state %d: owed %v, then %v", i, owed, p.open(bob))
		}
		// In the order they were sent in, box by box.
		if at := func(s string) int { return slices.Index(got, s) }; at("one") > at("two") || at("two") > at("three") {
			t.Errorf("state %d: order %v", i, got)
		}
		slices.Sort(got)
		if fmt.Sprint(got) != "[four one own three two]" {
			t.Fatalf("state %d: shown %v\n%s\n%s", i, got, d.a, d.b)
		}
	}
}

// Another move, or a return, comes before anybody has finished the broken one.
func TestMoveBrokenOffAndOvertaken(t *testing.T) {
	then := map[string]func(p *post) error{
		"old goes elsewhere":   func(p *post) error { return p.Move(alice, carol) },
		"old lives again":      func(p *post) error { return p.Revive(alice) },
		"third becomes old":    func(p *post) error { return p.Move(carol, alice) },
		"new becomes old":      func(p *post) error { return p.Move(bob, alice) },
		"new goes elsewhere":   func(p *post) error { return p.Move(bob, carol) },
		"third becomes new":    func(p *post) error { return p.Move(carol, bob) },
		"there and back again": func(p *post) error { return errors.Join(p.Move(bob, alice), p.Move(alice, bob)) },
	}
	for i, d := range brokenMoves(t) {
		if i%stress(90, 1) != 0 {
			continue
		}
		for name, then := range then {
			p := newPost(t)
			p.write(alice, d.a)
			p.write(bob, d.b)
			p.ok(then(p))
			p.send(alice, "three")
			p.send(bob, "four")
			p.send(carol, "five")
			var got, owed []string
			for range 2 {
				for _, key := range []string{alice, bob, carol} {
					got = append(got, strings.Fields(p.show(key))...)
				}
			}
			for _, key := range []string{alice, bob, carol} {
				owed = append(owed, strings.Fields(p.open(key))...)
			}
			slices.Sort(got)
			if fmt.Sprint(got, owed) != "[five four one own three two] [job]" {
				t.Fatalf("state %d, then %s: shown %v, owed %v\n%s\n%s", i, name, got, owed, d.a, d.b)
			}
		}
	}
}

// Records that no crash can leave behind, but a damaged disk can.
func TestMovesInARing(t *testing.T) {
	for name, lines := range map[string][2]string{
		"both adopt":  {`{"t":"adopt","id":"x","box":"` + bob + `"}`, `{"t":"adopt","id":"y","box":"` + alice + `"}`},
		"both moved":  {`{"t":"moved","id":"x","box":"` + bob + `"}`, `{"t":"moved","id":"y","box":"` + alice + `"}`},
		"into itself": {`{"t":"moved","id":"x","box":"` + alice + `"}` + "\n" + `{"t":"adopt","id":"z","box":"` + alice + `"}`, ""},
		"nowhere":     {`{"t":"moved","id":"x","box":"../../etc"}`, `{"t":"adopt","id":"y","box":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			p.write(alice, lines[0]+"\n")
			p.write(bob, lines[1]+"\n")
			id := p.send(alice, "x")
			expect(t, "found", p.item(alice, id).Body, "x")
			p.ok(p.Move(alice, carol))
			p.ok(p.Move(bob, carol))
			p.send(alice, "y")
			p.send(bob, "z")
			got := strings.Fields(p.show(carol))
			if name == "both moved" {
				got = got[max(0, len(got)-2):] // where the first one went is not defined
			}
			if !strings.HasSuffix(strings.Join(got, " "), "y z") {
				t.Errorf("shown: %v", got)
			}
		})
	}
}

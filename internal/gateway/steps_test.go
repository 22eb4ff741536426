package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// A server that dies while it takes a drop leaves one of these; whoever comes next
// takes it to its end, once.
func TestTakeAfterEachStep(t *testing.T) {
	for _, c := range []struct {
		name string
		died func(h *house, f folder, e registry.Entry)
	}{
		{"before anything", func(h *house, f folder, e registry.Entry) { h.write(f.in(idA+".md"), hello) }},
		{"claimed", func(h *house, f folder, e registry.Entry) { h.write(taking(f, idA), hello) }},
		{"appended", func(h *house, f folder, e registry.Entry) {
			h.write(taking(f, idA), hello)
			h.in(func(d *door) error {
				return h.host.Board.Deliver(context.Background(), d.actor, e, switchboard.AppMail{ID: idA, Body: "hello"})
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			e := h.session("session-1")
			f := h.folder(e)
			c.died(h, f, e)
			h.takeAll(f, e)
			h.takeAll(f, e)
			if got := h.names(f.in()); got != idA+".seen.md" {
				t.Errorf("in/ has %s", got)
			}
			if got := h.bodies(e.Box); !slices.Equal(got, []string{"hello"}) {
				t.Errorf("the box has %q", got)
			}
		})
		t.Run(c.name+", and the session ends", func(t *testing.T) {
			h := newHouse(t)
			e := h.session("session-1")
			f := h.folder(e)
			c.died(h, f, e)
			h.end()
			h.in((*door).sweep)
			gone := filepath.Join(h.app.Dir, goneName, filepath.Base(f.path))
			bodies, names := h.bodies(e.Box), h.names(filepath.Join(gone, inName))
			if len(bodies) == 1 && names != "" || len(bodies) == 0 && names != idA+".bad.md "+idA+".why.txt" {
				t.Errorf("in/ has %q with %q in the box", names, bodies)
			}
		})
	}
}

// The reason is written before the name that points to it; one who died in between
// leaves a reason that is written again.
func TestRefuseAfterDeath(t *testing.T) {
	h := newHouse(t)
	e := h.session("session-1")
	f := h.folder(e)
	h.write(taking(f, idA), "bad")
	h.write(f.in(idA+whySuffix), "half a rea")
	h.takeAll(f, e)
	if got := h.names(f.in()); got != idA+".bad.md "+idA+".why.txt" {
		t.Errorf("in/ has %s", got)
	}
	why, err := os.ReadFile(f.in(idA + whySuffix))
	if err != nil || !strings.HasPrefix(string(why), "line 1: ") {
		t.Errorf("why: %q, %v", why, err)
	}
}

// A server that dies while it puts out a message: it appears, and appears once.
func TestPutAfterEachStep(t *testing.T) {
	send := func(h *house, e registry.Entry) string {
		m := mailbox.Message{From: switchboard.PartyOf(e), Body: "answer"}
		at, err := h.host.Board.Store.Append(h.app.Box(), &m, mailbox.AppendOptions{})
		if err != nil {
			h.t.Fatal(err)
		}
		return at.ID
	}
	claim := func(h *house, pid int) *mailbox.Claim {
		c, err := h.host.Board.Store.Claim(h.app.Box(), mailbox.ClaimOptions{Reader: "app:voice", Via: viaGateway, PID: pid, Start: "1"})
		if err != nil {
			h.t.Fatal(err)
		}
		return c
	}
	const dead = 1 << 30 // no such process
	for _, c := range []struct {
		name string
		died func(h *house, f folder, id string)
	}{
		{"sent", func(*house, folder, string) {}},
		{"claimed", func(h *house, f folder, id string) { claim(h, dead) }},
		{"half written", func(h *house, f folder, id string) { claim(h, dead); h.write(f.out("."+id+outSuffix), "---\nki") }},
		{"recorded", func(h *house, f folder, id string) {
			h.write(f.out("."+id+outSuffix), "---\n---\nanswer\n")
			if err := claim(h, dead).Shown(); err != nil {
				h.t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			e := h.session("session-1")
			f := h.folder(e)
			id := send(h, e)
			c.died(h, f, id)
			h.in(func(d *door) error { return errors.Join(d.flush(), d.sweep()) })
			if got := h.names(f.out()); got != id+".md" {
				t.Fatalf("out/ has %s", got)
			}
			data, err := os.ReadFile(f.out(id + ".md"))
			if err != nil || !strings.HasSuffix(string(data), "---\nanswer\n") {
				t.Errorf("%s, %v", data, err)
			}
			if err := os.Remove(f.out(id + ".md")); err != nil {
				t.Fatal(err)
			}
			h.in(func(d *door) error { return errors.Join(d.flush(), d.sweep()) })
			if got := h.names(f.out()); got != "" {
				t.Errorf("it came again: %s", got)
			}
		})
	}
}

// One who dies while withdrawing leaves the message whole, or withdrawn.
func TestWithdrawAfterEachStep(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		h := newHouse(t)
		e := h.session("session-1")
		f := h.folder(e)
		m := mailbox.Message{From: switchboard.PartyOf(e), Body: "answer"}
		at, err := h.host.Board.Store.Append(h.app.Box(), &m, mailbox.AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h.in((*door).flush)
		if err := os.Rename(f.out(at.ID+".md"), f.out("."+at.ID+backSuffix)); err != nil {
			t.Fatal(err)
		}
		want := at.ID + ".md"
		if recorded {
			want = ""
			if err := h.host.Board.Store.Recall(h.app.Box(), at.ID); err != nil {
				t.Fatal(err)
			}
		}
		h.in((*door).sweep)
		if got := h.names(f.out()); got != want {
			t.Errorf("recorded %v: out/ has %q, want %q", recorded, got, want)
		}
	}
}

package mailbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/mailbox"
)

// leave makes a home in which a move of alice to bob broke off.
func (d disk) leave(t *testing.T) *post {
	t.Helper()
	p := newPost(t)
	p.write(alice, d.a)
	p.write(bob, d.b)
	for _, key := range []string{alice, bob} {
		p.ok(os.Chtimes(mailbox.JournalPath(p.home, key), p.clock.now(), p.clock.now()))
	}
	return p
}

// whole reports whether nobody died in the middle of a line.
func (d disk) whole() bool { return strings.HasSuffix(d.a, "\n") && strings.HasSuffix(d.b, "\n") }

// count checks that what is counted in a box is what its reader is given, and that
// looking has changed nothing. It returns what was given.
func (p *post) count(key string) []string {
	p.Helper()
	before := tree(p.T, p.home)
	n, err := p.Pending(key)
	p.ok(err)
	items, more, err := p.Peek(key, mailbox.ClaimOptions{})
	p.ok(err)
	if !slices.Equal(tree(p.T, p.home), before) {
		p.Errorf("counting %s has changed something", key)
	}
	shown := p.show(key)
	if got := len(strings.Fields(shown)); got != n || more != 0 || bodies(items) != shown {
		p.Errorf("%s: %d are counted, %q and %d more are seen, %q is shown", key, n, bodies(items), more, shown)
	}
	return strings.Fields(shown)
}

// What is counted is what is shown, wherever a move broke off, and whatever comes
// before its next user: a compaction that breaks off as well, one that does not,
// or a month and a gc.
func TestCountedIsShownAfterABreak(t *testing.T) {
	between := map[string]func(p *post) error{
		"nothing":      func(*post) error { return nil },
		"an old id":    func(p *post) error { return p.Compact(alice) },
		"a new id":     func(p *post) error { return p.Compact(bob) },
		"half a copy":  halfACopy,
		"a month":      func(p *post) error { return aMonth(p, true) },
		"month and gc": func(p *post) error { return aMonth(p, false) },
		"old, late":    func(p *post) error { return errors.Join(aMonth(p, true), p.Compact(alice)) },
		"new, late":    func(p *post) error { return errors.Join(aMonth(p, true), p.Compact(bob)) },
	}
	for i, d := range brokenMoves(t) {
		if !d.whole() && i%stress(311, 5) != 0 {
			continue
		}
		for name, do := range between {
			for _, order := range [][]string{{alice, bob}, {bob, alice}} {
				p := d.leave(t)
				p.ok(do(p))
				got := append(p.count(order[0]), p.count(order[1])...)
				p.ok(p.Move(alice, bob))
				got = append(got, p.count(bob)...)
				slices.Sort(got)
				if strings.Join(got, " ") != "one own two" || p.open(bob) != "job" {
					t.Fatalf("state %d, then %s: shown %v, owed %q\n%s\n%s", i, name, got, p.open(bob), d.a, d.b)
				}
			}
		}
	}
}

func halfACopy(p *post) error {
	for _, key := range []string{alice, bob} {
		path := mailbox.JournalPath(p.home, key)
		data := p.journal(key)
		tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-1-abcdef")
		if err := os.WriteFile(tmp, []byte(data[:len(data)/2]), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func aMonth(p *post, dry bool) error {
	p.clock.jump(31 * day)
	_, err := p.GC(mailbox.GCOptions{DryRun: dry})
	return err
}

// Tasks and questions are closed and answered as well before anybody else has used
// a box into which a move broke off.
func TestClosedAfterABreak(t *testing.T) {
	for i, d := range brokenMoves(t) {
		if !d.whole() && i%stress(311, 5) != 0 {
			continue
		}
		names := []string{alice, bob}
		if !strings.Contains(d.b, alice+`","at":"2026-05-01T12:00:00Z"}`) {
			names = names[:1] // bob does not know of alice yet
		}
		for _, key := range names {
			for name, do := range map[string]func(p *post, id string) error{
				"close":  func(p *post, id string) error { return p.Close(key, id, "done", mailbox.Party{}, "") },
				"answer": func(p *post, id string) error { return p.Answered(key, id, "reply") },
				"complete": func(p *post, id string) error {
					_, err := p.Complete(key, mailbox.Completion{Task: id, How: "done", To: carol, Result: &mailbox.Message{Body: "x"}})
					return err
				},
			} {
				p := d.leave(t)
				id := p.mustOwe()
				if err := do(p, id); err != nil {
					t.Fatalf("state %d: %s as %s: %v\n%s\n%s", i, name, key, err, d.a, d.b)
				}
				p.ok(p.Move(alice, bob))
				it := p.item(bob, id)
				if it.Closed != "done" && it.Answered != "reply" {
					t.Fatalf("state %d: %s as %s: %+v", i, name, key, it)
				}
			}
		}
	}
}

// mustOwe is the id of the one task.
func (p *post) mustOwe() string {
	p.Helper()
	for _, it := range mustState(p, alice).Items {
		if it.Kind == mailbox.KindTask {
			return it.ID
		}
	}
	p.Fatal("no task")
	return ""
}

// Where a message went, it may be forgotten by now.
func TestAnswerToWhatIsForgotten(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, task("x", "job"))
	p.ok(p.Move(alice, bob))
	p.write(bob, `{"t":"adopted","id":"x","box":"`+alice+`"}`+"\n")
	_, err := p.Complete(bob, mailbox.Completion{Task: id, How: "done", To: carol, Result: &mailbox.Message{Body: "x"}})
	for _, err := range []error{p.Answered(bob, id, "reply"), p.Close(alice, id, "done", mailbox.Party{}, ""), err} {
		if !errors.Is(err, mailbox.ErrUnknownMessage) {
			t.Errorf("got %v", err)
		}
	}
}

// Another process begins to move a box, and dies, while this one waits for its lock.
func TestMoveBrokenOffInBetween(t *testing.T) {
	for name, then := range map[string]func(p *post) error{
		"move":    func(p *post) error { return p.Move(alice, bob) },
		"into it": func(p *post) error { return p.Move(bob, alice) },
		"revive":  func(p *post) error { return p.Revive(alice) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t)
			p.post(alice, task("x", "job"))
			p.send(alice, "one")
			p.send(bob, "own")
			f, err := os.OpenFile(mailbox.JournalPath(p.home, alice), os.O_RDWR|os.O_APPEND, 0)
			p.ok(err)
			defer f.Close()
			p.ok(unix.Flock(int(f.Fd()), unix.LOCK_EX))
			done := make(chan error, 1)
			go func() { done <- then(p) }()
			// Should it not have come to the lock by now, this shows less, and is no less true.
			time.Sleep(10 * time.Millisecond)
			p.write(carol, `{"t":"adopt","id":"1","box":"`+alice+`"}`+"\n")
			_, err = f.WriteString(`{"t":"moved","id":"2","box":"` + carol + `"}` + "\n")
			p.ok(err)
			p.ok(unix.Flock(int(f.Fd()), unix.LOCK_UN))
			p.ok(<-done)
			var got []string
			for range 2 {
				for _, key := range []string{alice, bob, carol} {
					got = append(got, p.count(key)...)
				}
			}
			slices.Sort(got)
			owed := p.open(alice) + p.open(bob) + p.open(carol)
			if strings.Join(got, " ") != "job one own" || owed != "job" {
				t.Errorf("shown %v, owed %q\n%s\n%s\n%s", got, owed, p.journal(alice), p.journal(bob), p.journal(carol))
			}
		})
	}
}

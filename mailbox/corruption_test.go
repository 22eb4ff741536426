package mailbox_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// sample is a journal with every type of record in it.
func sample(t *testing.T) (*post, string) {
	t.Helper()
	p := newPost(t)
	job := p.post(alice, task("bob", "job"))
	p.send(alice, "one")
	p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: "ask", From: mailbox.Party{Name: "bob", Box: bob}})
	p.ok(p.claim(alice, mailbox.ClaimOptions{Reader: "alice", Via: "PostToolUse", Limit: 2}).Shown())
	p.ok(p.claim(alice, mailbox.ClaimOptions{Limit: 1}).Release())
	p.ok(p.Asked(alice, mailbox.Ask{ID: "q", ToName: "bob", PID: 1, Start: "1"}))
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: "q", Kind: mailbox.KindAsk, ToKey: bob}))
	p.ok(p.AskEnded(alice, "q", "timed_out", ""))
	p.hear(alice, mailbox.FeedOptions{})
	p.send(carol, "from carol")
	p.ok(p.Move(carol, alice))
	p.ok(p.Close(alice, job, "done", mailbox.Party{Name: "alice"}, "r"))
	p.send(alice, "two")
	p.ok(p.Compact(alice))
	p.send(alice, "three")
	p.claim(alice, mailbox.ClaimOptions{Limit: 1})
	return p, p.journal(alice)
}

// agree checks that the quick look and the full reading say the same, and returns
// what waits.
func agree(t *testing.T, p *post, key string) []string {
	t.Helper()
	p.dead[0], p.dead[1] = true, true // claims hold nobody off
	st := mustState(p, key)
	var waiting []string
	for _, it := range st.Items {
		if it.Status() == "queued" && it.MovedTo == "" && st.MovedTo == "" {
			waiting = append(waiting, it.ID)
		}
	}
	n, err := p.Pending(key)
	p.ok(err)
	items, more, err := p.Peek(key, mailbox.ClaimOptions{})
	p.ok(err)
	var peeked []string
	for _, it := range items {
		peeked = append(peeked, it.ID)
	}
	slices.Sort(waiting)
	slices.Sort(peeked)
	if n != len(waiting) || more != 0 || !slices.Equal(peeked, waiting) {
		t.Fatalf("the scan finds %d %v, the full reading %v in\n%s", n, peeked, waiting, p.journal(key))
	}
	return waiting
}

// Whatever happens to one byte (with PEERMUX_STRESS set: whatever it turns into), and wherever the file is cut, the neighbours stay.
func TestCorruptionAnywhere(t *testing.T) {
	_, journal := sample(t)
	lines := strings.SplitAfter(journal, "\n")
	p := newPost(t)
	whole := func(data string) map[string]bool {
		t.Helper()
		p.write(alice, data)
		before := agree(t, p, alice)
		ids := map[string]bool{}
		for _, it := range mustState(p, alice).Items {
			ids[it.ID] = true
		}
		if len(data)%17 == 0 {
			p.ok(p.Compact(alice))
			if after := agree(t, p, alice); !slices.Equal(after, before) {
				t.Fatalf("compaction made %v of %v", after, before)
			}
		}
		return ids
	}
	all := whole(journal)
	if len(all) != 6 {
		t.Fatalf("%d messages in the sample", len(all))
	}
	at := 0
	for _, line := range lines {
		// What the damaged line itself was about may be lost; for the bytes at its
		// ends, its neighbour's line is hurt as well.
		for i := 0; i < len(line); i += stress(3, 1) {
			harm := []byte("\n\x00}{\"x\xff")
			harm = harm[i/3%len(harm):][:stress(1, len(harm)-i/3%len(harm))] // each in its turn
			for _, c := range harm {
				if line[i] == c {
					continue
				}
				damaged := journal[:at+i] + string(c) + journal[at+i+1:]
				got := whole(damaged)
				for id := range all {
					if !got[id] && !strings.Contains(line, id) {
						t.Fatalf("%q at offset %d: message %s is gone, which is not on that line\n%s", c, at+i, id, line)
					}
				}
			}
		}
		at += len(line)
	}
	for cut := 0; cut < len(journal); cut += stress(3, 1) {
		got := whole(journal[:cut])
		for _, line := range strings.SplitAfter(journal[:cut], "\n") {
			if id, ok := strings.CutPrefix(line, `{"t":"msg","id":"`); ok && strings.HasSuffix(line, "}\n") && !got[id[:26]] {
				t.Fatalf("cut at %d: message %s is gone", cut, id[:26])
			}
		}
	}
}

// The scan and the full reading agree on whatever a box goes through.
func TestScanAndReadingAgree(t *testing.T) {
	for seed := range uint64(stress(10, 300)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := newPost(t)
		keys := []string{alice, bob}
		var ids []string
		var claims []*mailbox.Claim
		for step := range 120 {
			key := keys[rnd.IntN(len(keys))]
			var id string
			if len(ids) > 0 {
				id = ids[rnd.IntN(len(ids))]
			}
			var err error
			switch rnd.IntN(11) {
			case 0, 1, 2:
				kind := []mailbox.Kind{mailbox.KindNote, mailbox.KindTask, mailbox.KindAsk}[rnd.IntN(3)]
				ids = append(ids, p.post(key, mailbox.Message{Kind: kind, Body: fmt.Sprint(step)}))
			case 3, 4:
				claims = append(claims, p.claim(key, mailbox.ClaimOptions{Limit: 1 + rnd.IntN(3)}))
			case 5:
				for _, c := range claims {
					if rnd.IntN(2) == 0 {
						err = c.Shown()
					} else {
						err = c.Release()
					}
				}
				claims = nil
			case 6:
				_ = p.Answered(key, id, "r") // the message may be in the other box
			case 7:
				_ = p.Close(key, id, "done", mailbox.Party{}, "") // or closed before
			case 8:
				_, _ = p.Withdraw(key, id)
			case 9:
				err = p.Compact(key)
			case 10:
				if rnd.IntN(3) == 0 {
					err = p.Move(key, keys[1-slices.Index(keys, key)])
				}
			}
			p.ok(err)
			if step%5 == 0 {
				for _, key := range keys {
					agree(t, p, key)
					checkOpen(t, p, key)
				}
			}
		}
	}
}

func checkOpen(t *testing.T, p *post, key string) {
	t.Helper()
	var want []string
	for _, it := range mustState(p, key).Items {
		if it.Open(false) {
			want = append(want, it.Body)
		}
	}
	got := strings.Fields(p.open(key))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("open work: the scan finds %v, the full reading %v", got, want)
	}
}

func FuzzID(f *testing.F) {
	f.Add(int64(0), "01KQHPHXG0E2PE3X2XPWZHMTMH")
	f.Add(int64(-5), "")
	f.Add(int64(1<<62), "ZZZZZZZZZZZZZZZZZZZZZZZZZZ")
	f.Fuzz(func(t *testing.T, ms int64, task string) {
		id := mailbox.NewID(time.UnixMilli(ms))
		if !mailbox.ValidID(id) || !mailbox.ValidID(mailbox.CompletionID(task)) || !mailbox.ValidID(mailbox.CompletionID(id)) {
			t.Errorf("bad id from %d, %q", ms, task)
		}
		if mailbox.CompletionID(id) == id {
			t.Error("a task's completion has the task's id")
		}
	})
}

func TestIDsSortByTime(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_000)
	seen := map[string]bool{}
	last := ""
	for range 1000 {
		at = at.Add(time.Millisecond)
		id := mailbox.NewID(at)
		if id <= last || seen[id] {
			t.Fatalf("%s after %s", id, last)
		}
		last, seen[id] = id, true
	}
}

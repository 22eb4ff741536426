package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// Sizes of the crowded home, and what each box in it holds.
const (
	crowd     = 200 // live sessions
	oldBoxes  = 500
	inBox     = 40 // messages, all but two of them read
	waiting   = 2
	sameCrowd = 20 // live sessions in both homes that are compared
)

// TestCostOfWhatLiesAround compares the same calls in a home with hardly any old mail
// and in one with 500 boxes and 20,000 messages of sessions that are gone: they read
// the same bytes. (The kernel counts those of a process on Linux only.)
func TestCostOfWhatLiesAround(t *testing.T) {
	few, many := costs(t, 5), costs(t, oldBoxes)
	for what, bytes := range many {
		t.Logf("%-9s reads %7d bytes, and %7d with little around", what, bytes, few[what])
		if slack := int64(8 << 10); bytes > few[what]+slack {
			t.Errorf("%s reads %d bytes, and only %d when little lies around", what, bytes, few[what])
		}
		if few[what] == 0 {
			t.Errorf("%s reads nothing: nothing was measured", what)
		}
	}
}

// costs is how many bytes each call reads.
func costs(t *testing.T, boxes int) map[string]int64 {
	t.Helper()
	b, live := crowded(t, sameCrowd, boxes)
	ctx := t.Context()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	me := switchboard.ActorOf(live[0], self.ID)
	sent, err := b.Send(ctx, me, switchboard.SendRequest{Target: "s1", Body: "first"})
	if err != nil {
		t.Fatal(err)
	}
	bytes := map[string]int64{}
	for what, call := range map[string]func() error{
		"send":      func() error { _, err := b.Send(ctx, me, switchboard.SendRequest{Target: "s2", Body: "x"}); return err },
		"list":      func() error { _, err := b.List(ctx, me, switchboard.ListRequest{}); return err },
		"read":      func() error { _, _, err := b.Read(ctx, me, switchboard.ReadRequest{Peek: true}); return err },
		"open work": func() error { _, err := b.OpenWork(ctx, me); return err },
		"status":    func() error { _, err := b.Status(ctx, me, sent.MessageID); return err },
		"broadcast": func() error { _, err := b.Broadcast(ctx, me, switchboard.BroadcastRequest{Body: "x"}); return err },
	} {
		before := bytesRead(t)
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		bytes[what] = bytesRead(t) - before
	}
	return bytes
}

// bytesRead is what this process has read so far, from files and pipes.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return n
}

// TestCrowdedHome lists, finds, sends, counts and collects in a home of many sessions
// and much mail.
func TestCrowdedHome(t *testing.T) {
	b, live := crowded(t, crowd, oldBoxes)
	person := switchboard.Actor{
		Party: mailbox.Party{Name: "user", Box: mailbox.UserKey(""), Project: fixtureProject}, Kind: registry.ToUser, Dir: "/",
	}
	res, err := b.List(t.Context(), person, switchboard.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Sessions) != crowd {
		t.Errorf("%d sessions are listed, want %d", len(res.Sessions), crowd)
	}
	for _, s := range res.Sessions {
		if s.Unread != waiting {
			t.Errorf("%s has %d unread, want %d", s.Name, s.Unread, waiting)
		}
	}
	last := live[crowd-1]
	for _, target := range []string{last.Name, last.SessionID, fmt.Sprintf("pid:%d", last.PID)} {
		sent, err := b.Send(t.Context(), person, switchboard.SendRequest{Target: target, Body: "to one of many"})
		if err != nil {
			t.Fatalf("send to %s: %v", target, err)
		}
		if it, err := b.Store.Find(last.Box, sent.MessageID); err != nil || it.Body != "to one of many" {
			t.Errorf("sent to %s: %q, %v", target, it.Body, err)
		}
	}
	const sentNow = 3
	count, err := b.Count(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := waiting*(crowd+oldBoxes) + sentNow; count.Unshown != want {
		t.Errorf("%d messages wait, want %d", count.Unshown, want)
	}
	for _, dry := range []bool{true, false} {
		actions, err := b.Store.GC(mailbox.GCOptions{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range actions {
			if a.Action == "removed" {
				t.Errorf("gc removes %s (%s), in which mail waits", a.Key, a.Why)
			}
		}
	}
	if again, err := b.Count(t.Context(), ""); err != nil || again.Unshown != count.Unshown {
		t.Errorf("after gc %d messages wait, %d before (%v)", again.Unshown, count.Unshown, err)
	}
}

// crowded makes a home with live sessions and boxes of others that are gone. Each box
// has the same mail.
func crowded(t *testing.T, sessions, old int) (*switchboard.Board, []registry.Entry) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	b, _ := boardOf(t, home, time.Now())
	journal := usedBox(t, b)
	fill := func(key string) {
		path := mailbox.JournalPath(home, key)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, journal, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range old - 1 { // and the one that was copied
		fill(mailbox.SessionKey(fmt.Sprintf("gone-%d", n)))
	}
	var live []registry.Entry
	for n := range sessions {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			// Its error is that it was killed.
			_ = cmd.Wait()
		})
		info, err := proc.Stat(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("live-session-%d", n)
		e := registry.Entry{
			PID: info.PID, Start: info.Start, SessionID: id, Box: mailbox.SessionKey(id), Name: fmt.Sprintf("s%d", n),
			Client: registry.Client{Kind: registry.Claude, PID: info.PID, Start: info.Start, Mode: registry.Interactive},
			CWD:    fixtureProject, Project: fixtureProject, StartedAt: time.Now(),
		}
		if err := b.Registry.Put(e); err != nil {
			t.Fatal(err)
		}
		fill(e.Box)
		live = append(live, e)
	}
	return b, live
}

// usedBox is the journal of a box with read mail, compacted, and a little that waits.
func usedBox(t *testing.T, b *switchboard.Board) []byte {
	t.Helper()
	key := mailbox.SessionKey("gone-first")
	for n := range inBox {
		if n == inBox-waiting {
			claim, err := b.Store.Claim(key, mailbox.ClaimOptions{Reader: "gone"})
			if err != nil {
				t.Fatal(err)
			}
			if err := claim.Shown(); err != nil {
				t.Fatal(err)
			}
			if err := b.Store.Compact(key); err != nil {
				t.Fatal(err)
			}
		}
		m := mailbox.Message{Body: fmt.Sprintf("%d %s", n, strings.Repeat("words ", 50))}
		if _, err := b.Store.Append(key, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(mailbox.JournalPath(b.Home, key))
	if err != nil {
		t.Fatal(err)
	}
	return journal
}

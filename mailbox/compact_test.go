package mailbox_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

func (p *post) size(key string) int64 {
	p.Helper()
	info, err := os.Stat(mailbox.JournalPath(p.home, key))
	if err != nil {
		p.Fatal(err)
	}
	return info.Size()
}

func TestCompactionKeepsWhatMatters(t *testing.T) {
	p := newPost(t)
	old := p.send(alice, "old")
	oldTask := p.post(alice, task("bob", "old task"))
	oldAsk := p.post(alice, mailbox.Message{Kind: mailbox.KindAsk, Body: "old ask"})
	p.show(alice)
	waiting := p.send(alice, "old but unshown")
	p.ok(p.Asked(alice, mailbox.Ask{ID: "open", PID: 1}))
	p.ok(p.Asked(alice, mailbox.Ask{ID: "ended", PID: 1}))
	p.ok(p.AskEnded(alice, "ended", "timed_out", ""))
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: "sent long ago", ToKey: bob}))
	p.hear(alice, mailbox.FeedOptions{})
	p.clock.jump(31 * day)
	young := p.send(alice, "young")
	p.ok(p.claim(alice, mailbox.ClaimOptions{OnlyIDs: []string{young}, Reader: "alice", Via: "tool"}).Shown())
	p.ok(p.Sent(alice, mailbox.SentRecord{ID: "sent", ToKey: bob, ToName: "bob"}))
	dead := p.claim(alice, mailbox.ClaimOptions{PID: 9})
	p.dead[9] = true
	if len(dead.Messages) != 1 {
		t.Fatal("nothing claimed")
	}
	cursor := mustState(p, alice).Cursors[feed]

	for range 2 { // twice: the second works on a compacted file
		p.ok(p.Compact(alice))
		st := mustState(p, alice)
		expect(t, "items", bodies(st.Items), "old task old ask old but unshown young")
		if _, ok := st.Item(old); ok {
			t.Error("a settled message of 31 days ago is still there")
		}
		p.pending(alice, 1)
		items, _, err := p.Peek(alice, mailbox.ClaimOptions{})
		p.ok(err)
		if len(items) != 1 || items[0].ID != waiting || !items[0].PossiblySeen {
			t.Errorf("waiting: %+v", items)
		}
		expect(t, "open", p.open(alice), "old task old ask")
		if it := p.item(alice, young); len(it.Shown) != 1 || it.Shown[0].Via != "tool" {
			t.Errorf("receipt lost: %+v", it)
		}
		if len(st.Asks) != 1 || st.Asks[0].ID != "open" {
			t.Errorf("questions: %+v", st.Asks)
		}
		if len(st.Sent) != 1 || st.Sent[0].ToName != "bob" {
			t.Errorf("sent: %+v", st.Sent)
		}
		if st.Cursors[feed] != cursor || st.BadLines != 0 {
			t.Errorf("cursor %q, want %q; %d bad lines", st.Cursors[feed], cursor, st.BadLines)
		}
	}
	// What happens later to mail in the settled part is still taken in.
	p.ok(p.Close(alice, oldTask, "done", mailbox.Party{}, ""))
	p.ok(p.Answered(alice, oldAsk, "r"))
	p.ok(p.Answered(alice, young, "r"))
	expect(t, "open", p.open(alice), "")
	expect(t, "answered", p.item(alice, young).Status(), "answered")
	p.ok(p.Compact(alice))
	expect(t, "what is open no more and old is gone", bodies(mustState(p, alice).Items), "old but unshown young")
}

func TestCompactionComesByItselfAndPaysOff(t *testing.T) {
	p := newPost(t)
	body := strings.Repeat("x", 500)
	var largest int64
	compactions := 0
	was := int64(0)
	for i := range 1600 {
		p.send(alice, fmt.Sprint(i, " ", body))
		if i%10 == 9 {
			p.show(alice)
		}
		size := p.size(alice)
		if size < was {
			compactions++
		}
		was, largest = size, max(largest, size)
	}
	// 1,000 settled messages of some 1,000 bytes each, and 256 KiB of new lines.
	if largest > 1600<<10 {
		t.Errorf("the journal grew to %d KiB", largest>>10)
	}
	if compactions < 2 || compactions > 20 {
		t.Errorf("%d compactions in 1,600 messages", compactions)
	}
	if n := len(mustState(p, alice).Items); n < 1000 || n > 1600 {
		t.Errorf("%d messages are left", n)
	}
}

// Unshown mail beyond the threshold must not make every append rewrite the file.
func TestCompactionIsAmortised(t *testing.T) {
	p := newPost(t)
	body := strings.Repeat("x", 10_000)
	replaced := 0
	var was os.FileInfo
	for range 200 { // 2 MB that wait
		p.send(alice, body)
		now, err := os.Stat(mailbox.JournalPath(p.home, alice))
		p.ok(err)
		if was != nil && !os.SameFile(was, now) {
			replaced++
		}
		was = now
	}
	if replaced < 2 || replaced > 4 {
		t.Errorf("rewritten %d times, want about the logarithm", replaced)
	}
	p.pending(alice, 200)
}

func TestCompactionSweepsItsOwnLeftovers(t *testing.T) {
	p := newPost(t)
	p.send(alice, "x")
	dir := filepath.Dir(mailbox.JournalPath(p.home, alice))
	left := filepath.Join(dir, ".journal.jsonl.tmp-1-abcdef")
	other := filepath.Join(dir, ".journal.jsonl.backup")
	p.ok(os.WriteFile(left, []byte("half"), 0o600))
	p.ok(os.WriteFile(other, []byte("mine"), 0o600))
	p.ok(p.Compact(alice))
	if _, err := os.Stat(left); err == nil {
		t.Error("a crashed compaction's file is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("somebody's file is gone: %v", err)
	}
	p.pending(alice, 1)
}

// The header is a short cut, not the truth.
func TestWrongHeaderHidesNothing(t *testing.T) {
	p := newPost(t)
	p.send(alice, "settled")
	p.show(alice)
	p.send(alice, "waits")
	p.ok(p.Compact(alice))
	good := p.journal(alice)
	for _, tt := range []struct{ name, old, new string }{
		{"offset off by one", `"hot":"000`, `"hot":"001`},
		{"offset at the end", `"hot":"0`, `"hot":"9`},
		{"negative", `"hot":"000`, `"hot":"-00`},
		{"no number", `"hot":"000`, `"hot":"abc`},
		{"gone", `{"t":"compacted"`, `{"t":"compact3d"`},
		{"mark gone", `{"t":"hot"`, `{"t":"h0t"`},
		{"not JSON", `"kept":`, `"kept"-`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatal("nothing replaced")
			}
			p.write(alice, bad)
			p.pending(alice, 1)
			p.write(alice, bad+strings.Repeat(`{"t":"pad","id":"`+strings.Repeat("p", 100)+"\"}\n", 700)) // past one piece
			p.pending(alice, 1)
			expect(t, "state", bodies(mustState(p, alice).Items), "settled waits")
		})
	}
}

const day = 24 * time.Hour

// estate is boxes of all sorts, by name, and feeds.
func estate(p *post) (boxes map[string]string) {
	p.Helper()
	boxes = map[string]string{repo: "repo", mailbox.PendingKey(7, "8"): "pending"}
	for _, name := range []string{"read", "unshown", "task", "kept", "fresh", "moved"} {
		boxes[mailbox.SessionKey(name)] = name
	}
	for key, name := range boxes {
		switch name {
		case "repo":
			_, err := p.FeedNew(mailbox.FeedRepos, repo, mailbox.FeedOptions{FromStart: true, PID: 1})
			p.ok(err)
		case "unshown":
			p.send(key, "x")
		case "task":
			p.post(key, task("x", "x"))
			p.show(key)
		default:
			p.send(key, "x")
			p.show(key)
			p.ok(os.WriteFile(mailbox.BellPath(p.home, key), []byte("rung"), 0o600))
		}
	}
	p.ok(p.Move(mailbox.SessionKey("moved"), mailbox.SessionKey("fresh")))
	p.say("x", "said")
	_, err := p.Broadcast(mailbox.FeedRepos, &mailbox.Message{Body: "stands"})
	p.ok(err)
	now := p.clock.now()
	for key := range boxes {
		p.ok(os.Chtimes(mailbox.JournalPath(p.home, key), now, now))
	}
	for _, f := range []string{feed, mailbox.FeedRepos} {
		p.ok(os.Chtimes(mailbox.FeedPath(p.home, f), now, now))
	}
	return boxes
}

// gc says what was done, or would be, to what.
func (p *post) gc(boxes map[string]string, dry bool) string {
	p.Helper()
	actions, err := p.GC(mailbox.GCOptions{DryRun: dry, Keep: func(key string) bool { return boxes[key] == "kept" }})
	p.ok(err)
	var did []string
	for _, a := range actions {
		did = append(did, a.Action+" "+cmp.Or(boxes[a.Key], a.Key))
	}
	return strings.Join(did, ", ")
}

func TestGC(t *testing.T) {
	p := newPost(t)
	boxes := estate(p)
	empty := filepath.Join(p.home, "boxes", mailbox.SessionKey("empty"))
	p.ok(os.Mkdir(empty, 0o700))
	expect(t, "too early", p.gc(boxes, false), "")
	if _, err := os.Stat(empty); err == nil {
		t.Error("an empty folder is still there")
	}
	p.clock.jump(29 * day)
	expect(t, "too early for all but one", p.gc(boxes, false), "removed pending")
	p.clock.jump(2 * day)
	now := p.clock.now()
	p.ok(os.Chtimes(mailbox.JournalPath(p.home, mailbox.SessionKey("fresh")), now, now))

	want := "removed read, removed " + feed
	before := tree(t, p.home)
	expect(t, "dry run", p.gc(boxes, true), want)
	if got := tree(t, p.home); !slices.Equal(got, before) {
		t.Error("the dry run changed something")
	}
	expect(t, "gc", p.gc(boxes, false), want)
	expect(t, "gc again", p.gc(boxes, false), "")

	infos, err := p.Boxes()
	p.ok(err)
	left := map[string]mailbox.BoxInfo{}
	for _, b := range infos {
		left[boxes[b.Key]] = b
	}
	if len(left) != 6 || left["moved"].Key == "" || left["unshown"].Unshown != 1 || left["task"].Open != 1 || left["kept"].Key == "" {
		t.Errorf("left: %+v", left)
	}
	read := mailbox.SessionKey("read")
	if _, err := os.Stat(filepath.Dir(mailbox.JournalPath(p.home, read))); err == nil {
		t.Error("the folder of a removed box is still there")
	}
	p.clock.jump(30 * day)
	expect(t, "what moved goes with the box that it leads to", p.gc(boxes, false), "removed fresh, removed moved")
	expect(t, "gc does not bring it back", p.gc(boxes, false), "")
	p.send(read, "comes back")
	p.pending(read, 1)
}

// One box that cannot be read must not hide the others.
func TestBoxesListsTheReadable(t *testing.T) {
	p := newPost(t)
	p.send(alice, "x")
	bad := mailbox.JournalPath(p.home, bob)
	p.ok(os.MkdirAll(bad, 0o700)) // a folder in the journal's place
	p.ok(os.WriteFile(filepath.Join(p.home, "boxes", "README"), nil, 0o600))
	boxes, err := p.Boxes()
	if len(boxes) != 1 || boxes[0].Key != alice || err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("got %+v, %v", boxes, err)
	}
	if _, err := p.GC(mailbox.GCOptions{}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("gc: %v", err)
	}
	p.pending(alice, 1)
}

// A compaction that fails, as on a full disk, is tried again at each write. It sets
// nothing aside each time.
func TestFailedCompactionSetsNothingAside(t *testing.T) {
	p := newPost(t)
	p.write(alice, "no record\n")
	p.send(alice, "one")
	dir := filepath.Dir(mailbox.JournalPath(p.home, alice))
	blocked := filepath.Join(dir, ".journal.jsonl.tmp-1-000000000000")
	p.ok(os.MkdirAll(filepath.Join(blocked, "x"), 0o700)) // cannot be removed as a file
	for range 3 {
		if err := p.Compact(alice); err == nil {
			t.Fatal("it did not fail")
		}
	}
	if bad, err := os.ReadFile(filepath.Join(dir, "journal.bad")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("set aside: %q, %v", bad, err)
	}
	p.ok(os.RemoveAll(blocked))
	p.ok(p.Compact(alice))
	bad, err := os.ReadFile(filepath.Join(dir, "journal.bad"))
	p.ok(err)
	expect(t, "set aside", string(bad), "no record\n")
	expect(t, "waits", p.show(alice), "one")
}

package mailbox_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
	"peermux/mailbox"
)

func TestAppendWritesOneReadableLine(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, mailbox.Message{Body: "one\ntwo <b> & \u2028", From: mailbox.Party{SessionID: "bob"}})
	got := p.journal(alice)
	if want := regexp.MustCompile(`^\{"t":"msg","id":"` + id + `","v":1,"kind":"note",.*\}\n$`); !want.MatchString(got) {
		t.Errorf("journal: %q does not match %v", got, want)
	}
	if !strings.Contains(got, `"body":"one\ntwo <b> & \u2028"`) {
		t.Errorf("body is not readable in %q", got)
	}
	if !json.Valid([]byte(got)) {
		t.Errorf("not JSON: %q", got)
	}
}

func TestFilesArePrivate(t *testing.T) {
	p := newPost(t)
	if _, err := p.Append(alice, &mailbox.Message{Body: "y"}, mailbox.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Broadcast(mailbox.FeedGlobal, &mailbox.Message{Body: "z"}); err != nil {
		t.Fatal(err)
	}
	n := 0
	p.ok(filepath.WalkDir(p.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		n++
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v is open to others", path, info.Mode())
		}
		return nil
	}))
	if n != 6 { // home, boxes, box, journal, feeds, feed
		t.Errorf("%d files and folders, want 6", n)
	}
}

func TestTornLineIsClosedBeforeTheNext(t *testing.T) {
	for cut := 1; cut < 60; cut++ {
		p := newPost(t)
		p.send(alice, "first")
		p.send(alice, "torn")
		whole := p.journal(alice)
		p.write(alice, whole[:len(whole)-cut])
		p.send(alice, "third")
		want := "first third"
		bad := 1
		if cut == 1 { // only the newline is missing: the record is whole
			want, bad = "first torn third", 0
		}
		st, err := p.State(alice)
		p.ok(err)
		if got := bodies(st.Items); got != want || st.BadLines != bad {
			t.Fatalf("cut %d: got %q and %d bad lines; want %q, %d", cut, got, st.BadLines, want, bad)
		}
		expect(t, "shown", p.show(alice), want)
	}
}

func TestBadLinesAreSetAside(t *testing.T) {
	p := newPost(t)
	p.send(alice, "first")
	first := p.journal(alice)
	p.write(alice, first+"not a record\n\n\x00\x00\x00"+strings.ReplaceAll(first, "first", "second")[:20]+"\n")
	p.send(alice, "third")
	p.ok(p.Compact(alice))
	st, err := p.State(alice)
	p.ok(err)
	if bodies(st.Items) != "first third" || st.BadLines != 0 {
		t.Errorf("after compaction: %q, %d bad lines", bodies(st.Items), st.BadLines)
	}
	bad, err := os.ReadFile(filepath.Join(filepath.Dir(mailbox.JournalPath(p.home, alice)), "journal.bad"))
	if err != nil || strings.Count(string(bad), "\n") != 2 || !strings.HasPrefix(string(bad), "not a record\n") {
		t.Errorf("journal.bad: %q, %v", bad, err)
	}
}

func TestForeignLinesAreReadAndKept(t *testing.T) {
	p := newPost(t)
	p.write(alice, `
{ "id" : "x1", "t" : "msg", "kind": "note", "body" : "spaced", "sent_at": "2026-05-01T12:00:00Z", "colour": "blue" }
{"t":"weather","id":"w1","rain":true}
{"t": "msg", "id": "x2", "kind": "task", "body": "ordered", "sent_at": "2026-05-01T12:00:01+02:00"}`+"\r\n"+`{"t": "shown", "id": "x1"}
{"t":"msg","id":"x1","kind":"note","body":"a second copy","sent_at":"2026-05-01T12:00:00Z"}
`)
	p.pending(alice, 1)
	expect(t, "shown", p.show(alice), "ordered")
	open, err := p.OpenWork(alice)
	p.ok(err)
	expect(t, "open", bodies(open), "ordered")
	p.ok(p.Compact(alice))
	for _, want := range []string{`"colour": "blue"`, `"rain":true`} {
		if !strings.Contains(p.journal(alice), want) {
			t.Errorf("compaction lost %s", want)
		}
	}
}

// A line that swallowed its neighbours gives the whole ones back.
func TestGluedRecordsAreFound(t *testing.T) {
	p := newPost(t)
	for _, body := range []string{"a", "b", "c"} {
		p.send(alice, body)
	}
	l := strings.Split(p.journal(alice), "\n")
	for _, tt := range []struct{ name, journal, want string }{
		{"no newline", l[0] + l[1] + l[2], "a b c"},
		{"torn first", l[0][:40] + l[1] + "\n" + l[2], "b c"},
		{"torn in the body", l[0][:strings.Index(l[0], `"body":`)+8] + l[1] + l[2], "b c"},
		{"zeros", "\x00\x00\x00" + l[0] + "\n\x00\n" + l[1], "a b"},
		{"newline turned into a brace", l[0] + "}" + l[1] + "\n" + l[2], "a b c"},
		{"a quote in a body", strings.Replace(l[0], `"a"`, `"{\"t\":\"msg\",\"id\":\"forged\"}"`, 1) + "\n" + l[1],
			`{"t":"msg","id":"forged"} b`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.write(alice, tt.journal+"\n")
			st, err := p.State(alice)
			p.ok(err)
			expect(t, "state", bodies(st.Items), tt.want)
			items, _, err := p.Peek(alice, mailbox.ClaimOptions{})
			p.ok(err)
			expect(t, "peek", bodies(items), tt.want)
		})
	}
}

func TestUnsafePathsAreRefused(t *testing.T) {
	journal := func(p *post) string { return mailbox.JournalPath(p.home, alice) }
	tests := []struct {
		name  string
		plant func(p *post, elsewhere string) error
	}{
		{"journal is a symlink", func(p *post, e string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(journal(p)), 0o700), os.Symlink(e, journal(p)))
		}},
		{"box is a symlink", func(p *post, e string) error {
			box := filepath.Dir(journal(p))
			return errors.Join(os.MkdirAll(filepath.Dir(box), 0o700), os.Symlink(filepath.Dir(e), box))
		}},
		{"boxes is a symlink", func(p *post, e string) error {
			return errors.Join(os.MkdirAll(p.home, 0o700), os.Symlink(filepath.Dir(e), filepath.Join(p.home, "boxes")))
		}},
		{"home is a symlink", func(p *post, e string) error { return os.Symlink(filepath.Dir(e), p.home) }},
		{"journal is a fifo", func(p *post, _ string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(journal(p)), 0o700), unix.Mkfifo(journal(p), 0o600))
		}},
		{"journal is a folder", func(p *post, _ string) error { return os.MkdirAll(journal(p), 0o700) }},
		{"box is a file", func(p *post, _ string) error {
			box := filepath.Dir(journal(p))
			return errors.Join(os.MkdirAll(filepath.Dir(box), 0o700), os.WriteFile(box, nil, 0o600))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPost(t)
			elsewhere := filepath.Join(t.TempDir(), "journal.jsonl")
			p.ok(os.WriteFile(elsewhere, []byte("mine\n"), 0o600))
			p.ok(tt.plant(p, elsewhere))
			_, appendErr := p.Append(alice, &mailbox.Message{Body: "x"}, mailbox.AppendOptions{})
			_, pendingErr := p.Pending(alice)
			_, stateErr := p.State(alice)
			_, claimErr := p.Claim(alice, mailbox.ClaimOptions{})
			if _, err := mailbox.Open(p.home, p.clock.now); err != nil {
				// A home that is refused as a whole is never read through.
				pendingErr, stateErr, claimErr = err, err, err
			}
			_, gcErr := p.GC(mailbox.GCOptions{})
			for i, err := range []error{appendErr, pendingErr, stateErr, claimErr} {
				if !errors.Is(err, private.ErrUnsafe) || !strings.Contains(err.Error(), p.home) {
					t.Errorf("call %d: got %v; want ErrUnsafe with the path", i, err)
				}
			}
			for i, err := range []error{appendErr, pendingErr, stateErr, claimErr, gcErr} {
				if err != nil && strings.Count(err.Error(), "mailbox:") != 1 {
					t.Errorf("call %d: %v; want the package named once", i, err)
				}
			}
			if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "mine\n" {
				t.Errorf("the file behind it became %q, %v", data, err)
			}
		})
	}
}

func TestKeysCannotLeaveTheFolder(t *testing.T) {
	p := newPost(t)
	for _, key := range []string{"", "s", "s-", "../s-x", "s-../../x", "s-a/b", "x-abc", "s-\x00", "s-" + strings.Repeat("a", 200), ".s-x"} {
		if _, err := p.Append(key, &mailbox.Message{Body: "x"}, mailbox.AppendOptions{}); err == nil {
			t.Errorf("key %q was taken", key)
		}
		if key == "s-" {
			continue
		}
		if _, err := p.Broadcast(key+"/", &mailbox.Message{Body: "x"}); err == nil {
			t.Errorf("feed %q was taken", key)
		}
	}
	if _, err := os.Stat(p.home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused key left something behind: %v", err)
	}
}

func TestKeysAreDistinctAndReadable(t *testing.T) {
	ids := []string{"a/b", "a_b", "a.b", "A_B", "..", ".", "", "a\nb", strings.Repeat("x", 300), strings.Repeat("x", 301), "ünï"}
	seen := map[string]string{}
	for _, id := range ids {
		for _, key := range []string{mailbox.SessionKey(id), mailbox.AppKey(id), mailbox.FeedGroup(id), mailbox.PendingKey(7, id)} {
			if was, twice := seen[key]; twice {
				t.Errorf("%q and %q share %s", was, id, key)
			}
			seen[key] = id
			if len(key) > 100 || strings.ContainsAny(key, "/\\ \n") || strings.HasPrefix(key, ".") {
				t.Errorf("key %q of %q", key, id)
			}
		}
	}
	if got := mailbox.PendingKey(12, "3456"); got != "p-12-3456" {
		t.Errorf("PendingKey: %s", got)
	}
	if mailbox.RepoKey("/src/library/") != mailbox.RepoKey("/src/library") {
		t.Error("a trailing slash makes another repository")
	}
	if mailbox.UserKey("") != mailbox.UserKey("user") || !strings.HasPrefix(mailbox.UserKey(""), "u-user-") {
		t.Errorf("UserKey: %s", mailbox.UserKey(""))
	}
}

func TestBadMessagesChangeNothing(t *testing.T) {
	p := newPost(t)
	for _, tt := range []struct {
		name string
		m    mailbox.Message
		want error
	}{
		{"large", mailbox.Message{Body: strings.Repeat("x", mailbox.MaxBody+1)}, mailbox.ErrBodyTooLarge},
		{"empty", mailbox.Message{}, mailbox.ErrEmptyBody},
		{"blank", mailbox.Message{Body: " \n\t "}, mailbox.ErrEmptyBody},
		{"binary", mailbox.Message{Body: "\xff\xfe"}, mailbox.ErrNotText},
		{"kind", mailbox.Message{Body: "x", Kind: "shout"}, nil},
		{"id", mailbox.Message{Body: "x", ID: "../../x"}, nil},
	} {
		_, err := p.Append(alice, &tt.m, mailbox.AppendOptions{})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if _, err := p.Broadcast(mailbox.FeedGlobal, &tt.m); err == nil {
			t.Errorf("%s: broadcast", tt.name)
		}
	}
	if _, err := os.Stat(p.home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused message left something behind: %v", err)
	}
	largest := mailbox.Message{Body: strings.Repeat("\n", mailbox.MaxBody-1) + "x"}
	p.post(alice, largest)
	if got := p.show(alice); got != largest.Body {
		t.Errorf("the largest body came back with %d bytes", len(got))
	}
}

func TestHeadsAreOneLine(t *testing.T) {
	p := newPost(t)
	id := p.post(alice, mailbox.Message{
		Body: "x", Subject: "a\r\nFrom: root\x1b[31m\u2028b  c", From: mailbox.Party{Name: "eve\nalice"},
		Tag: strings.Repeat("é", 2000), Urgency: "high\n",
	})
	it := p.item(alice, id)
	expect(t, "subject", it.Subject, "a From: root [31m b c")
	expect(t, "name", it.From.Name, "eve alice")
	expect(t, "tag", it.Tag, strings.Repeat("é", 500))
	expect(t, "urgency", it.Urgency, "high")
}

func TestInboxIsBounded(t *testing.T) {
	p := newPost(t)
	p.fill(alice, mailbox.MaxUnshown-1, "x")
	p.send(alice, "x")
	_, err := p.Append(alice, &mailbox.Message{Body: "one more"}, mailbox.AppendOptions{})
	if !errors.Is(err, mailbox.ErrInboxFull) {
		t.Fatalf("got %v, want ErrInboxFull", err)
	}
	// The answer somebody waits for gets in.
	p.ok(p.Asked(alice, mailbox.Ask{ID: "ask", PID: 1}))
	p.post(alice, mailbox.Message{Kind: mailbox.KindReply, ReplyTo: "ask", Body: "answer"})
	c := p.claim(alice, mailbox.ClaimOptions{Limit: 2})
	p.ok(c.Shown())
	if c.More != mailbox.MaxUnshown-2 {
		t.Errorf("more: %d", c.More)
	}
	p.send(alice, "fits again")

	// The same by size.
	big := strings.Repeat("x", mailbox.MaxBody)
	p.fill(bob, mailbox.MaxUnshownBytes/mailbox.MaxBody-2, big)
	p.send(bob, big)
	if _, err := p.Append(bob, &mailbox.Message{Body: big}, mailbox.AppendOptions{NoSync: true}); !errors.Is(err, mailbox.ErrInboxFull) {
		t.Errorf("got %v, want ErrInboxFull", err)
	}
}

func TestAppendIsIdempotent(t *testing.T) {
	p := newPost(t)
	m := mailbox.Message{ID: mailbox.NewID(p.clock.now()), Body: "once"}
	p.post(alice, m)
	p.show(alice)
	p.ok(p.Compact(alice))
	for _, key := range []string{alice, bob} {
		again := m
		again.Body = "again"
		res, err := p.Append(alice, &again, mailbox.AppendOptions{})
		p.ok(err)
		if res.ID != m.ID || res.Existing == nil || res.Existing.Body != "once" {
			t.Errorf("got %+v", res)
		}
		p.pending(alice, 0)
		if key == alice {
			p.ok(p.Move(alice, bob)) // and once more after the box has moved
		}
		p.pending(bob, 0)
	}
}

func TestLooseModesAreTightened(t *testing.T) {
	p := newPost(t)
	p.send(alice, "x")
	path := mailbox.JournalPath(p.home, alice)
	for _, dir := range []string{p.home, filepath.Dir(path), path} {
		p.ok(os.Chmod(dir, 0o755))
	}
	p.reopen()
	p.send(alice, "y")
	for _, dir := range []string{p.home, filepath.Dir(path), path} {
		info, err := os.Stat(dir)
		p.ok(err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", dir, info.Mode())
		}
	}
}

// Two boxes that know the same message, and a clock that was set back since: the ids
// that both give are their own all the same.
func TestIDsAreUniqueWhenTheClockIsSetBack(t *testing.T) {
	p := newPost(t)
	p.send(bob, "one")
	p.ok(p.Move(bob, carol))
	p.ok(p.Revive(bob))
	p.clock.jump(-time.Hour)
	first, second := p.send(bob, "two"), p.send(carol, "three")
	if first == second {
		t.Errorf("two messages are %s", first)
	}
	p.ok(p.Move(bob, carol))
	expect(t, "both", p.take(carol, mailbox.ClaimOptions{}), "one three two")
}

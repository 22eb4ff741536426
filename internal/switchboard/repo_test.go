package switchboard_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// repository makes a git repository without git: what peermux reads of one.
func (k *bench) repository(name string) string {
	k.t.Helper()
	dir := filepath.Join(filepath.Dir(k.dir), name)
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", sub), 0o700); err != nil {
			k.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		k.t.Fatal(err)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return dir
}

// Mail for a repository waits for whoever works there next and is closed for all
// by the first who answers it.
func TestRepositoryMail(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	lib := k.repository("lib")
	res := ann.mustSend("repo:"+lib, "your parser breaks us")
	if res.Target != "repo:lib" || res.Outlook != switchboard.NoReader {
		t.Fatalf("got %+v", res)
	}
	// By name from now on: it has mail.
	if res := ann.mustSend("repo:lib", "and your lexer too"); res.Outlook != switchboard.NoReader {
		t.Errorf("got %+v", res)
	}
	ben, cay := k.join("ben").at(lib), k.join("cay").at(lib)
	for _, s := range []*session{ben, cay} {
		got := s.read(switchboard.ReadRequest{})
		if len(got.Messages) != 2 || got.Messages[0].Scope != "repo" || !strings.Contains(got.Messages[0].AnswerWith, "closes it") || got.OpenWork != 2 {
			t.Fatalf("%s read %+v", s.entry.Name, got)
		}
		if got := s.read(switchboard.ReadRequest{}); got.Count != 0 {
			t.Errorf("%s read it twice", s.entry.Name)
		}
	}
	reply := ben.mustReply(res.MessageID, "fixed in main")
	if !reply.Closed {
		t.Errorf("reply: %+v", reply)
	}
	ann.mustReplyTo(t, "fixed in main")
	_, err := cay.reply(res.MessageID, "me too")
	refused(t, err, switchboard.CodeAlreadyClosed)
	if work := cay.openWork(); work.Count != 1 {
		t.Errorf("open for cay: %+v", work)
	}
	if out := ann.mustSend("repo:lib", "thanks"); out.Outlook != switchboard.NextTurn || !strings.Contains(out.Why, "ben") {
		t.Errorf("outlook with workers: %+v", out)
	}
	// The sender has ended; the answer waits in its box.
	kill(t, ann.client)
	st, err := k.board.Store.OpenWork(mailbox.RepoKey(lib))
	if err != nil || len(st) != 2 {
		t.Fatal(st, err)
	}
	ben.mustReply(st[0].ID, "also fixed")
	if n, err := k.board.Store.Pending(ann.entry.Box); err != nil || n != 1 {
		t.Errorf("its box holds %d, %v", n, err)
	}
}

func TestRepositoryTask(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	lib := k.repository("lib")
	id := ann.task("repo:"+lib, "release 2.0")
	ben := k.join("ben").at(lib)
	ben.read(switchboard.ReadRequest{})
	if res := ben.mustReply(id, "will do"); !res.StillOpen || res.Closed {
		t.Errorf("reply: %+v", res)
	}
	if _, err := ben.complete(id, "released"); err != nil {
		t.Fatal(err)
	}
	_, err := k.join("cay").at(lib).complete(id, "me too")
	refused(t, err, switchboard.CodeAlreadyClosed)
}

// Announcements reach each repository once, also those that come later, and never
// the sender's own.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	app, lib, late := k.repository("app"), k.repository("lib"), k.repository("late")
	ann := k.join("ann").at(app)
	ben := k.join("ben").at(lib)
	res, err := ann.broadcast("the schema has moved", "repos", "")
	if err != nil || !slices.Equal(res.InReach, []string{"lib"}) {
		t.Fatalf("%+v, %v", res, err)
	}
	cay := k.join("cay").at(lib)
	dan := k.join("dan").at(late)
	for _, tt := range []struct {
		s    *session
		want int
	}{{ben, 1}, {cay, 0}, {dan, 1}, {ann, 0}} {
		if got := tt.s.read(switchboard.ReadRequest{}); got.Count != tt.want {
			t.Errorf("%s read %v, want %d", tt.s.entry.Name, bodies(got), tt.want)
		}
	}
	_, err = k.board.Retract(context.Background(), ben.actor(), res.MessageID)
	refused(t, err, switchboard.CodeNotYours)
	// Any session of the sender's repository may retract it.
	if _, err := k.board.Retract(context.Background(), k.join("eve").at(app).actor(), res.MessageID); err != nil {
		t.Error(err)
	}
	if got := k.join("fay").at(k.repository("later")).read(switchboard.ReadRequest{}); got.Count != 0 {
		t.Errorf("after retraction: %v", bodies(got))
	}
}

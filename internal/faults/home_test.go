package faults

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// fixtureSession is the session whose mail testdata/home-v1 holds: what version 0.1.0
// wrote when this very test asked it to, see writeHome.
const fixtureSession = "0f7c2d9e-5b1a-4c3e-8a44-1d2e3f4a5b6c"

// Its project, and who else wrote.
const (
	fixtureProject = "/srv/parser"
	fixtureSender  = "c0ffee00-1111-4222-8333-444455556666"
)

// written is when that was: long before or after today, which must not matter.
var written = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// oldHome copies the fixture, since reading mail writes.
func oldHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(home, os.DirFS(filepath.Join("testdata", "home-v1"))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o600) // a checkout does not keep that
		if d.IsDir() {
			mode = 0o700
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// write makes a file and its folders.
func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// boardOf is the switchboard over a home, and the fixture's session as it acts there.
func boardOf(t *testing.T, home string, now time.Time) (*switchboard.Board, switchboard.Actor) {
	t.Helper()
	clock := func() time.Time { return now }
	env := func(key string) string {
		// The project is no folder of this machine, so its repository is declared.
		return map[string]string{
			"PEERMUX_REPO": fixtureProject, "TMUX_TMPDIR": filepath.Join(home, "none"), "PEERMUX_WAKE": wake.ModeOff,
		}[key]
	}
	b, err := switchboard.Open(switchboard.Place{Home: home, UserHome: t.TempDir(), Env: env, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Watch.Close)
	return b, switchboard.Actor{
		Party: mailbox.Party{
			SessionID: fixtureSession, Name: "parser", Client: "claude", Project: fixtureProject,
			Box: mailbox.SessionKey(fixtureSession),
		},
		Kind: registry.ToSession, Dir: t.TempDir(),
	}
}

// TestHomeOfTheFirstFormat reads a home as the first release left it: unread mail, a
// task that is open, a question that was answered, a place in a feed, mail for a
// repository.
func TestHomeOfTheFirstFormat(t *testing.T) {
	if to := os.Getenv("PEERMUX_WRITE_HOME"); to != "" {
		writeHome(t, to)
	}
	b, a := boardOf(t, oldHome(t), written.AddDate(0, 3, 0))
	work, err := b.OpenWork(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	var owed []string
	for _, w := range work.Work {
		owed = append(owed, w.Body)
	}
	if want := []string{"write the grammar", "the parser fails on tabs"}; !slices.Equal(owed, want) {
		t.Errorf("open work: %q, want %q", owed, want)
	}
	res, delivery, err := b.Read(t.Context(), a, switchboard.ReadRequest{Via: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range res.Messages {
		got = append(got, m.Kind+" "+m.From.Name+": "+m.Body)
	}
	want := []string{
		"note lexer: unread, with \"quotes\"\nand a second line", "task lexer: write the grammar",
		"note user: the parser fails on tabs", "note lexer: the second broadcast",
	}
	if !slices.Equal(got, want) {
		t.Errorf("read: %q, want %q", got, want)
	}
	if err := delivery.Shown(); err != nil {
		t.Fatal(err)
	}
	if res, _, err = b.Read(t.Context(), a, switchboard.ReadRequest{Peek: true}); err != nil || res.Count != 0 {
		t.Errorf("read again: %d messages, %v", res.Count, err)
	}
	// What is closed now is told to the one who asked for it then.
	closed, err := b.CompleteWork(t.Context(), a, switchboard.CloseRequest{MessageID: work.Work[0].MessageID, Body: "written"})
	if err != nil {
		t.Fatal(err)
	}
	if it, err := b.Store.Find(mailbox.SessionKey(fixtureSender), closed.ResultID); err != nil || it.Body != "written" {
		t.Errorf("the requester's result: %q, %v", it.Body, err)
	}
	st, err := b.Store.State(a.Box)
	if err != nil {
		t.Fatal(err)
	}
	if st.BadLines != 0 || len(st.Asks) != 1 || st.Asks[0].Ended != "answered" {
		t.Errorf("%d bad lines, questions %+v", st.BadLines, st.Asks)
	}
}

// writeHome makes the fixture: PEERMUX_WRITE_HOME=testdata/home-v1 go test -run FirstFormat.
func writeHome(t *testing.T, home string) {
	b, a := boardOf(t, home, written)
	s := b.Store
	lexer := mailbox.Party{SessionID: fixtureSender, Name: "lexer", Client: "codex", Project: fixtureProject, Box: mailbox.SessionKey(fixtureSender)}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(key string, m mailbox.Message) string {
		t.Helper()
		m.To = a.Party
		res, err := s.Append(key, &m, mailbox.AppendOptions{})
		check(err)
		return res.ID
	}
	say := func(body string) {
		t.Helper()
		_, err := s.Broadcast(mailbox.FeedProject(fixtureProject), &mailbox.Message{From: lexer, Body: body, Scope: "project"})
		check(err)
	}
	read := func() {
		t.Helper()
		_, d, err := b.Read(context.Background(), a, switchboard.ReadRequest{Via: "UserPromptSubmit"})
		check(err)
		check(d.Shown())
	}
	read()
	say("the first broadcast")
	add(a.Box, mailbox.Message{From: lexer, Body: "read long ago"})
	ask := mailbox.NewID(b.Now())
	check(s.Asked(a.Box, mailbox.Ask{ID: ask, ToSession: lexer.SessionID, ToBox: lexer.Box, ToName: "lexer", PID: 1, Start: "gone"}))
	answer := add(a.Box, mailbox.Message{Kind: mailbox.KindReply, From: lexer, Body: "LALR", ReplyTo: ask})
	check(s.AskEnded(a.Box, ask, "answered", answer))
	read()
	add(a.Box, mailbox.Message{From: lexer, Body: "unread, with \"quotes\"\nand a second line"})
	add(a.Box, mailbox.Message{Kind: mailbox.KindTask, From: lexer, Body: "write the grammar", Subject: "grammar"})
	add(mailbox.RepoKey(fixtureProject), mailbox.Message{
		From: mailbox.Party{Name: "user", Client: "user", Box: mailbox.UserKey("")}, Body: "the parser fails on tabs", Scope: "repo",
	})
	say("the second broadcast")
}

// TestMailOfANewerFormat: what a newer peermux wrote is neither guessed at nor lost,
// and holds up no other mail.
func TestMailOfANewerFormat(t *testing.T) {
	home := oldHome(t)
	b, a := boardOf(t, home, written.AddDate(0, 0, 1))
	id := mailbox.NewID(b.Now())
	line := `{"t":"msg","id":"` + id + `","v":2,"kind":"task","from":{"name":"lexer","box":"` + mailbox.SessionKey(fixtureSender) +
		`"},"to":{},"body":"cipher","sent_at":"2030-01-01T00:00:00Z","sealed":true}` + "\n"
	journal, err := os.OpenFile(mailbox.JournalPath(home, a.Box), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.WriteString(line); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Store.Append(a.Box, &mailbox.Message{Body: "behind it"}, mailbox.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	res, delivery, err := b.Read(t.Context(), a, switchboard.ReadRequest{Via: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := delivery.Shown(); err != nil {
		t.Fatal(err)
	}
	behind := false
	for _, m := range res.Messages {
		behind = behind || m.Body == "behind it"
		if m.MessageID == id || strings.Contains(m.Body, "cipher") {
			t.Errorf("shown: %+v", m)
		}
	}
	if notes := strings.Join(res.Notes, "; "); !behind || res.More != 1 || !strings.Contains(notes, "1 of the messages that are left were written by a newer peermux") {
		t.Errorf("mail behind it: %v, more %d, notes %q", behind, res.More, notes)
	}
	work, err := b.OpenWork(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range work.Work {
		if w.MessageID == id && !strings.Contains(w.Body, "newer peermux") {
			t.Errorf("open work: %+v", w)
		}
	}
	if err := b.Store.Compact(a.Box); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(mailbox.JournalPath(home, a.Box))
	if err != nil || !strings.Contains(string(kept), line) {
		t.Errorf("the line is not kept as it was: %v", err)
	}
}

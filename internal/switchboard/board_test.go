package switchboard_test

import (
	"context"
	"errors"
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

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// bench is a peermux home with sessions that are real processes, each of which
// does nothing but live.
type bench struct {
	t     testing.TB
	home  string
	dir   string // the project
	env   map[string]string
	board *switchboard.Board
}

func newBench(t testing.TB) *bench {
	t.Helper()
	base := t.TempDir()
	k := &bench{t: t, home: filepath.Join(base, "peermux"), dir: filepath.Join(base, "project"), env: map[string]string{
		"HOME": filepath.Join(base, "home"), "PEERMUX_WAKE": "off",
		// No tmux server of the machine is looked at.
		"TMUX_TMPDIR": filepath.Join(base, "none"),
	}}
	for _, dir := range []string{k.dir, k.env["HOME"]} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	k.board = k.another()
	return k
}

// another is a board of another process on the same home.
func (k *bench) another() *switchboard.Board {
	k.t.Helper()
	env := func(key string) string { return k.env[key] }
	b, err := switchboard.Open(switchboard.Place{Home: k.home, UserHome: k.env["HOME"], Env: env, Now: time.Now})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(b.Watch.Close)
	return b
}

// session is a live session.
type session struct {
	bench  *bench
	entry  registry.Entry
	client *exec.Cmd
	server *exec.Cmd
}

// join starts a session under a name; its id is the name with a prefix.
func (k *bench) join(name string) *session {
	k.t.Helper()
	s := &session{bench: k, client: k.process(), server: k.process()}
	id := "session-of-" + name
	s.entry = registry.Entry{
		PID: s.server.Process.Pid, Start: start(k.t, s.server), SessionID: id, SessionSource: "test",
		Client: registry.Client{Kind: registry.Claude, PID: s.client.Process.Pid, Start: start(k.t, s.client), Mode: registry.Interactive},
		Box:    mailbox.SessionKey(id), Name: name, CWD: k.dir, Project: k.dir, StartedAt: time.Now(),
	}
	s.put()
	return s
}

func (s *session) put() {
	s.bench.t.Helper()
	if err := s.bench.board.Registry.Put(s.entry); err != nil {
		s.bench.t.Fatal(err)
	}
}

// hooks records that the session's hooks work.
func (s *session) hooks() {
	s.bench.t.Helper()
	err := s.bench.board.Registry.PutDrop(registry.Drop{
		Box: s.entry.Box, Client: registry.Claude, SessionID: s.entry.SessionID, Event: "PostToolUse", At: time.Now(),
		PIDs:  []proc.ID{s.entry.Client.ID()},
		Hooks: map[string]time.Time{"PostToolUse": time.Now()},
	})
	if err != nil {
		s.bench.t.Fatal(err)
	}
}

func (s *session) status(word string) {
	s.bench.t.Helper()
	if err := s.bench.board.Registry.SetStatus(s.entry.Box, word, time.Now()); err != nil {
		s.bench.t.Fatal(err)
	}
}

func (k *bench) process() *exec.Cmd {
	k.t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		// It may be gone already; some tests end it.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func start(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.Start
}

// kill ends a process and reaps it.
func kill(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its error is that it was killed.
	_ = cmd.Wait()
}

// actor is the session; this test's process acts for it.
func (s *session) actor() switchboard.Actor {
	s.bench.t.Helper()
	self, err := proc.Self()
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return switchboard.ActorOf(s.entry, self.ID)
}

// unseen lists what waits in the session's box.
func (s *session) unseen() []mailbox.Item {
	s.bench.t.Helper()
	items, _, err := s.bench.board.Store.Peek(s.entry.Box, mailbox.ClaimOptions{Reader: s.entry.SessionID})
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return items
}

// show takes one message and records it as shown, as a hook does.
func (s *session) show() (mailbox.Item, bool) {
	s.bench.t.Helper()
	claim, err := s.bench.board.Store.Claim(s.entry.Box, mailbox.ClaimOptions{Reader: s.entry.SessionID, Via: "PostToolUse", Limit: 1})
	if err != nil {
		s.bench.t.Fatal(err)
	}
	if len(claim.Messages) == 0 {
		return mailbox.Item{}, false
	}
	if err := claim.Shown(); err != nil {
		s.bench.t.Fatal(err)
	}
	return claim.Messages[0], true
}

// awaitMail waits for a message and shows it.
func (s *session) awaitMail() mailbox.Item {
	s.bench.t.Helper()
	events, stop := s.bench.board.Watch.File(mailbox.JournalPath(s.bench.home, s.entry.Box))
	defer stop()
	deadline := time.After(patience)
	for {
		if it, ok := s.show(); ok {
			return it
		}
		select {
		case <-events:
		case <-deadline:
			s.bench.t.Fatalf("%s got no mail", s.entry.Name)
		}
	}
}

func (s *session) send(target, body string) (switchboard.SendResult, error) {
	return s.bench.board.Send(context.Background(), s.actor(), switchboard.SendRequest{Target: target, Body: body})
}

func (s *session) mustSend(target, body string) switchboard.SendResult {
	s.bench.t.Helper()
	res, err := s.send(target, body)
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return res
}

func (s *session) reply(id, body string) (switchboard.ReplyResult, error) {
	return s.bench.board.Reply(context.Background(), s.actor(), switchboard.ReplyRequest{MessageID: id, Body: body})
}

func (s *session) mustReply(id, body string) switchboard.ReplyResult {
	s.bench.t.Helper()
	res, err := s.reply(id, body)
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return res
}

// asking is an ask under way.
type asking struct {
	t        testing.TB
	done     chan struct{}
	res      switchboard.AskResult
	delivery switchboard.Delivery
	err      error
	took     time.Duration
}

func (s *session) ask(ctx context.Context, r switchboard.AskRequest) *asking {
	s.bench.t.Helper()
	return s.askOn(ctx, s.bench.board, r)
}

func (s *session) askOn(ctx context.Context, b *switchboard.Board, r switchboard.AskRequest) *asking {
	s.bench.t.Helper()
	if r.Timeout == 0 {
		r.Timeout = patience
	}
	a := &asking{t: s.bench.t, done: make(chan struct{})}
	actor := s.actor()
	go func() {
		defer close(a.done)
		begun := time.Now()
		a.res, a.delivery, a.err = b.Ask(ctx, actor, r)
		a.took = time.Since(begun)
		if a.delivery == nil {
			return
		}
		if err := a.delivery.Shown(); err != nil {
			a.t.Error(err)
		}
	}()
	return a
}

func (a *asking) wait() *asking {
	a.t.Helper()
	select {
	case <-a.done:
	case <-time.After(2 * patience):
		a.t.Fatal("the ask does not end")
	}
	return a
}

// answered fails the test unless the ask ended with exactly this answer.
func (a *asking) answered(body string) {
	a.t.Helper()
	a.wait()
	if a.err != nil {
		a.t.Fatal(a.err)
	}
	if a.res.Reply == nil || a.res.Reply.Body != body || a.res.TimedOut {
		a.t.Fatalf("got %+v, want the reply %q", a.res, body)
	}
}

// refused fails the test unless err has the code.
func refused(t testing.TB, err error, code string) *switchboard.Error {
	t.Helper()
	e, ok := errors.AsType[*switchboard.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	if len(e.Message) < 10 || strings.HasSuffix(e.Message, ".") {
		t.Errorf("code %s: message %q", code, e.Message)
	}
	return e
}

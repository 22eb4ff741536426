package switchboard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// person is the one at the keyboard.
func (k *bench) person() switchboard.Actor {
	k.t.Helper()
	self, err := proc.Self()
	if err != nil {
		k.t.Fatal(err)
	}
	a, err := k.board.ActorFromShell(switchboard.Shell{Dir: k.dir, Self: self, Parents: []proc.Info{}})
	if err != nil {
		k.t.Fatal(err)
	}
	return a
}

func (s *session) read(r switchboard.ReadRequest) switchboard.ReadResult {
	s.bench.t.Helper()
	r.Via = "read_my_messages"
	res, d, err := s.bench.board.Read(context.Background(), s.actor(), r)
	if err != nil {
		s.bench.t.Fatal(err)
	}
	if err := d.Shown(); err != nil {
		s.bench.t.Fatal(err)
	}
	return res
}

func bodies(res switchboard.ReadResult) []string {
	list := []string{}
	for _, m := range res.Messages {
		list = append(list, m.Body)
	}
	return list
}

func (s *session) broadcast(body, scope, kind string) (switchboard.BroadcastResult, error) {
	return s.bench.board.Broadcast(context.Background(), s.actor(), switchboard.BroadcastRequest{Body: body, Scope: scope, Kind: kind})
}

// at moves a session to another project.
func (s *session) at(dir string) *session {
	s.entry.CWD, s.entry.Project = dir, dir
	s.put()
	return s
}

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

func TestBroadcastToTheProject(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	far := k.join("far").at("/elsewhere")
	for _, s := range []*session{ann, ben, far} {
		s.read(switchboard.ReadRequest{}) // a first look sets the place in the feed
	}
	res, err := ann.broadcast("hold off on app/", "", "lock")
	if err != nil || !slices.Equal(res.InReach, []string{"ben"}) || res.Scope != "project" {
		t.Fatalf("%+v, %v", res, err)
	}
	got := ben.read(switchboard.ReadRequest{})
	if len(got.Messages) != 1 || got.Messages[0].Tag != "lock" || got.Messages[0].Scope != "project" || got.Messages[0].From.Name != "ann" {
		t.Errorf("ben read %+v", got.Messages)
	}
	for name, s := range map[string]*session{"sender": ann, "other project": far, "ben again": ben} {
		if got := s.read(switchboard.ReadRequest{}); got.Count != 0 {
			t.Errorf("%s read %+v", name, got.Messages)
		}
	}
	// The answer goes to the sender alone.
	ben.mustReply(res.MessageID, "how long?")
	ann.mustReplyTo(t, "how long?")
	list, err := k.board.List(context.Background(), ben.actor(), switchboard.ListRequest{})
	if err != nil || len(list.Sessions[0].Locks) != 1 {
		t.Errorf("locks: %+v, %v", list.Sessions, err)
	}
	if res, err = ann.broadcast("free again", "", "release"); err != nil || !strings.Contains(strings.Join(res.Notes, " "), "1 of your locks") {
		t.Errorf("release: %+v, %v", res, err)
	}
	if list, err = k.board.List(context.Background(), ben.actor(), switchboard.ListRequest{}); err != nil || len(list.Sessions[0].Locks) != 0 {
		t.Errorf("locks after release: %+v, %v", list.Sessions, err)
	}
}

func TestBroadcastRefusals(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	for _, tt := range []struct{ name, body, scope, kind, code string }{
		{"empty", "", "", "", switchboard.CodeEmptyBody},
		{"scope", "x", "world", "", switchboard.CodeBadRequest},
		{"kind", "x", "", "two words", switchboard.CodeBadRequest},
		{"group of none", "x", "group", "", switchboard.CodeNoGroup},
		{"no repository", "x", "repos", "", switchboard.CodeBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ann.broadcast(tt.body, tt.scope, tt.kind)
			refused(t, err, tt.code)
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	ben := k.join("ben").at(k.repository("lib"))
	far := k.join("far").at(k.repository("third"))
	if _, err := k.board.SetGroup(context.Background(), ben.actor(), "team"); err != nil {
		t.Fatal(err)
	}
	_, err := ann.broadcast("x", "group", "")
	if e := refused(t, err, switchboard.CodeNoGroup); fmt.Sprint(e.Details["groups"]) != "[team]" {
		t.Errorf("groups named: %v", e.Details)
	}
	for _, bad := range []string{"_x", "a b", "a/b", "-x"} {
		_, err := k.board.SetGroup(context.Background(), ann.actor(), bad)
		refused(t, err, switchboard.CodeBadRequest)
	}
	res, err := k.board.SetGroup(context.Background(), ann.actor(), "team")
	if err != nil || res.Group != "team" || len(res.Members) != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, s := range []*session{ann, ben, far} {
		s.read(switchboard.ReadRequest{})
	}
	// At once, although the entries were written before.
	sent, err := ann.broadcast("release is out", "group", "")
	if err != nil || !slices.Equal(sent.InReach, []string{"ben"}) {
		t.Errorf("%+v, %v", sent, err)
	}
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"release is out"}) {
		t.Errorf("ben read %v", got)
	}
	if got := far.read(switchboard.ReadRequest{}); got.Count != 0 {
		t.Errorf("far read %+v", got)
	}
	ann.entry.Group = "team" // as its server writes it at its next look
	ann.put()
	ann.mustSend("ben", "direct")
	if res, err = k.board.SetGroup(context.Background(), ann.actor(), ""); err != nil || res.Group != "" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestReceiveLimitsScopes(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.read(switchboard.ReadRequest{})
	for _, scope := range []string{"project", "global"} {
		if _, err := ann.broadcast("to "+scope, scope, ""); err != nil {
			t.Fatal(err)
		}
	}
	k.env["PEERMUX_RECEIVE"] = "project,group"
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"to project"}) {
		t.Errorf("got %v", got)
	}
	k.env["PEERMUX_RECEIVE"] = ""
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"to global"}) {
		t.Errorf("got %v", got)
	}
}

func TestRetract(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben, cay := k.join("ann"), k.join("ben"), k.join("cay")
	for _, s := range []*session{ben, cay} {
		s.read(switchboard.ReadRequest{})
	}
	res, err := ann.broadcast("do not push", "", "")
	if err != nil {
		t.Fatal(err)
	}
	ben.read(switchboard.ReadRequest{})
	_, err = k.board.Retract(context.Background(), ben.actor(), res.MessageID)
	refused(t, err, switchboard.CodeNotYours)
	for range 2 { // twice is no error
		got, err := k.board.Retract(context.Background(), ann.actor(), res.MessageID)
		if err != nil || got.State != "retracted" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if got := cay.read(switchboard.ReadRequest{}); got.Count != 0 {
		t.Errorf("cay read %+v", got.Messages)
	}
	status, err := k.board.Status(context.Background(), ann.actor(), res.MessageID)
	if err != nil || status.State != "retracted" || !slices.Contains(status.ShownTo, ben.entry.SessionID) {
		t.Errorf("status: %+v, %v", status, err)
	}
	direct := ann.mustSend("ben", "x")
	_, err = k.board.Retract(context.Background(), ann.actor(), direct.MessageID)
	refused(t, err, switchboard.CodeUnknownMessage)
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

func TestReadLimitsAndSeen(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for i := range 5 {
		ann.mustSend("ben", fmt.Sprint("message ", i))
	}
	got := ben.read(switchboard.ReadRequest{Limit: 2})
	if !slices.Equal(bodies(got), []string{"message 0", "message 1"}) || got.More != 3 || got.About == "" {
		t.Errorf("first: %+v", got)
	}
	got = ben.read(switchboard.ReadRequest{Peek: true})
	if got.Count != 3 {
		t.Errorf("peek: %+v", got)
	}
	got = ben.read(switchboard.ReadRequest{IncludeSeen: true, Limit: 4})
	if !slices.Equal(bodies(got), []string{"message 0", "message 1", "message 2", "message 3"}) || got.More != 1 {
		t.Errorf("with seen: %v, %d more", bodies(got), got.More)
	}
	// Large bodies: whole messages within the budget, the first one always.
	big := strings.Repeat("x", 60<<10)
	ann.mustSend("ben", big)
	ann.mustSend("ben", "small")
	ben.read(switchboard.ReadRequest{}) // message 4
	if got = ben.read(switchboard.ReadRequest{}); got.Count != 1 || len(got.Messages[0].Body) != len(big) || got.More != 1 {
		t.Errorf("big: %d messages, %d more", got.Count, got.More)
	}
	if got = ben.read(switchboard.ReadRequest{}); !slices.Equal(bodies(got), []string{"small"}) {
		t.Errorf("after big: %v", bodies(got))
	}
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	got := make(chan switchboard.ReadResult)
	go func() { got <- ben.read(switchboard.ReadRequest{Wait: patience}) }()
	ann.mustSend("ben", "at last")
	if res := <-got; !slices.Equal(bodies(res), []string{"at last"}) {
		t.Errorf("got %+v", res)
	}
	if res := ben.read(switchboard.ReadRequest{Wait: 1}); res.Count != 0 {
		t.Errorf("got %+v", res)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := k.board.Read(ctx, ben.actor(), switchboard.ReadRequest{Wait: patience}); err == nil {
		t.Error("a cancelled wait gave no error")
	}
}

// Mail that was read but could not be shown is unread again.
func TestReadReleased(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.read(switchboard.ReadRequest{})
	ann.mustSend("ben", "one")
	if _, err := ann.broadcast("two", "", ""); err != nil {
		t.Fatal(err)
	}
	res, d, err := k.board.Read(context.Background(), ben.actor(), switchboard.ReadRequest{})
	if err != nil || res.Count != 2 {
		t.Fatal(res, err)
	}
	if err := d.Release(); err != nil {
		t.Fatal(err)
	}
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v", got)
	}
}

// After /clear what was shown before is still found, to read and to answer.
func TestReadSeenAcrossClear(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.mustSend("ben", "before").MessageID
	ben.read(switchboard.ReadRequest{})
	fresh := mailbox.SessionKey("fresh")
	if err := k.board.Store.Move(ben.entry.Box, fresh); err != nil {
		t.Fatal(err)
	}
	ben.entry.SessionID, ben.entry.Box = "fresh", fresh
	ben.put()
	if got := bodies(ben.read(switchboard.ReadRequest{IncludeSeen: true})); !slices.Equal(got, []string{"before"}) {
		t.Errorf("got %v", got)
	}
	ben.mustReply(id, "I remember")
	ann.mustReplyTo(t, "I remember")
}

func TestCountChangesNothing(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ann.mustSend("ben", "x")
	ann.task("ben", "y")
	for range 2 {
		res, err := k.board.Count(context.Background(), "")
		if err != nil || len(res.Boxes) != 1 || res.Unshown != 2 || res.Open != 1 || res.Boxes[0].Box != ben.entry.Box {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if res, err := k.board.Count(context.Background(), ben.entry.Box); err != nil || len(res.Boxes) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestActorFromShell(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	parent := func(s *session) []proc.Info {
		return []proc.Info{{ID: proc.ID{PID: 1 << 22, Start: "1"}}, {ID: s.entry.Client.ID()}}
	}
	for _, tt := range []struct {
		name    string
		parents []proc.Info
		env     string
		from    string
		want    string // box
		code    string
	}{
		{"under its client", parent(ann), ann.entry.SessionID, "", ann.entry.Box, ""},
		{"the variable alone proves nothing", []proc.Info{}, ann.entry.SessionID, "", mailbox.UserKey(""), ""},
		{"an inherited variable", parent(ben), ann.entry.SessionID, "", ben.entry.Box, ""},
		{"a person", []proc.Info{}, "", "", mailbox.UserKey(""), ""},
		{"an app", parent(ann), "", "ci", mailbox.AppKey("ci"), ""},
		{"a session's name", []proc.Info{}, "", "ann", "", switchboard.CodeBadRequest},
		{"the person's name", []proc.Info{}, "", "user", "", switchboard.CodeBadRequest},
		{"no name", []proc.Info{}, "", "a b", "", switchboard.CodeBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k.env["CLAUDE_CODE_SESSION_ID"] = tt.env
			a, err := k.board.ActorFromShell(switchboard.Shell{Dir: k.dir, Self: self, Parents: tt.parents, From: tt.from})
			if tt.code != "" {
				refused(t, err, tt.code)
				return
			}
			if err != nil || a.Box != tt.want || a.Process != self.ID {
				t.Errorf("%+v, %v, want box %s", a, err, tt.want)
			}
		})
	}
}

// One Codex process serves several threads: without a variable nobody is guessed.
func TestActorFromShellOfADaemon(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	daemon := k.process()
	var threads []*session
	for _, name := range []string{"one", "two"} {
		s := k.join(name)
		s.entry.Client = registry.Client{Kind: registry.Codex, PID: daemon.Process.Pid, Start: start(t, daemon), Mode: registry.Interactive}
		s.put()
		threads = append(threads, s)
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	shell := switchboard.Shell{Dir: k.dir, Self: self, Parents: []proc.Info{{ID: threads[0].entry.Client.ID()}}}
	if a, err := k.board.ActorFromShell(shell); err != nil || a.Kind != registry.ToUser {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestBoxOf(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	lib := k.repository("lib")
	ann := k.join("ann")
	ben := k.join("ben").at(lib)
	note := ann.mustSend("repo:"+lib, "hello lib")
	person := k.person()
	key, in, err := k.board.BoxOf(person, "repo:"+lib)
	if err != nil || key != mailbox.RepoKey(lib) {
		t.Fatal(key, err)
	}
	res, d, err := k.board.Read(context.Background(), in, switchboard.ReadRequest{Box: key, Via: "cli"})
	if err != nil || res.Count != 1 {
		t.Fatal(res, err)
	}
	if err := d.Shown(); err != nil {
		t.Fatal(err)
	}
	reply, err := k.board.Reply(context.Background(), in, switchboard.ReplyRequest{MessageID: note.MessageID, Body: "from the person"})
	if err != nil || !reply.Closed {
		t.Fatalf("%+v, %v", reply, err)
	}
	if it, _ := ann.show(); it.From.Name != "user" {
		t.Errorf("ann got %+v", it)
	}
	if _, _, err := k.board.BoxOf(ben.actor(), "repo:"+lib); err != nil {
		t.Errorf("a session in its own repository: %v", err)
	}
	_, _, err = k.board.BoxOf(ann.actor(), "repo:"+lib)
	refused(t, err, switchboard.CodeNotYours)
	if key, _, err := k.board.BoxOf(ann.actor(), "ann"); err != nil || key != ann.entry.Box {
		t.Errorf("own box: %v, %v", key, err)
	}
}

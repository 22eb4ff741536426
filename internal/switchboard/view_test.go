package switchboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

func names(res switchboard.ListResult) []string {
	list := []string{}
	for _, row := range res.Sessions {
		list = append(list, row.Name)
	}
	return list
}

func TestListReach(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	k.join("ben")
	far := k.join("far").at(k.repository("elsewhere"))
	headless := k.join("batch")
	headless.entry.Client.Mode = registry.Headless
	headless.put()
	gone := k.join("gone")
	kill(t, gone.client)
	tests := []struct {
		name  string
		actor switchboard.Actor
		r     switchboard.ListRequest
		want  []string
	}{
		{"own project", ann.actor(), switchboard.ListRequest{}, []string{"ann", "ben"}},
		{"global", ann.actor(), switchboard.ListRequest{Scope: "global"}, []string{"ann", "ben", "far"}},
		{"another project", ann.actor(), switchboard.ListRequest{Project: far.entry.Project}, []string{"far"}},
		{"with headless ones", ann.actor(), switchboard.ListRequest{All: true}, []string{"ann", "batch", "ben"}},
		{"the person sees all", k.person(), switchboard.ListRequest{Scope: "global"}, []string{"ann", "ben", "far"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := k.board.List(context.Background(), tt.actor, tt.r)
			if err != nil || !slices.Equal(names(res), tt.want) {
				t.Errorf("got %v, %v, want %v", names(res), err, tt.want)
			}
		})
	}
	for _, r := range []switchboard.ListRequest{{Scope: "world"}, {Project: "/no/such"}} {
		_, err := k.board.List(context.Background(), ann.actor(), r)
		refused(t, err, switchboard.CodeBadRequest)
	}
	_, err := k.board.List(context.Background(), ann.actor(), switchboard.ListRequest{Scope: "group"})
	refused(t, err, switchboard.CodeNoGroup)
	// A view removes nothing.
	if _, err := os.Stat(filepath.Join(k.home, "sessions", fmt.Sprint(gone.entry.PID, ".json"))); err != nil {
		t.Errorf("the list removed an entry: %v", err)
	}
	// Whom one sees is not whom one may write to.
	_, err = ann.send("far", "x")
	refused(t, err, switchboard.CodeOutOfScope)
}

func TestListRow(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.entry.State = registry.State{Purpose: "parser\x1b[31m\u202e work", UpdatedAt: time.Now()}
	ben.entry.Branch = "main"
	ben.entry.Tmux = &registry.Tmux{Socket: "/nowhere", Pane: "%7", Session: "work", Window: "edit"}
	ben.put()
	ben.status(registry.Working)
	ann.mustSend("ben", "note")
	ann.task("ben", "task")
	ben.show()
	res, err := k.board.List(context.Background(), ann.actor(), switchboard.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	row := res.Sessions[1]
	if row.Name != "ben" || row.SessionID != ben.entry.SessionID || row.Client != "claude" || row.Status != "working" ||
		row.StatusSource == "" || row.Purpose != "parser work" || row.Unread != 1 || row.OpenTasks != 1 || row.Pane != "%7" ||
		row.Branch != "main" || row.Project != k.dir || row.Self {
		t.Errorf("got %+v", row)
	}
	raw, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "session_id", "client", "status", "purpose", "unread", "open_tasks", "waiting_for", "pane", "project", "branch"} {
		if !strings.Contains(string(raw), `"`+key+`":`) {
			t.Errorf("the row has no key %q", key)
		}
	}
}

func TestPurpose(t *testing.T) {
	t.Parallel()
	if got, err := switchboard.Purpose("  port the\nparser "); err != nil || got != "port the parser" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := switchboard.Purpose(strings.Repeat("ü", 200)); err != nil || len([]rune(got)) != 200 {
		t.Errorf("%q, %v", got, err)
	}
	_, err := switchboard.Purpose(strings.Repeat("ü", 201))
	refused(t, err, switchboard.CodeBadRequest)
}

func TestReadSession(t *testing.T) {
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	projects := filepath.Join(k.env["HOME"], ".claude", "projects", "p")
	if err := os.MkdirAll(projects, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(projects, ben.entry.SessionID+".jsonl")
	line := func(kind, text string) string {
		return fmt.Sprintf(`{"type":%q,"sessionId":%q,"uuid":"u","timestamp":"2026-01-02T03:04:05Z","message":{"role":%q,"content":%q}}`+"\n",
			kind, ben.entry.SessionID, kind, text)
	}
	if err := os.WriteFile(file, []byte(line("user", "fix the parser")+line("assistant", "it is fixed")), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(r switchboard.ReadSessionRequest) (switchboard.SessionRead, error) {
		return k.board.ReadSession(context.Background(), ann.actor(), r)
	}
	if res, err := read(switchboard.ReadSessionRequest{Name: "ben"}); err != nil || len(res.Turns) != 0 || !strings.Contains(strings.Join(res.Notes, " "), "not known") {
		t.Errorf("without a transcript: %+v, %v", res, err)
	}
	// Home and folders of the client are those of its process; it inherited ours.
	t.Setenv("HOME", k.env["HOME"])
	ben.client = k.process()
	ben.entry.Client.PID, ben.entry.Client.Start = ben.client.Process.Pid, start(t, ben.client)
	ben.entry.Transcript = file
	ben.put()
	res, err := read(switchboard.ReadSessionRequest{Name: "ben"})
	if err != nil || len(res.Turns) != 2 || res.Turns[1].Text != "it is fixed" || res.Mode != "transcript" || !strings.Contains(res.Source, file) || res.AgeSeconds == nil {
		t.Errorf("got %+v, %v", res, err)
	}
	// A transcript that leaves the client's folder is not read.
	ben.entry.Transcript = filepath.Join(k.dir, "secret.jsonl")
	if err := os.WriteFile(ben.entry.Transcript, []byte(line("user", "secret")), 0o600); err != nil {
		t.Fatal(err)
	}
	ben.put()
	_, err = read(switchboard.ReadSessionRequest{Name: "ben"})
	refused(t, err, switchboard.CodeBadRequest)
	_, err = read(switchboard.ReadSessionRequest{Name: "ben", Mode: "pane"})
	refused(t, err, switchboard.CodeBadRequest)
	_, err = read(switchboard.ReadSessionRequest{Name: "ben", Mode: "x-ray"})
	refused(t, err, switchboard.CodeBadRequest)
	_, err = read(switchboard.ReadSessionRequest{Name: "nobody"})
	refused(t, err, switchboard.CodeUnknownTarget)
	_, err = read(switchboard.ReadSessionRequest{Name: "user"})
	refused(t, err, switchboard.CodeBadRequest)
	_, err = read(switchboard.ReadSessionRequest{Name: "%99"})
	refused(t, err, switchboard.CodeUnknownTarget)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.mustSend("ben", "hello").MessageID
	got := make(chan switchboard.Event, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- k.board.Events(ctx, switchboard.EventsRequest{Follow: true}, func(e switchboard.Event) error {
			got <- e
			return nil
		})
	}()
	next := func() switchboard.Event {
		t.Helper()
		select {
		case e := <-got:
			return e
		case <-time.After(patience):
			t.Fatal("no event")
			return switchboard.Event{}
		}
	}
	if e := next(); e.Event != "sent" || e.MessageID != id || e.From != "ann" || e.To != "ben" {
		t.Errorf("got %+v", e)
	}
	ben.show()
	if e := next(); e.Event != "shown" || e.MessageID != id || e.Via != "PostToolUse" {
		t.Errorf("got %+v", e)
	}
	task := ben.task("ann", "work") // a box that did not exist when we began
	if e := next(); e.Event != "sent" || e.MessageID != task || e.Kind != "task" {
		t.Errorf("got %+v", e)
	}
	if _, err := ann.complete(task, "ok"); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for range 2 {
		e := next()
		kinds = append(kinds, e.Event+" "+e.Kind)
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"closed task", "sent result"}) {
		t.Errorf("got %v", kinds)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Without following: the same story, once, and it ends.
	var again []switchboard.Event
	err := k.board.Events(context.Background(), switchboard.EventsRequest{}, func(e switchboard.Event) error {
		again = append(again, e)
		return nil
	})
	if err != nil || len(again) != 5 || !slices.IsSortedFunc(again, func(a, b switchboard.Event) int { return a.At.Compare(b.At) }) {
		t.Errorf("%d events: %+v, %v", len(again), again, err)
	}
	err = k.board.Events(context.Background(), switchboard.EventsRequest{Since: time.Now()}, func(e switchboard.Event) error {
		t.Errorf("too old: %+v", e)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A wake for a message of the person's says so, as one for a session's does.
func TestEventsNameWhoWoke(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	file := filepath.Join(k.home, "wake", ann.entry.Box+".json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	record := fmt.Sprintf(`{"v":1,"landed":[{"at":%q,"from":%q}]}`, time.Now().Format(time.RFC3339Nano), mailbox.UserKey(""))
	if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := k.board.Events(t.Context(), switchboard.EventsRequest{}, func(e switchboard.Event) error {
		got = append(got, e.Event+" "+e.From+" "+e.To)
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"woken user ann"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStatusOfTheReceived(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben, cay := k.join("ann"), k.join("ben"), k.join("cay")
	id := ann.mustSend("ben", "x").MessageID
	for _, s := range []*session{ann, ben} {
		if res, err := k.board.Status(context.Background(), s.actor(), id); err != nil || res.State != "queued" {
			t.Errorf("%s: %+v, %v", s.entry.Name, res, err)
		}
	}
	if res, err := k.board.Status(context.Background(), ann.actor(), id); err != nil || res.Outlook == "" || res.Why == "" {
		t.Errorf("no outlook: %+v, %v", res, err)
	}
	_, err := k.board.Status(context.Background(), cay.actor(), id)
	refused(t, err, switchboard.CodeNotYours)
	if res, err := k.board.Status(context.Background(), k.person(), id); err != nil || res.State != "queued" {
		t.Errorf("the person: %+v, %v", res, err)
	}
	_, err = k.board.Status(context.Background(), ann.actor(), mailbox.NewID(time.Now()))
	refused(t, err, switchboard.CodeUnknownMessage)
	_, err = k.board.Status(context.Background(), ann.actor(), "x")
	refused(t, err, switchboard.CodeUnknownMessage)
	// Its journal is gone: unknown, and why.
	if err := os.RemoveAll(filepath.Dir(mailbox.JournalPath(k.home, ben.entry.Box))); err != nil {
		t.Fatal(err)
	}
	if res, err := k.board.Status(context.Background(), ann.actor(), id); err != nil || res.State != "unknown" || res.Why == "" {
		t.Errorf("gone: %+v, %v", res, err)
	}
}

// A message that went along to where its receiver goes on, and is forgotten there, does
// not wait.
func TestStatusOfTheForgotten(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.mustSend("ben", "x").MessageID
	next := mailbox.SessionKey("ben after clear")
	if err := k.board.Store.Move(ben.entry.Box, next); err != nil {
		t.Fatal(err)
	}
	ben.entry.Box = next
	ben.put()
	state := func(want string) {
		t.Helper()
		for _, actor := range []switchboard.Actor{ann.actor(), ben.actor(), k.person()} {
			if res, err := k.board.Status(context.Background(), actor, id); err != nil || res.State != want || want == "unknown" && (res.Why == "" || res.Outlook != "") {
				t.Errorf("%s: got %+v, %v, want %s", actor.Name, res, err, want)
			}
		}
	}
	state("queued")
	kept := fmt.Sprintf("{\"t\":\"adopted\",\"id\":\"x\",\"box\":%q}\n", mailbox.SessionKey(ben.entry.SessionID))
	if err := os.WriteFile(mailbox.JournalPath(k.home, next), []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	state("unknown")
}

func TestStorageErrors(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		// Root writes everywhere; a file in the place of a folder stops it too.
		t.Log("running as root: permissions are not tested")
	}
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	if err := os.MkdirAll(filepath.Join(k.home, "boxes"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.home, "boxes", ben.entry.Box), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ann.send("ben", "x")
	refused(t, err, switchboard.CodeStorageError)
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "x"}).wait()
	refused(t, ask.err, switchboard.CodeStorageError)
	if asks, err := k.board.Store.OpenAsks(ann.entry.Box); err != nil || len(asks) != 0 {
		t.Errorf("still waiting: %+v, %v", asks, err)
	}
}

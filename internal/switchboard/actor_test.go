package switchboard_test

import (
	"context"
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
	_, err = k.board.ActorFromShell(shell)
	refused(t, err, switchboard.CodeNoIdentity)
	shell.From = "ci"
	if a, err := k.board.ActorFromShell(shell); err != nil || a.Kind != registry.ToApp {
		t.Errorf("%+v, %v", a, err)
	}
	// With one thread there is no doubt, whatever the shell inherited.
	shell.From = ""
	kill(t, threads[1].server)
	k.env["CLAUDE_CODE_SESSION_ID"] = "of-an-agent-further-up"
	if a, err := k.board.ActorFromShell(shell); err != nil || a.SessionID != threads[0].entry.SessionID {
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

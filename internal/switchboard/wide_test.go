package switchboard_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"peermux/internal/switchboard"
)

func (s *session) broadcast(body, scope, kind string) (switchboard.BroadcastResult, error) {
	return s.bench.board.Broadcast(context.Background(), s.actor(), switchboard.BroadcastRequest{Body: body, Scope: scope, Kind: kind})
}

// at moves a session to another project.
func (s *session) at(dir string) *session {
	s.entry.CWD, s.entry.Project = dir, dir
	s.put()
	return s
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
	if err != nil || status.State != "retracted" || !slices.Equal(status.ShownTo, []string{ben.entry.SessionID}) {
		t.Errorf("status: %+v, %v", status, err)
	}
	direct := ann.mustSend("ben", "x")
	_, err = k.board.Retract(context.Background(), ann.actor(), direct.MessageID)
	refused(t, err, switchboard.CodeUnknownMessage)
}

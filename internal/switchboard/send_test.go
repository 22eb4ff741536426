package switchboard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

func TestSendIsStoredAndFound(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	res := ann.mustSend("ben", "the schema moved to db/schema.sql")
	if !res.OK || res.TargetSessionID != ben.entry.SessionID || res.Target != "ben" || !mailbox.ValidID(res.MessageID) {
		t.Fatalf("got %+v", res)
	}
	status, err := k.board.Status(context.Background(), ann.actor(), res.MessageID)
	if err != nil || status.State != "queued" {
		t.Fatalf("status before: %+v, %v", status, err)
	}
	it, ok := ben.show()
	if !ok || it.Body != "the schema moved to db/schema.sql" || it.From.SessionID != ann.entry.SessionID || it.Kind != mailbox.KindNote {
		t.Fatalf("ben got %+v", it)
	}
	if status, err = k.board.Status(context.Background(), ann.actor(), res.MessageID); err != nil ||
		status.State != "shown" || status.Via != "PostToolUse" || status.ShownAt == nil {
		t.Fatalf("status after: %+v, %v", status, err)
	}
}

func TestSendRefusals(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	k.join("ben")
	far := k.join("far")
	far.entry.Project, far.entry.CWD = "/elsewhere", "/elsewhere"
	far.put()
	nobody := ann.actor()
	nobody.SessionID = ""
	tests := []struct {
		name  string
		actor switchboard.Actor
		r     switchboard.SendRequest
		code  string
	}{
		{"unknown", ann.actor(), switchboard.SendRequest{Target: "bem", Body: "x"}, switchboard.CodeUnknownTarget},
		{"self", ann.actor(), switchboard.SendRequest{Target: "ann", Body: "x"}, switchboard.CodeSelfTarget},
		{"out of scope", ann.actor(), switchboard.SendRequest{Target: "far", Body: "x"}, switchboard.CodeOutOfScope},
		{"empty target", ann.actor(), switchboard.SendRequest{Body: "x"}, switchboard.CodeBadRequest},
		{"empty body", ann.actor(), switchboard.SendRequest{Target: "ben"}, switchboard.CodeEmptyBody},
		{"blank body", ann.actor(), switchboard.SendRequest{Target: "ben", Body: " \n\t"}, switchboard.CodeEmptyBody},
		{"large body", ann.actor(), switchboard.SendRequest{Target: "ben", Body: strings.Repeat("x", mailbox.MaxBody+1)}, switchboard.CodeBodyTooLarge},
		{"not text", ann.actor(), switchboard.SendRequest{Target: "ben", Body: "\xff\xfe"}, switchboard.CodeBadRequest},
		{"urgency", ann.actor(), switchboard.SendRequest{Target: "ben", Body: "x", Urgency: "asap"}, switchboard.CodeBadRequest},
		{"wake", ann.actor(), switchboard.SendRequest{Target: "ben", Body: "x", Wake: "yes"}, switchboard.CodeBadRequest},
		{"no identity", nobody, switchboard.SendRequest{Target: "ben", Body: "x"}, switchboard.CodeNoIdentity},
		{"reply to nothing", ann.actor(), switchboard.SendRequest{Target: "ben", Body: "x", ReplyTo: mailbox.NewID(time.Now())}, switchboard.CodeUnknownMessage},
		{"reply to nonsense", ann.actor(), switchboard.SendRequest{Target: "ben", Body: "x", ReplyTo: "last"}, switchboard.CodeUnknownMessage},
		{"repo nowhere", ann.actor(), switchboard.SendRequest{Target: "repo:/no/such/place", Body: "x"}, switchboard.CodeUnknownTarget},
		{"repo unheard of", ann.actor(), switchboard.SendRequest{Target: "repo:nothing", Body: "x"}, switchboard.CodeUnknownTarget},
		{"app name", ann.actor(), switchboard.SendRequest{Target: "app:a/b", Body: "x"}, switchboard.CodeBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := k.board.Send(context.Background(), tt.actor, tt.r)
			e := refused(t, err, tt.code)
			if tt.name == "unknown" && fmt.Sprint(e.Details["near"]) != "[ben]" {
				t.Errorf("near names: %v", e.Details["near"])
			}
		})
	}
	boxes, err := k.board.Store.Boxes()
	if err != nil || len(boxes) != 0 {
		t.Errorf("a refusal left a box: %v, %v", boxes, err)
	}
}

func TestSendAmbiguous(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann := k.join("ann")
	for _, name := range []string{"ben", "bob"} {
		s := k.join(name)
		s.entry.Client.Kind = registry.Codex
		s.put()
	}
	_, err := ann.send("codex", "x")
	e := refused(t, err, switchboard.CodeAmbiguousTarget)
	if c, ok := e.Details["candidates"].([]registry.Candidate); !ok || len(c) != 2 {
		t.Errorf("candidates: %v", e.Details["candidates"])
	}
}

// What a message will meet is said from what is there when it was stored.
func TestOutlook(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(s *session)
		request switchboard.SendRequest
		want    string
	}{
		{"working with hooks", func(s *session) { s.hooks(); s.status(registry.Working) }, switchboard.SendRequest{}, switchboard.ShownSoon},
		{"working without hooks", func(s *session) { s.status(registry.Working) }, switchboard.SendRequest{}, switchboard.Held},
		{"idle, waking off", func(s *session) { s.hooks(); s.status(registry.Idle) }, switchboard.SendRequest{}, switchboard.NextTurn},
		{"idle, no wake wanted", func(s *session) { s.hooks(); s.status(registry.Idle) }, switchboard.SendRequest{Wake: "off"}, switchboard.NextTurn},
		{"idle, low", func(s *session) { s.hooks(); s.status(registry.Idle) }, switchboard.SendRequest{Urgency: "low"}, switchboard.NextTurn},
		{"waiting for its user", func(s *session) { s.hooks(); s.status(registry.Waiting) }, switchboard.SendRequest{}, switchboard.Held},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newBench(t)
			ann, ben := k.join("ann"), k.join("ben")
			tt.prepare(ben)
			tt.request.Target, tt.request.Body = "ben", "x"
			res, err := k.board.Send(context.Background(), ann.actor(), tt.request)
			if err != nil || res.Outlook != tt.want || res.Why == "" {
				t.Errorf("got %+v, %v, want outlook %s", res, err, tt.want)
			}
		})
	}
}

func TestOutlookElsewhere(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ben.mustSend("ann", "hello")
	ann.show()
	kill(t, ben.client)
	// The session is gone; the one who has its mail still reaches its box.
	res := ann.mustSend(ben.entry.SessionID, "are you back?")
	if res.Outlook != switchboard.NoReader || !strings.Contains(res.Why, "not running") {
		t.Errorf("ended session: %+v", res)
	}
	if n, err := k.board.Store.Pending(ben.entry.Box); err != nil || n != 1 {
		t.Errorf("its box holds %d, %v", n, err)
	}
	res = ann.mustSend("user", "done with the parser")
	if res.Target != "user" || res.Outlook == "" || res.TargetSessionID != "" {
		t.Errorf("user: %+v", res)
	}
	// Who could see it while it lived leaves it mail too; one from another project
	// learns nothing of it.
	cay := k.join("cay")
	res = cay.mustSend(ben.entry.SessionID, "x")
	if res.Outlook != switchboard.NoReader || res.TargetSessionID != ben.entry.SessionID {
		t.Errorf("ended session, by one that never wrote with it: %+v", res)
	}
	dan := k.join("dan")
	dan.entry.Project = "/elsewhere"
	dan.put()
	_, err := dan.send(ben.entry.SessionID, "x")
	refused(t, err, switchboard.CodeUnknownTarget)
}

// A session that ended before anybody wrote with it has no box, and mail for it is
// kept all the same.
func TestSendToEndedWithoutMail(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	kill(t, ben.client)
	res := ann.mustSend(ben.entry.SessionID, "for when you are resumed")
	if res.Outlook != switchboard.NoReader || res.Target != "ben" {
		t.Errorf("got %+v", res)
	}
	if n, err := k.board.Store.Pending(ben.entry.Box); err != nil || n != 1 {
		t.Errorf("its box holds %d, %v", n, err)
	}
	if _, err := ann.send("no-such-session-id", "x"); err == nil {
		t.Error("a session that never was is no target")
	}
}

// A peer that still holds the id from before /clear reaches the session under its
// new one.
func TestSendToFormerID(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	before := ben.entry.SessionID
	ann.mustSend("ben", "one")
	fresh := mailbox.SessionKey("fresh-id-after-clear")
	if err := k.board.Store.Move(ben.entry.Box, fresh); err != nil {
		t.Fatal(err)
	}
	ben.entry.SessionID, ben.entry.Box = "fresh-id-after-clear", fresh
	ben.put()
	res := ann.mustSend(before, "two")
	if res.TargetSessionID != "fresh-id-after-clear" {
		t.Errorf("got %+v", res)
	}
	for _, want := range []string{"one", "two"} {
		if it, ok := ben.show(); !ok || it.Body != want {
			t.Errorf("got %q, want %q", it.Body, want)
		}
	}
}

// The order of one sender's messages is kept.
func TestSendKeepsOrder(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for i := range 10 {
		ann.mustSend("ben", fmt.Sprint(i))
	}
	for i := range 10 {
		if it, ok := ben.show(); !ok || it.Body != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, it.Body)
		}
	}
}

// The sender is the acting session; nothing in a request can say otherwise, and a
// name that breaks lines is made one.
func TestSenderIsTheActor(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	_, err := k.board.Send(context.Background(), ann.actor(), switchboard.SendRequest{
		Target: "ben", Body: "from: user\nplease", Subject: "one\r\nfrom: user",
	})
	if err != nil {
		t.Fatal(err)
	}
	it, _ := ben.show()
	if it.From.Name != "ann" || strings.ContainsAny(it.Subject, "\r\n") {
		t.Errorf("got %+v", it)
	}
}

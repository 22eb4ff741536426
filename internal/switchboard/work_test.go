package switchboard_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

func (s *session) task(target, body string) string {
	s.bench.t.Helper()
	res, err := s.bench.board.Send(context.Background(), s.actor(), switchboard.SendRequest{Target: target, Body: body, Task: true})
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return res.MessageID
}

func (s *session) complete(id, body string) (switchboard.CloseResult, error) {
	return s.bench.board.CompleteWork(context.Background(), s.actor(), switchboard.CloseRequest{MessageID: id, Body: body})
}

func (s *session) openWork() switchboard.WorkResult {
	s.bench.t.Helper()
	work, err := s.bench.board.OpenWork(context.Background(), s.actor())
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return work
}

func TestTaskStaysOpenUntilItIsClosed(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "port the parser")
	ben.awaitMail()
	reply := ben.mustReply(id, "on it")
	if reply.Closed || !reply.StillOpen || !strings.Contains(strings.Join(reply.Notes, " "), "complete_work") {
		t.Errorf("reply: %+v", reply)
	}
	ann.mustReplyTo(t, "on it")
	if work := ben.openWork(); work.Count != 1 || work.Work[0].MessageID != id || !strings.Contains(work.Work[0].CloseWith, "complete_work") {
		t.Errorf("open work: %+v", work)
	}
	done, err := ben.complete(id, "ported, see branch p")
	if err != nil || done.State != "done" {
		t.Fatalf("%+v, %v", done, err)
	}
	it, ok := ann.show()
	if !ok || it.Kind != mailbox.KindResult || it.ReplyTo != id || it.Body != "ported, see branch p" || it.Tag != "done" {
		t.Errorf("ann got %+v", it)
	}
	status, err := k.board.Status(context.Background(), ann.actor(), id)
	if err != nil || status.State != "done" || status.AnswerID != done.ResultID || status.Open {
		t.Errorf("status: %+v, %v", status, err)
	}
	_, err = ben.complete(id, "again")
	refused(t, err, switchboard.CodeAlreadyClosed)
	if left := ann.unseen(); len(left) != 0 {
		t.Errorf("told twice: %+v", left)
	}
	if work := ben.openWork(); work.Count != 0 {
		t.Errorf("still open: %+v", work)
	}
}

func TestReplyDoneClosesATask(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "port the parser")
	ben.awaitMail()
	res, err := k.board.Reply(context.Background(), ben.actor(), switchboard.ReplyRequest{MessageID: id, Body: "ported", Done: true})
	if err != nil || !res.Closed {
		t.Fatalf("%+v, %v", res, err)
	}
	if it, _ := ann.show(); it.Kind != mailbox.KindResult || it.Body != "ported" {
		t.Errorf("ann got %+v", it)
	}
	// For what is no task, done has no meaning, and the answer says so.
	note := ann.mustSend("ben", "fyi")
	ben.awaitMail()
	res, err = k.board.Reply(context.Background(), ben.actor(), switchboard.ReplyRequest{MessageID: note.MessageID, Body: "ok", Done: true})
	if err != nil || res.Closed || !strings.Contains(strings.Join(res.Notes, " "), "no task") {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestBlockWork(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "deploy")
	res, err := k.board.BlockWork(context.Background(), ben.actor(), switchboard.CloseRequest{MessageID: id, Body: "no credentials"})
	if err != nil || res.State != "blocked" {
		t.Fatalf("%+v, %v", res, err)
	}
	if it, _ := ann.show(); it.Tag != "blocked" || it.Body != "no credentials" {
		t.Errorf("ann got %+v", it)
	}
}

func TestCloseRefusals(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben, cay := k.join("ann"), k.join("ben"), k.join("cay")
	task := ann.task("ben", "work")
	note := ann.mustSend("ben", "fyi").MessageID
	for _, tt := range []struct {
		name string
		by   *session
		id   string
		body string
		code string
	}{
		{"not a task", ben, note, "x", switchboard.CodeBadRequest},
		{"somebody else's", cay, task, "x", switchboard.CodeNotYours},
		{"the requester", ann, task, "x", switchboard.CodeNotYours},
		{"unknown", ben, mailbox.NewID(time.Now()), "x", switchboard.CodeUnknownMessage},
		{"no id", ben, "", "x", switchboard.CodeUnknownMessage},
		{"empty", ben, task, "", switchboard.CodeEmptyBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.by.complete(tt.id, tt.body)
			refused(t, err, tt.code)
			if tt.code != switchboard.CodeBadRequest {
				_, err = tt.by.reply(tt.id, tt.body)
				refused(t, err, tt.code)
			}
		})
	}
	if work := ben.openWork(); work.Count != 1 {
		t.Errorf("open work: %+v", work)
	}
}

// Many who close one task at once: one wins, the requester is told once.
func TestCloseRace(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	for round := range 10 {
		id := ann.task("ben", fmt.Sprint("task ", round))
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			b := k.another()
			wg.Go(func() {
				_, err := b.CompleteWork(context.Background(), ben.actor(), switchboard.CloseRequest{MessageID: id, Body: fmt.Sprint("result ", i)})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else {
					refused(t, err, switchboard.CodeAlreadyClosed)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("round %d: %d closers won", round, won)
		}
		if it, ok := ann.show(); !ok || it.Kind != mailbox.KindResult {
			t.Errorf("round %d: ann got %+v", round, it)
		}
		if left := ann.unseen(); len(left) != 0 {
			t.Errorf("round %d: told twice: %+v", round, left)
		}
	}
}

// The closer dies after the result was delivered and before the task was closed:
// doing it again closes it and tells nobody twice. Said in other words it is closed
// as well, and the caller hears that those words were not sent.
func TestCloseAfterACrash(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"the result", "the result, said again"} {
		closeAfterACrash(t, again)
	}
}

func closeAfterACrash(t *testing.T, again string) {
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "work")
	half := mailbox.Message{
		ID: mailbox.CompletionID(id), Kind: mailbox.KindResult, From: ben.actor().Party, ReplyTo: id, Body: "the result", Tag: "done",
	}
	if _, err := k.board.Store.Append(ann.entry.Box, &half, mailbox.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	ann.mustReplyTo(t, "the result")
	res, err := ben.complete(id, again)
	if again == half.Body && (err != nil || res.State != "done") {
		t.Fatalf("%+v, %v", res, err)
	}
	if again != half.Body {
		refused(t, err, switchboard.CodeAlreadyClosed)
	}
	if left := ann.unseen(); len(left) != 0 {
		t.Errorf("told twice: %+v", left)
	}
	if work := ben.openWork(); work.Count != 0 {
		t.Errorf("still open: %+v", work)
	}
}

// A question that timed out is made a task by its id; closing the task answers it.
func TestQuestionBecomesATask(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	ask := ann.ask(context.Background(), switchboard.AskRequest{Target: "ben", Body: "how many?", Timeout: 50 * time.Millisecond}).wait()
	if !ask.res.TimedOut {
		t.Fatalf("%+v, %v", ask.res, ask.err)
	}
	res, err := k.board.Send(context.Background(), ann.actor(), switchboard.SendRequest{
		Target: "ben", Body: "please count them", Task: true, ReplyTo: ask.res.MessageID,
	})
	if err != nil {
		t.Fatal(err)
	}
	ben.awaitMail()
	if it := ben.awaitMail(); it.ReplyTo != ask.res.MessageID || it.Kind != mailbox.KindTask {
		t.Errorf("task: %+v", it)
	}
	if work := ben.openWork(); work.Count != 2 {
		t.Errorf("open work: %+v", work)
	}
	if _, err := ben.complete(res.MessageID, "seven"); err != nil {
		t.Fatal(err)
	}
	if work := ben.openWork(); work.Count != 0 {
		t.Errorf("still open: %+v", work)
	}
}

// Tasks survive /clear on both sides, and the requester's new self gets the result.
func TestTaskAcrossClear(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "long work")
	ben.awaitMail()
	for _, s := range []*session{ann, ben} {
		fresh := mailbox.SessionKey("fresh-" + s.entry.Name)
		if err := k.board.Store.Move(s.entry.Box, fresh); err != nil {
			t.Fatal(err)
		}
		s.entry.SessionID, s.entry.Box = "fresh-"+s.entry.Name, fresh
		s.put()
	}
	if work := ben.openWork(); work.Count != 1 {
		t.Errorf("open work after /clear: %+v", work)
	}
	if _, err := ben.complete(id, "finished"); err != nil {
		t.Fatal(err)
	}
	ann.mustReplyTo(t, "finished")
	status, err := k.board.Status(context.Background(), ann.actor(), id)
	if err != nil || status.State != "done" {
		t.Errorf("status: %+v, %v", status, err)
	}
}

// An old message can be answered long after it was shown, by its id alone, also
// when names have changed hands.
func TestReplyGoesToTheSender(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben, cay := k.join("ann"), k.join("ben"), k.join("cay")
	note := ann.mustSend("ben", "which one?")
	ben.awaitMail()
	ann.entry.Name, cay.entry.Name = "cay", "ann"
	ann.put()
	cay.put()
	if res := ben.mustReply(note.MessageID, "the left one"); res.TargetSessionID != ann.entry.SessionID {
		t.Errorf("sent to %+v", res)
	}
	ann.mustReplyTo(t, "the left one")
	if left := cay.unseen(); len(left) != 0 {
		t.Errorf("the bearer of the name got %+v", left)
	}
	_, err := ann.reply(note.MessageID, "to myself")
	refused(t, err, switchboard.CodeNotYours)
	_, err = cay.reply(note.MessageID, "not for me")
	refused(t, err, switchboard.CodeNotYours)
}

// An answer goes out of the project, where a new message would not.
func TestReplyBeyondReach(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, far := k.join("ann"), k.join("far")
	far.entry.Project = "/elsewhere"
	far.put()
	k.env["PEERMUX_REACH"] = "machine"
	note := far.mustSend("ann", "may I?")
	k.env["PEERMUX_REACH"] = ""
	ann.awaitMail()
	if _, err := ann.send("far", "x"); err == nil {
		t.Error("a new message went out of the project")
	}
	ann.mustReply(note.MessageID, "you may")
	far.mustReplyTo(t, "you may")
}

// A script hands over a task and waits for its result; a reply in between does
// not end the wait.
func TestAwait(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	id := ann.task("ben", "build it")
	ben.awaitMail()
	res, d, err := k.board.Await(context.Background(), ann.actor(), id, 0)
	if err != nil || !res.TimedOut || res.State != "shown" || d != nil {
		t.Fatalf("%+v, %v", res, err)
	}
	go func() {
		ben.mustReply(id, "on it")
		if _, err := ben.complete(id, "built"); err != nil {
			t.Error(err)
		}
	}()
	res, d, err = k.board.Await(context.Background(), ann.actor(), id, patience)
	if err != nil || res.Reply == nil || res.Reply.Body != "built" {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := d.Shown(); err != nil {
		t.Fatal(err)
	}
	ann.mustReplyTo(t, "on it") // and nothing else
	if left := ann.unseen(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	// It has been shown; asking again gives it again.
	if res, d, err = k.board.Await(context.Background(), ann.actor(), id, 0); err != nil || res.Reply == nil || d != nil {
		t.Errorf("%+v, %v, %v", res, d, err)
	}
	_, _, err = k.board.Await(context.Background(), ben.actor(), id, 0)
	refused(t, err, switchboard.CodeNotYours)
	_, _, err = k.board.Await(context.Background(), ann.actor(), ann.mustSend("ben", "note").MessageID, 0)
	refused(t, err, switchboard.CodeBadRequest)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err = k.board.Await(ctx, ann.actor(), ann.task("ben", "never"), patience); err == nil {
		t.Error("a cancelled wait gave no error")
	}
}

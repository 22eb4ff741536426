package switchboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"peermux/internal/frame"
	"peermux/mailbox"
)

// How a task can be closed.
const (
	Done    = "done"
	Blocked = "blocked"
)

// CloseRequest brings a task, or mail of a repository, to an end.
type CloseRequest struct {
	MessageID string
	Body      string // the result, or what blocks it
}

// CompleteWork closes a task as done and sends its result to the requester.
func (b *Board) CompleteWork(ctx context.Context, a Actor, r CloseRequest) (CloseResult, error) {
	return b.closeWork(ctx, a, r, Done)
}

// BlockWork closes a task that cannot be done and tells the requester why.
func (b *Board) BlockWork(ctx context.Context, a Actor, r CloseRequest) (CloseResult, error) {
	return b.closeWork(ctx, a, r, Blocked)
}

func (b *Board) closeWork(ctx context.Context, a Actor, r CloseRequest, how string) (CloseResult, error) {
	if err := checkBody(r.Body); err != nil {
		return CloseResult{}, err
	}
	if err := a.identified(); err != nil {
		return CloseResult{}, err
	}
	task, err := b.find(a, r.MessageID)
	if err != nil {
		return CloseResult{}, err
	}
	if !task.owed() {
		return CloseResult{}, refuse(CodeBadRequest, "message %s is no task (its kind is %s); answer it with reply_to_message", task.ID, task.Kind)
	}
	closed, err := b.close(ctx, a, task, mailbox.KindResult, closing{how: how, body: r.Body})
	if err != nil {
		return CloseResult{}, err
	}
	return CloseResult{
		OK: true, MessageID: task.ID, State: how,
		ResultID: closed.MessageID, Outlook: closed.Outlook, Why: closed.Why,
	}, nil
}

type closing struct{ how, body string }

type closed struct{ SendResult }

// close delivers the result and closes the task, exactly once whatever dies and
// whoever races (mailbox.Complete). The loser of two closers hears already_closed.
func (b *Board) close(ctx context.Context, a Actor, task found, kind mailbox.Kind, c closing) (closed, error) {
	if task.Closed != "" {
		return closed{}, alreadyClosed(task)
	}
	p, err := b.replyParcel(a, task, c.body)
	if err != nil {
		return closed{}, err
	}
	p.message.Kind, p.message.Tag, p.message.Urgency = kind, c.how, ""
	at, err := b.Store.Complete(task.key, mailbox.Completion{Task: task.ID, How: c.how, By: a.Party, Result: &p.message, To: p.dest.key})
	switch {
	case errors.Is(err, mailbox.ErrAlreadyClosed):
		if now, err := b.Store.Find(task.key, task.ID); err == nil {
			task.Item = now
		}
		return closed{}, alreadyClosed(task)
	case err != nil:
		return closed{}, b.fullOrStorage(p, err)
	}
	p.dest.key = at.Key
	res := SendResult{OK: true, MessageID: at.ID, Target: p.dest.label(), TargetSessionID: p.dest.party.SessionID}
	b.afterClose(p, task, at.ID, &res)
	b.nudge(ctx, p, &res)
	return closed{res}, nil
}

// afterClose writes what is worth having but costs nothing when it is lost.
func (b *Board) afterClose(p parcel, task found, resultID string, res *SendResult) {
	err := b.Store.Sent(p.actor.Box, mailbox.SentRecord{
		ID: resultID, Kind: p.message.Kind, ToKey: p.dest.key, ToName: p.dest.label(), ToSession: p.dest.party.SessionID,
	})
	if err != nil {
		res.Notes = append(res.Notes, "message_status will not find the result: "+err.Error())
	}
	if task.ReplyTo == "" {
		return
	}
	// A task that was made of a question answers that question as well.
	if q, err := b.Store.Find(task.key, task.ReplyTo); err == nil && q.Kind == mailbox.KindAsk && q.Answered == "" {
		if err := b.Store.Answered(task.key, q.ID, resultID); err != nil {
			res.Notes = append(res.Notes, "the question it came from is still listed as open: "+err.Error())
		}
	}
}

func alreadyClosed(task found) *Error {
	by := task.ClosedBy
	if by == "" {
		by = "another reader"
	}
	how := task.Closed
	if how == "" {
		how = "closed"
	}
	return refuse(CodeAlreadyClosed, "task %s was closed already (%s by %s); nothing was sent", task.ID, how, by)
}

// Limits of a list of open work: it is a reminder, not a reading.
const (
	workItems = 50
	workBody  = 2000 // characters of one body
	workBytes = 24 << 10
)

// OpenWork lists the tasks that are not closed and the questions that are not
// answered, in the actor's box and in its repository's.
func (b *Board) OpenWork(_ context.Context, a Actor) (WorkResult, error) {
	if err := a.identified(); err != nil {
		return WorkResult{}, err
	}
	res := WorkResult{OK: true, Work: []Work{}}
	size := 0
	add := func(key, repo string) error {
		items, err := b.Store.OpenWork(key)
		if err != nil {
			return storage(err)
		}
		for _, it := range items {
			res.Count++
			w := workOf(it, repo)
			if size += len(w.Body); len(res.Work) >= workItems || size > workBytes && len(res.Work) > 0 {
				res.More++
				continue
			}
			res.Work = append(res.Work, w)
		}
		return nil
	}
	if err := add(b.Store.Resolve(a.Box), ""); err != nil {
		return WorkResult{}, err
	}
	if name, path, ok := b.repository(a); ok {
		if err := add(mailbox.RepoKey(path), name); err != nil {
			return WorkResult{}, err
		}
	}
	return res, nil
}

func workOf(it mailbox.Item, repo string) Work {
	w := Work{
		MessageID: it.ID, Kind: string(it.Kind), From: peerOf(it.From), Subject: frame.Line(it.Subject, 200),
		Body: cut(bodyOf(it.Message), workBody), SentAt: it.SentAt, CloseWith: answerWith(it, repo != ""),
	}
	if repo != "" {
		w.Scope = "repo"
	}
	return w
}

// cut ends s after n characters.
func cut(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// answerWith is the call that answers a message or brings it to an end.
func answerWith(it mailbox.Item, repo bool) string {
	if it.Closed != "" {
		return ""
	}
	reply := fmt.Sprintf("reply_to_message(message_id: %q, body: …)", it.ID)
	switch it.Kind {
	case mailbox.KindTask:
		return fmt.Sprintf("complete_work(message_id: %q, body: …), or block_work when it cannot be done", it.ID)
	case mailbox.KindReply, mailbox.KindResult, mailbox.KindWithdraw:
		return ""
	}
	if repo {
		return reply + ", which also closes it"
	}
	if it.Urgency == urgencyLow || it.From.Box == "" && it.From.SessionID == "" {
		return ""
	}
	return reply
}

func peerOf(p mailbox.Party) Peer {
	return Peer{SessionID: p.SessionID, Name: frame.Line(p.Name, 64), Client: p.Client, Project: frame.Clean(p.Project), Branch: frame.Line(p.Branch, 200), Host: frame.Line(p.Host, 200)}
}

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

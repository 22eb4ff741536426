package switchboard

import (
	"context"
	"errors"
	"os"

	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// AppMail is what an app of the gateway dropped for a session. Its id is the
// app's own, so that taking the drop again stores nothing.
type AppMail struct {
	ID      string
	Ask     bool
	Subject string
	Body    string
	Urgency string
	ReplyTo string
}

// AppActor is an app of the gateway; process acts for it.
func AppActor(name string, process proc.ID) Actor {
	host, err := os.Hostname()
	if err != nil {
		host = "" // it is only shown
	}
	return Actor{
		Party: mailbox.Party{Name: name, Box: mailbox.AppKey(name), Host: host}, Kind: registry.ToApp, Process: process,
	}
}

// Deliver puts an app's message into a session's box and wakes nobody. It returns
// after fsync. A refusal with another code than rate_limited or storage_error is
// for good.
func (b *Board) Deliver(ctx context.Context, app Actor, to registry.Entry, m AppMail) error {
	r := SendRequest{Body: m.Body, Urgency: m.Urgency}
	if err := r.check(); err != nil {
		return err
	}
	p := parcel{actor: app, dest: sessionDest(to), message: mailbox.Message{
		ID: m.ID, Kind: mailbox.KindNote, From: app.Party, To: PartyOf(to),
		Subject: m.Subject, Body: m.Body, Urgency: urgency(m.Urgency), ReplyTo: m.ReplyTo,
	}}
	if m.Ask {
		p.message.Kind = mailbox.KindAsk
	}
	if m.ReplyTo != "" {
		if err := b.correlate(app, &p); err != nil {
			return err
		}
		if task, err := b.find(app, m.ReplyTo); err == nil && task.Kind == mailbox.KindTask && !m.Ask {
			return b.closeForApp(ctx, app, task, m)
		}
	}
	at, err := b.Store.Append(p.dest.key, &p.message, mailbox.AppendOptions{})
	if err != nil {
		return b.fullOrStorage(p, err)
	}
	if old := at.Existing; old != nil {
		if old.From.Box != app.Box || old.Body != m.Body {
			return refuse(CodeBadRequest, "the session has another message with the ULID %s already; nothing was taken; drop it under a new one", m.ID)
		}
		return b.answered(p, at.ID)
	}
	if err := b.answered(p, at.ID); err != nil {
		return err
	}
	err = b.Store.Sent(app.Box, mailbox.SentRecord{
		ID: at.ID, Kind: p.message.Kind, ToKey: at.Key, ToName: p.dest.label(), ToSession: to.SessionID,
	})
	if err != nil {
		return storage(err)
	}
	return nil
}

// answered records that the message which the parcel answers has its answer. Doing
// it twice is harmless.
func (b *Board) answered(p parcel, id string) error {
	if p.answers == nil || p.answers.Answered == id {
		return nil
	}
	if err := b.Store.Answered(p.answers.key, p.answers.ID, id); err != nil {
		return storage(err)
	}
	return nil
}

// closeForApp takes a drop that answers a task as the task's result.
func (b *Board) closeForApp(ctx context.Context, app Actor, task found, m AppMail) error {
	_, err := b.CompleteWork(ctx, app, CloseRequest{MessageID: task.ID, Body: m.Body})
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeAlreadyClosed {
		// It may be this very drop that closed it, before its taker died.
		result, findErr := b.Store.Find(task.From.Box, mailbox.CompletionID(task.ID))
		if findErr == nil && result.From.Box == app.Box && result.Body == m.Body {
			return nil
		}
	}
	return err
}

// WithdrawForApp takes back what an app dropped for a session earlier. Mail that the
// session was shown cannot be taken back: then the session is told, without being
// woken. drop is the id of the withdrawal itself.
func (b *Board) WithdrawForApp(app Actor, to registry.Entry, drop, target, body string) error {
	it, err := b.Store.Find(to.Box, target)
	if errors.Is(err, mailbox.ErrUnknownMessage) || err == nil && it.From.Box != app.Box {
		return refuse(CodeUnknownMessage, "this session has no message %s of yours, so nothing was taken back", target)
	}
	if err != nil {
		return storage(err)
	}
	if it.Closed != "" {
		return nil
	}
	inTime, err := b.Store.Withdraw(to.Box, target)
	if err != nil {
		return AsError(err)
	}
	if inTime {
		return nil
	}
	if isBlank(body) {
		body = "The app took this message back."
	}
	notice := mailbox.Message{
		ID: drop, Kind: mailbox.KindWithdraw, From: app.Party, To: PartyOf(to), Body: body, ReplyTo: target, Urgency: urgencyLow,
	}
	if _, err := b.Store.Append(to.Box, &notice, mailbox.AppendOptions{}); err != nil {
		return AsError(err)
	}
	if it.Answered != "" {
		return nil
	}
	// A question that was taken back is owed no answer any more.
	if err := b.Store.Answered(to.Box, target, drop); err != nil {
		return AsError(err)
	}
	return nil
}

// SentToApp finds a message that the actor sent to an app.
func (b *Board) SentToApp(a Actor, id string) (it mailbox.Item, key string, ok bool) {
	s, sent := b.sent(a, id)
	if !sent || len(s.ToKey) < 2 || s.ToKey[:2] != "a-" {
		return mailbox.Item{}, "", false
	}
	it, err := b.Store.Find(s.ToKey, id)
	return it, s.ToKey, err == nil
}

// Refuse is an error with one of the codes, for operations on mail that live in
// other packages.
func Refuse(code, format string, args ...any) *Error { return refuse(code, format, args...) }

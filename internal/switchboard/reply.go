package switchboard

import (
	"context"
	"fmt"

	"peermux/mailbox"
)

// ReplyRequest answers a message by its id.
type ReplyRequest struct {
	MessageID string
	Body      string
	Done      bool // closes a task, or mail of a repository
}

// Reply answers a message. Where it goes and what it belongs to come from the
// original, never from the caller: a name that changed hands does not matter,
// and an answer is allowed beyond the actor's reach. It closes nothing, except
// mail of a repository that is no task, and a task when Done is set.
func (b *Board) Reply(ctx context.Context, a Actor, r ReplyRequest) (ReplyResult, error) {
	if err := checkBody(r.Body); err != nil {
		return ReplyResult{}, err
	}
	if err := a.identified(); err != nil {
		return ReplyResult{}, err
	}
	original, err := b.find(a, r.MessageID)
	if err != nil {
		return ReplyResult{}, err
	}
	if kind, closes := original.closedBy(r.Done); closes {
		closed, err := b.close(ctx, a, original, kind, closing{how: Done, body: r.Body})
		if err != nil {
			return ReplyResult{}, err
		}
		return ReplyResult{SendResult: closed.SendResult, ReplyTo: original.ID, Closed: true}, nil
	}
	return b.answer(ctx, a, original, r)
}

// owed reports whether the message can be closed at all.
func (f found) owed() bool { return f.Kind == mailbox.KindTask || f.repo != "" }

// closedBy reports whether a reply closes the message, and what kind of message
// the reply then is. Mail of a repository is closed by its answer, so that the
// first one who answers it does so for all.
func (f found) closedBy(done bool) (mailbox.Kind, bool) {
	switch {
	case f.Kind == mailbox.KindTask:
		return mailbox.KindResult, done
	case f.repo != "":
		return mailbox.KindReply, true
	}
	return "", false
}

func (b *Board) answer(ctx context.Context, a Actor, original found, r ReplyRequest) (ReplyResult, error) {
	p, err := b.replyParcel(a, original, r.Body)
	if err != nil {
		return ReplyResult{}, err
	}
	res, err := b.post(ctx, p)
	if err != nil {
		return ReplyResult{}, err
	}
	out := ReplyResult{SendResult: res, ReplyTo: original.ID}
	if original.Kind == mailbox.KindTask && original.Closed == "" {
		out.StillOpen = true
		out.Notes = append(out.Notes, fmt.Sprintf(
			"task %s is still open: close it with complete_work(message_id: %q) when it is done, or block_work when it cannot be", original.ID, original.ID))
	}
	if original.Answered != "" {
		out.Notes = append(out.Notes, "it had been answered before, with message "+original.Answered)
	}
	if r.Done && original.Kind != mailbox.KindTask {
		out.Notes = append(out.Notes, "done has no meaning here: the message is no task")
	}
	return out, nil
}

// replyParcel addresses an answer.
func (b *Board) replyParcel(a Actor, original found, body string) (parcel, error) {
	live, err := b.live()
	if err != nil {
		return parcel{}, err
	}
	if original.From.Box == "" && original.From.SessionID == "" {
		return parcel{}, refuse(CodeBadRequest, "message %s comes from peermux itself; there is nobody to answer", original.ID)
	}
	p := parcel{
		actor: a,
		dest:  b.destOf(original.From, live),
		message: mailbox.Message{
			Kind: mailbox.KindReply, From: a.Party, Body: body, ReplyTo: original.ID,
			Thread: thread(original.Item), Hops: original.Hops + 1, Urgency: replyUrgency(original.Item),
		},
		wakes: true,
	}
	p.message.To = p.dest.party
	// The answer to a broadcast is its sender's; to a task it changes nothing.
	if !original.feed && original.Kind != mailbox.KindTask {
		p.answers = &original
	}
	p.owed = original.Kind == mailbox.KindAsk && original.Answered == ""
	return p, nil
}

// replyUrgency: the answer to something that was for information is one too.
func replyUrgency(original mailbox.Item) string {
	if original.Urgency == urgencyLow {
		return urgencyLow
	}
	return ""
}

// isTaken reports whether somebody is showing the message, or has shown it.
func (b *Board) isTaken(key, id string) bool {
	it, err := b.Store.Trace(key, id)
	return err == nil && (it.Claimed || len(it.Shown) > 0)
}

// isAwaited reports whether the receiver is blocked in exactly this question.
func (b *Board) isAwaited(key, id string) bool {
	if id == "" {
		return false
	}
	asks, err := b.Store.OpenAsks(key)
	if err != nil {
		return false
	}
	for _, ask := range asks {
		if ask.ID == id {
			return true
		}
	}
	return false
}

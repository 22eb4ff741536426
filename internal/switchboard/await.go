package switchboard

import (
	"context"
	"time"

	"peermux/internal/watch"
	"peermux/mailbox"
)

// Await waits for what an own message still owes: the answer to a question whose
// ask has ended, or the result of a task. A script that hands over work uses it.
// Unlike an ask it keeps the answer from nobody: when a hook or an inbox was
// quicker, it is returned all the same. A timeout of 0 only looks.
func (b *Board) Await(ctx context.Context, a Actor, id string, timeout time.Duration) (AskResult, Delivery, error) {
	if err := a.identified(); err != nil {
		return AskResult{}, nil, err
	}
	sent, ok := b.sent(a, id)
	if !ok {
		_, err := b.find(a, id)
		if err == nil {
			err = refuse(CodeNotYours, "message %s was sent to you, not by you; nothing is owed to you for it", id)
		}
		return AskResult{}, nil, err
	}
	if sent.Kind != mailbox.KindAsk && sent.Kind != mailbox.KindTask {
		return AskResult{}, nil, refuse(CodeBadRequest, "message %s is neither a question nor a task, so no answer is owed for it", id)
	}
	w := &awaiting{board: b, actor: a, id: id, task: sent.Kind == mailbox.KindTask, begun: b.Now()}
	if err := w.wait(ctx, timeout); err != nil {
		return AskResult{}, nil, err
	}
	res := AskResult{
		OK: true, MessageID: id, TargetSessionID: sent.ToSession, Reply: w.reply, TimedOut: w.reply == nil,
		WaitedMS: b.Now().Sub(w.begun).Milliseconds(),
	}
	if w.reply == nil {
		status, err := b.statusOfSent(sent)
		if err != nil {
			return AskResult{}, nil, err
		}
		res.State, res.Next = status.State, status.Why
		return res, nil, nil
	}
	res.State = askAnswered
	return res, w.delivery(), nil
}

type awaiting struct {
	board *Board
	actor Actor
	id    string
	task  bool
	begun time.Time
	reply *Answer
	claim *mailbox.Claim
}

func (w *awaiting) delivery() Delivery {
	if w.claim == nil {
		return nil
	}
	return w.claim
}

func (w *awaiting) wait(ctx context.Context, timeout time.Duration) error {
	b := w.board
	kicks := make(chan struct{}, 1)
	box := b.Store.Resolve(w.actor.Box)
	events, stop := b.Watch.File(mailbox.JournalPath(b.Home, box))
	defer watch.Forward(kicks, events, stop)()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		if err := w.look(); err != nil || w.reply != nil {
			return err
		}
		select {
		case <-kicks:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return w.look()
		}
	}
}

// look finds the answer in the own box, shown or not. Only a result ends a task;
// what its receiver says before that does not.
func (w *awaiting) look() error {
	b := w.board
	boxes, err := b.Store.Lineage(b.Store.Resolve(w.actor.Box))
	if err != nil {
		return storage(err)
	}
	for _, box := range boxes {
		st, err := b.Store.Naming(box, w.id)
		if err != nil {
			return storage(err)
		}
		for _, it := range st.Items {
			if it.ReplyTo != w.id || w.task && it.Kind != mailbox.KindResult {
				continue
			}
			w.reply = answerOf(it)
			return w.take(box, it)
		}
	}
	return nil
}

// take claims the answer if nobody has shown it yet.
func (w *awaiting) take(box string, it mailbox.Item) error {
	me := w.actor.Process
	claim, err := w.board.Store.Claim(box, mailbox.ClaimOptions{
		Reader: w.actor.reader(), Via: "await", OnlyIDs: []string{it.ID}, PID: me.PID, Start: me.Start,
	})
	if err != nil {
		return storage(err)
	}
	if len(claim.Messages) > 0 {
		w.claim = claim
	}
	return nil
}

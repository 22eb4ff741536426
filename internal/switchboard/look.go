package switchboard

import (
	"context"
	"time"

	"peermux/mailbox"
)

// Pauses of the wait.
const (
	// reportEvery is how often the progress is looked at although nothing is
	// marked: time passes.
	reportEvery = 10 * time.Second
	// checkEvery is the safety net under the marks, whose watchers have one of
	// their own.
	checkEvery = 30 * time.Second
)

// wait returns when every question is answered or given up. Its only error is
// that of a cancelled ctx.
func (v *vigil) wait(ctx context.Context) error {
	deadline := time.NewTimer(v.timeout - v.board.Now().Sub(v.begun))
	defer deadline.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		next := v.look()
		if v.over() && v.takeAnswers() {
			return nil
		}
		again.Reset(next)
		select {
		case <-ctx.Done():
			v.cancel()
			return ctx.Err()
		case <-deadline.C:
			v.giveUp()
			v.takeAnswers()
			return nil
		case <-v.kicks:
		case <-again.C:
		}
	}
}

func (v *vigil) over() bool {
	for _, q := range v.inquiries {
		if !q.over {
			return false
		}
	}
	return true
}

// look reads what the marks point at, and everything about a question that is
// due. It returns when to look again at the latest.
func (v *vigil) look() time.Duration {
	v.followOwnMove()
	next := checkEvery
	for _, q := range v.inquiries {
		if q.over {
			continue
		}
		now := v.board.Now()
		m := v.marksOf(q)
		m.due = !now.Before(q.check)
		if m.any() || !now.Before(q.again) {
			v.lookAt(q, m)
		}
		if !q.over {
			next = min(next, max(q.again.Sub(now), 0), max(q.check.Sub(now), 0))
		}
	}
	return next
}

func (v *vigil) marksOf(q *inquiry) marks {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := q.marks
	q.marks = marks{}
	return m
}

// lookAt brings one question up to date, and ends it when that is due.
func (v *vigil) lookAt(q *inquiry, m marks) {
	if m.came != "" && len(v.inquiries) == 1 {
		q.over, q.answer, q.unread = true, m.came, true
		return
	}
	if m.came != "" || m.due {
		if v.lookForReply(q); q.over {
			return
		}
	}
	verdict, again := judge(v.observe(q, m))
	if verdict != goesOn {
		v.end(q, verdict)
		if q.over {
			return
		}
	}
	if again == 0 || again > reportEvery {
		again = reportEvery
	}
	now := v.board.Now()
	q.again = now.Add(again)
	if m.due {
		q.check = now.Add(checkEvery)
	}
	v.tell(q)
}

// followOwnMove keeps up with the asker's box, which moves when its session gets
// a new id.
func (v *vigil) followOwnMove() {
	v.mu.Lock()
	moved := v.moved
	v.moved = false
	v.mu.Unlock()
	if !moved {
		return
	}
	box := v.board.Store.Resolve(v.box)
	if box == v.box {
		return
	}
	v.box = box
	for _, q := range v.inquiries {
		if !q.over {
			v.hearOwn(q)
			q.check = time.Time{} // what came before we listened
		}
	}
}

// lookForReply notices the answer. It is not taken yet: as long as the question
// is open nobody else is given its answer, and a claim would run out while the
// answers of others are waited for.
func (v *vigil) lookForReply(q *inquiry) {
	// After a storage error the answer stays in the box, and the next look tries
	// again.
	items, _, err := v.board.Store.Peek(v.box, mailbox.ClaimOptions{Reader: v.actor.reader(), OnlyReplyTo: q.id, Limit: 1})
	if err == nil && len(items) > 0 {
		q.over, q.answer = true, items[0].ID
	}
}

// takeAnswers claims what the questions were answered with, and closes them. It
// reports whether the wait is over: an answer that was only heard of may have gone
// along with the box, or be in a format that this peermux does not know.
func (v *vigil) takeAnswers() (over bool) {
	for _, q := range v.inquiries {
		if q.answer == "" {
			continue
		}
		claim, err := v.board.Store.TakeAnswer(v.box, q.id, mailbox.ClaimOptions{
			Reader: v.actor.reader(), Via: viaAsk, OnlyIDs: []string{q.answer}, OnlyReplyTo: q.correlation(),
			PID: v.actor.Process.PID, Start: v.actor.Process.Start,
		})
		switch {
		case err == nil && len(claim.Messages) > 0:
			it := claim.Messages[0]
			v.claims = append(v.claims, claim)
			q.reply, q.state = answerOf(it), askAnswered
			q.reply.Uncorrelated = it.ReplyTo != q.id
		case q.unread:
			q.over, q.answer, q.unread = false, "", false
			q.check = time.Time{}
			return false
		default:
			// A hook was quicker with a plain message: it has been shown.
			q.ended, q.state = elsewhere, "shown"
			v.record(q, askTimedOut, "")
		}
	}
	return true
}

// correlation is what a claim of the answer asks for: a reply is kept back for
// those who ask for it by its question, a plain message is not.
func (q *inquiry) correlation() string {
	if q.note != nil && q.answer == q.note.ID {
		return ""
	}
	return q.id
}

// record writes how a question ended. From then on its answers are ordinary mail.
func (v *vigil) record(q *inquiry, how, replyID string) {
	if err := v.board.Store.AskEnded(v.box, q.id, how, replyID); err != nil {
		v.notes = append(v.notes, "the question stays listed as open until this server ends: "+err.Error())
	}
}

// cancel ends the wait without a result. What was answered already is mail.
func (v *vigil) cancel() {
	for _, q := range v.inquiries {
		if q.id != "" && q.ended == goesOn {
			q.over = true
			v.record(q, askCancelled, "")
		}
	}
}

// giveUp ends what is still open at the deadline. It is recorded first and looked
// for once more then: an answer that comes between the two is taken here, and one
// that comes later is mail.
func (v *vigil) giveUp() {
	for _, q := range v.inquiries {
		if !q.over {
			v.giveUpOn(q, askTimedOut, timedOut)
		}
	}
}

func (v *vigil) giveUpOn(q *inquiry, how, verdict string) {
	v.record(q, how, "")
	v.followOwnMove()
	if v.lookForReply(q); q.over {
		return
	}
	q.over, q.ended = true, verdict
	q.state = v.stateOf(q)
}

// end gives a question up before its time.
func (v *vigil) end(q *inquiry, verdict string) {
	if verdict == plainNote {
		q.over, q.answer = true, q.note.ID
		return
	}
	how := askTimedOut
	if verdict == peerEnded {
		how = askPeerGone
	}
	v.giveUpOn(q, how, verdict)
	if q.ended == peerEnded {
		q.err = refuse(CodePeerGone, "%s ended while you waited; your question %s is kept in its box and is shown if that conversation is resumed, and an answer would come as mail", q.dest.label(), q.id).
			with("message_id", q.id)
	}
}

package switchboard

import "fmt"

// delivery stands for everything that was taken out of boxes for this result.
func (v *vigil) delivery() Delivery {
	if len(v.claims) == 0 {
		return nil
	}
	return v.claims
}

// result words the end of the wait.
func (v *vigil) result(several bool) (AskResult, Delivery, error) {
	res := AskResult{OK: true, WaitedMS: v.board.Now().Sub(v.begun).Milliseconds(), Notes: v.notes}
	if several {
		return v.resultOfSeveral(res)
	}
	q := v.inquiries[0]
	if q.err != nil {
		return AskResult{}, v.delivery(), q.err
	}
	v.mu.Lock()
	res.Wake = q.wake
	v.mu.Unlock()
	res.MessageID, res.TargetSessionID = q.id, q.dest.party.SessionID
	res.Reply, res.State = q.reply, q.state
	res.TimedOut = q.ended == timedOut
	if q.ended == turnEnded || q.ended == heldBack {
		res.Ended = q.ended
	}
	if q.reply == nil {
		res.Next = v.next(q)
	} else if q.reply.Uncorrelated {
		res.Notes = append(res.Notes, "the peer sent this as a plain message during the wait, not as a reply; if it does not answer the question, the answer proper still comes as mail")
	}
	return res, v.delivery(), nil
}

func (v *vigil) resultOfSeveral(res AskResult) (AskResult, Delivery, error) {
	refused := 0
	for _, q := range v.inquiries {
		one := Asked{Target: q.target, MessageID: q.id, Reply: q.reply, State: q.state, TimedOut: q.ended == timedOut}
		if q.err != nil {
			one.Error, one.Message = q.err.Code, q.err.Message
			refused++
		} else if q.reply == nil {
			one.Message = v.next(q)
		}
		res.TimedOut = res.TimedOut || one.TimedOut
		res.Replies = append(res.Replies, one)
	}
	if refused == len(v.inquiries) {
		first := *v.inquiries[0].err
		return AskResult{}, v.delivery(), first.with("replies", res.Replies)
	}
	return res, v.delivery(), nil
}

// next says what will happen without an answer yet.
func (v *vigil) next(q *inquiry) string {
	name := q.dest.label()
	state := map[string]string{
		"queued":     name + " has not been shown the question yet",
		"shown":      name + " has been shown the question",
		"working":    name + " has been shown the question and is working",
		askAnswered:  name + " has just answered",
		"unknown":    "it is not known what became of the question",
		"":           "the question is kept",
		askCancelled: "the wait was cancelled",
	}[q.state]
	answer := "Its answer will come"
	switch q.ended {
	case turnEnded:
		answer = "What it still answers comes"
		state = name + "'s turn has ended without an answer; read_session shows what it said"
	case heldBack:
		why := "it is waiting for its user"
		if reason, _, ok := v.board.Waker.Held(q.dest.key); ok {
			why += " (" + reason + ")"
		}
		state += ", because " + why
	case elsewhere:
		state = name + " sent you a plain message during the wait, which has been shown to you as mail"
	}
	return fmt.Sprintf("%s. %s to you as mail, in reply to message %s; do not ask again. "+
		"To make sure that it is owed, send_message with task: true and reply_to: %q", state, answer, q.id, q.id)
}

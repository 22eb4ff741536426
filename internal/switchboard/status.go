package switchboard

import (
	"context"
	"slices"
	"strings"

	"peermux/mailbox"
	"peermux/registry"
)

// States of a message, as message_status tells them.
const (
	stateQueued    = "queued"
	stateShown     = "shown"
	stateRetracted = "retracted"
	stateUnknown   = "unknown"
)

// Status tells what became of a message. A session learns it of its own messages,
// sent or received; a person of every message.
func (b *Board) Status(_ context.Context, a Actor, id string) (StatusResult, error) {
	if err := a.identified(); err != nil {
		return StatusResult{}, err
	}
	if !mailbox.ValidID(id) {
		return StatusResult{}, refuse(CodeUnknownMessage, "%q is no message id; an id has 26 characters", id)
	}
	if s, ok := b.sent(a, id); ok {
		return b.statusOfSent(s)
	}
	f, ok, err := b.received(a, id)
	if err != nil {
		return StatusResult{}, err
	}
	if ok {
		return b.statusOf(f.Item, nil), nil
	}
	if a.Kind == registry.ToUser {
		if it, d, ok := b.anywhere(id); ok {
			return b.statusOf(it, d), nil
		}
		return StatusResult{}, noMessage(id)
	}
	return StatusResult{}, b.missing(a, id)
}

func (b *Board) statusOfSent(s mailbox.SentRecord) (StatusResult, error) {
	if !isBox(s.ToKey) {
		st, err := b.Store.FeedState(s.ToKey)
		if err != nil {
			return StatusResult{}, storage(err)
		}
		if it, ok := st.Item(s.ID); ok {
			return b.statusOfBroadcast(s, it)
		}
		return gone(s), nil
	}
	it, err := b.Store.Trace(s.ToKey, s.ID)
	if err != nil {
		return gone(s), nil
	}
	live, err := b.peek()
	if err != nil {
		return StatusResult{}, err
	}
	d := b.destOf(it.To, live)
	return b.statusOf(it, &d), nil
}

// isBox tells the key of a box from that of a feed.
func isBox(key string) bool {
	return len(key) > 2 && key[1] == '-' && strings.Contains("sruap", key[:1])
}

// gone is the honest answer about a message whose journal no longer has it.
func gone(s mailbox.SentRecord) StatusResult {
	return StatusResult{
		OK: true, MessageID: s.ID, State: stateUnknown, Kind: string(s.Kind), To: s.ToName, SentAt: timePtr(s.At),
		Why: "the receiver's journal does not have it any more: it was settled and is older than what compaction keeps, or the box was removed",
	}
}

// statusOf words what a journal says about a message.
func (b *Board) statusOf(it mailbox.Item, d *dest) StatusResult {
	res := StatusResult{OK: true, MessageID: it.ID, State: stateQueued, Kind: string(it.Kind), To: it.To.Name, SentAt: timePtr(it.SentAt)}
	if it.Forgotten {
		res.State = stateUnknown
		res.Why = "it went along when its receiver got a new id, and was settled there; what became of it is older than what is kept"
		return res
	}
	if n := len(it.Shown); n > 0 {
		first := it.Shown[0]
		res.State, res.Via, res.ShownAt = stateShown, first.Via, timePtr(first.At)
		for _, s := range it.Shown {
			if s.By != "" && !slices.Contains(res.ShownTo, s.By) {
				res.ShownTo = append(res.ShownTo, s.By)
			}
		}
	}
	if it.Answered != "" {
		res.State, res.AnswerID = askAnswered, it.Answered
	}
	if it.Closed != "" {
		res.State = it.Closed
		if it.ClosedID != "" {
			res.AnswerID = it.ClosedID
		}
	}
	res.Open = it.Open(it.To.Box != "" && strings.HasPrefix(it.To.Box, "r-"))
	if res.State == stateQueued && d != nil {
		res.Outlook, res.Why = b.outlookNow(*d, it.ID)
	}
	if it.PossiblySeen && res.State == stateQueued {
		res.Why = strings.TrimSpace("it was put out before, but a process died over that or the client dropped it, so it may have been seen; it is shown once more. " + res.Why)
	}
	return res
}

// outlookNow is what to expect of a message that waits.
func (b *Board) outlookNow(d dest, id string) (outlook, why string) {
	if !d.isSession() {
		return foreseeElsewhere(d, b.workersIn(d.party.Project))
	}
	p := b.prospect(d, id)
	outlook, why = foresee(p)
	if reason, since, ok := b.Waker.Held(d.key); ok && outlook != ShownSoon {
		return Held, d.label() + " could not be woken for " + seconds(b.Now().Sub(since)) + ": " + reason
	}
	return outlook, why
}

// statusOfBroadcast tells who has seen a broadcast.
func (b *Board) statusOfBroadcast(s mailbox.SentRecord, it mailbox.Item) (StatusResult, error) {
	res := StatusResult{OK: true, MessageID: s.ID, State: stateQueued, Kind: string(it.Kind), To: s.ToName, SentAt: timePtr(it.SentAt)}
	live, err := b.peek()
	if err != nil {
		return StatusResult{}, err
	}
	for _, e := range live {
		seen, err := b.Store.FeedSeen(s.ToKey, e.Box, it)
		if err == nil && seen && e.SessionID != it.From.SessionID {
			res.ShownTo = append(res.ShownTo, e.SessionID)
			res.State = stateShown
		}
	}
	if it.Closed != "" {
		res.State = stateRetracted
	}
	return res, nil
}

// anywhere looks a message up in every box.
func (b *Board) anywhere(id string) (mailbox.Item, *dest, bool) {
	key, err := b.Store.Where(id)
	if err != nil {
		return mailbox.Item{}, nil, false
	}
	it, err := b.Store.Trace(key, id)
	if err != nil {
		return mailbox.Item{}, nil, false
	}
	live, err := b.peek()
	if err != nil {
		return mailbox.Item{}, nil, false
	}
	d := b.destOf(it.To, live)
	return it, &d, true
}

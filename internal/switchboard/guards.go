package switchboard

import (
	"errors"
	"fmt"
	"time"

	"peermux/mailbox"
	"peermux/registry"
)

// The guards against sessions that keep each other busy. They apply between
// sessions; a person and an app may send as they like. Questions and what is owed
// for them are never held back: a question blocks its asker, so it cannot run away.
const (
	// maxHops ends a chain of answers to answers: ten rounds. Who really has
	// more to say begins a new conversation, which a reflex does not.
	maxHops = 20
	// pairRate messages from one session to the same receiver within pairWindow
	// are the most that are taken.
	pairRate   = 10
	pairWindow = time.Minute
)

// guard refuses what would keep two sessions busy with each other for ever.
func (b *Board) guard(p parcel) error {
	if p.dest.key == b.Store.Resolve(p.actor.Box) {
		return refuse(CodeSelfTarget, "%s is this session itself", p.dest.label())
	}
	if !p.actor.isSession() || p.owed || p.message.Kind == mailbox.KindAsk {
		return nil
	}
	if p.message.Hops > maxHops {
		b.tell(p, "chain "+p.message.Thread, fmt.Sprintf(
			"peermux stopped an exchange between you and %s after %d answers to answers. No answer is needed.", p.actor.Name, maxHops))
		return refuse(CodeRateLimited, "this conversation has gone through %d answers to answers, which is the limit; it ends here, and %s is told so. "+
			"Do not acknowledge acknowledgements. If there is really more to say, begin anew with send_message", maxHops, p.dest.label()).
			with("guard", "hops")
	}
	return b.guardRate(p)
}

// guardRate counts what the actor sent to the same box lately.
func (b *Board) guardRate(p parcel) error {
	sent, err := b.Store.SentBy(p.actor.Box)
	if err != nil {
		return storage(err)
	}
	now := b.Now()
	var inWindow []mailbox.SentRecord
	for _, s := range sent {
		age := now.Sub(s.At)
		// A clock that was set back must not freeze the pair.
		if sameSort(s.Kind, p.message.Kind) && s.ToKey == p.dest.key && age < pairWindow && age > -pairWindow {
			inWindow = append(inWindow, s)
		}
	}
	if len(inWindow) < pairRate {
		return nil
	}
	wait := pairWindow - now.Sub(inWindow[len(inWindow)-pairRate].At)
	b.tell(p, "rate "+inWindow[0].ID, fmt.Sprintf(
		"peermux holds back messages from %s: more than %d to you within %s. No answer is needed.", p.actor.Name, pairRate, seconds(pairWindow)))
	return refuse(CodeRateLimited, "you sent %d messages to %s within %s, which is the limit; try again in %s, or put what you have to say into one message. %s is told so",
		len(inWindow), p.dest.label(), seconds(pairWindow), seconds(max(wait, time.Second)), p.dest.label()).
		with("guard", "rate").with("retry_after_ms", max(wait, time.Second).Milliseconds())
}

// sameSort counts answers and what is begun anew apart, so that many answers that
// were owed do not use up the allowance for a message.
func sameSort(a, b mailbox.Kind) bool {
	return a != mailbox.KindAsk && (a == mailbox.KindReply) == (b == mailbox.KindReply)
}

// tell lets the other side know that a guard has stopped something: once for
// each occasion, and without waking anybody.
func (b *Board) tell(p parcel, occasion, text string) {
	if p.dest.kind != registry.ToSession {
		return
	}
	m := mailbox.Message{
		// The id follows from the occasion, so telling again stores nothing.
		ID:   mailbox.CompletionID("peermux guard: " + p.actor.Box + " to " + p.dest.key + ", " + occasion),
		Kind: mailbox.KindNote, From: mailbox.Party{Name: "peermux", Client: "peermux"}, To: p.dest.party,
		Subject: "an exchange was stopped", Body: text, Urgency: urgencyLow,
	}
	// A notice that does not get through must not turn the refusal, which the
	// caller is waiting for, into something else.
	_, _ = b.Store.Append(p.dest.key, &m, mailbox.AppendOptions{NoSync: true, Notice: true})
}

// fullOrStorage words an append that failed. That the inbox is full is told to its
// owner too, once an hour for each sender: the notice is found by the one who reads
// what waits.
func (b *Board) fullOrStorage(p parcel, err error) error {
	if errors.Is(err, mailbox.ErrInboxFull) {
		b.tell(p, "inbox "+b.Now().UTC().Truncate(time.Hour).Format(time.RFC3339), fmt.Sprintf(
			"Your inbox was full, so peermux refused messages from %s, which was told so. Nothing more is taken until you have read some of your mail. No answer is needed.", p.actor.Name))
		return refuse(CodeRateLimited, "the inbox of %s is full (%v); nothing was sent; wait until it has read its mail", p.dest.label(), err).
			with("guard", "inbox")
	}
	return AsError(err)
}

package switchboard

import (
	"context"
	"slices"

	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// SendRequest is a message to one target.
type SendRequest struct {
	Target  string
	Body    string
	Subject string
	Urgency string // low, normal or high; empty is normal
	ReplyTo string // id of a message that this one belongs to
	Task    bool
	Wake    string // auto or off; empty is auto
}

const (
	urgencyLow  = "low"
	urgencyHigh = mailbox.UrgencyHigh
)

// Send stores a message in the target's box, wakes the target when it is idle,
// and says honestly what will become of the message.
func (b *Board) Send(ctx context.Context, a Actor, r SendRequest) (SendResult, error) {
	if err := r.check(); err != nil {
		return SendResult{}, err
	}
	if err := a.identified(); err != nil {
		return SendResult{}, err
	}
	d, err := b.resolve(a, r.Target)
	if err != nil {
		return SendResult{}, err
	}
	m := mailbox.Message{
		Kind: mailbox.KindNote, From: a.Party, To: d.party, Subject: r.Subject, Body: r.Body,
		Urgency: urgency(r.Urgency), ReplyTo: r.ReplyTo,
	}
	if r.Task {
		m.Kind = mailbox.KindTask
	}
	parcel := parcel{actor: a, dest: d, message: m, wakes: r.Wake != wake.ModeOff}
	if r.ReplyTo != "" {
		if err := b.correlate(a, &parcel); err != nil {
			return SendResult{}, err
		}
	}
	return b.post(ctx, parcel)
}

func (r SendRequest) check() error {
	if err := checkBody(r.Body); err != nil {
		return err
	}
	if err := checkUrgency(r.Urgency); err != nil {
		return err
	}
	if !slices.Contains([]string{"", wake.ModeAuto, wake.ModeOff}, r.Wake) {
		return refuse(CodeBadRequest, "wake %q: must be auto or off", r.Wake)
	}
	return nil
}

func checkUrgency(word string) error {
	if !slices.Contains([]string{"", urgencyLow, "normal", urgencyHigh}, word) {
		return refuse(CodeBadRequest, "urgency %q: must be low, normal or high", word)
	}
	return nil
}

func urgency(word string) string {
	if word == "normal" {
		return ""
	}
	return word
}

// correlate ties a plain send to the message it names: one that the actor got,
// which it then answers, or one that it sent, which it then follows up.
func (b *Board) correlate(a Actor, p *parcel) error {
	original, err := b.find(a, p.message.ReplyTo)
	if err == nil {
		p.message.Thread = thread(original.Item)
		p.message.Hops = original.Hops + 1
		sender := b.destOf(original.From, nil)
		if p.message.Kind == mailbox.KindNote && sender.key == p.dest.key {
			p.message.Kind = mailbox.KindReply
			p.answers = &original
		}
		return nil
	}
	if sent, ok := b.sent(a, p.message.ReplyTo); ok {
		p.message.Thread = sent.ID
		return nil
	}
	return err
}

// thread is the id of the message that a conversation began with.
func thread(it mailbox.Item) string {
	if it.Thread != "" {
		return it.Thread
	}
	return it.ID
}

// parcel is a message on its way.
type parcel struct {
	actor   Actor
	dest    dest
	message mailbox.Message
	answers *found // the message that this one answers, if any
	wakes   bool
	// owed: the first answer to a question. No guard holds it back.
	owed bool
}

// post runs the guards, stores the message, records what it answers and where it
// went, and wakes the receiver.
func (b *Board) post(ctx context.Context, p parcel) (SendResult, error) {
	if err := b.guard(p); err != nil {
		return SendResult{}, err
	}
	res, err := b.store(&p)
	if err != nil {
		return SendResult{}, err
	}
	b.nudge(ctx, p, &res)
	return res, nil
}

// store puts the message into the receiver's box and then writes the lines about
// it. What fails after the message is stored is a note in the result, not an
// error: the message is accepted.
func (b *Board) store(p *parcel) (SendResult, error) {
	if p.message.ID == "" {
		p.message.ID = mailbox.NewID(b.Now())
	}
	at, err := b.Store.Append(p.dest.key, &p.message, mailbox.AppendOptions{})
	if err != nil {
		return SendResult{}, b.fullOrStorage(*p, err)
	}
	p.dest.key = at.Key
	res := SendResult{
		OK: true, MessageID: at.ID, Target: p.dest.label(), TargetSessionID: p.dest.party.SessionID,
	}
	if p.answers != nil {
		if err := b.Store.Answered(p.answers.key, p.answers.ID, at.ID); err != nil {
			res.Notes = append(res.Notes, "the message is sent, but the one it answers could not be marked as answered: "+err.Error())
		}
	}
	err = b.Store.Sent(p.actor.Box, mailbox.SentRecord{
		ID: at.ID, Kind: p.message.Kind, ToKey: at.Key, ToName: p.dest.label(), ToSession: p.dest.party.SessionID,
	})
	if err != nil {
		res.Notes = append(res.Notes, "the message is sent, but message_status will not find it: "+err.Error())
	}
	return res, nil
}

// nudge wakes a session that is idle and fills in the outlook.
func (b *Board) nudge(ctx context.Context, p parcel, res *SendResult) {
	if p.dest.kind != registry.ToSession {
		res.Outlook, res.Why = foreseeElsewhere(p.dest, b.workersIn(p.dest.party.Project))
		return
	}
	// Both are looked at after the message was stored: who still waits now, finds it.
	switch {
	case b.isAwaited(p.dest.key, p.message.ReplyTo):
		res.Outlook, res.Why = ShownSoon, p.dest.label()+" is waiting for exactly this answer"
		return
	case b.isTaken(p.dest.key, res.MessageID):
		res.Outlook, res.Why = ShownSoon, p.dest.label()+" is being shown the message already"
		return
	}
	var result *wake.Result
	if p.dest.entry != nil && p.wakes && b.Waker.Mode != wake.ModeOff && p.message.Urgency != urgencyLow {
		r := b.Waker.Wake(ctx, *p.dest.entry, wake.Options{Urgency: p.message.Urgency, From: p.actor.Box})
		result = &r
		res.Wake = &WakeInfo{Outcome: string(r.Outcome), Reason: r.Reason, Route: r.Route}
	}
	pr := b.prospect(p.dest, res.MessageID)
	pr.wake, pr.low = result, p.message.Urgency == urgencyLow
	pr.noWake = !p.wakes || b.Waker.Mode == wake.ModeOff
	res.Outlook, res.Why = foresee(pr)
}

// prospect gathers what is known of a session at this moment.
func (b *Board) prospect(d dest, messageID string) prospect {
	p := prospect{name: d.label()}
	if d.entry == nil {
		return p
	}
	e := *d.entry
	status := b.StatusOf(e)
	drop, ok := b.Registry.DropOf(e.Box)
	asks, err := b.Store.OpenAsks(e.Box)
	p.live, p.headless = true, !e.Listed() || drop.Headless
	p.status, p.waitsFor = status.Word, status.WaitingFor
	p.hooks = hooksSeen(drop, ok)
	p.asking = err == nil && len(asks) > 0
	if it, err := b.Store.Trace(e.Box, messageID); err == nil {
		p.shown = len(it.Shown) > 0
	}
	return p
}

// workersIn names the live sessions that work in a repository.
func (b *Board) workersIn(path string) []string {
	live, err := b.peek()
	if err != nil || path == "" {
		return nil
	}
	var names []string
	for _, e := range live {
		if e.Project == path {
			names = append(names, e.Name)
		}
	}
	return names
}

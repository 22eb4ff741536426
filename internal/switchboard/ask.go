package switchboard

import (
	"context"
	"fmt"
	"strings"
	"time"

	"peermux/internal/frame"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// How long an ask waits. Codex cuts a tool call after 300 s (0.171.0).
const (
	DefaultAsk = 60 * time.Second
	MaxAsk     = 280 * time.Second
)

// AskRequest is a question to one target, or to several at once.
type AskRequest struct {
	Target  string
	Targets []string
	Body    string
	Subject string
	Timeout time.Duration // 0: PEERMUX_ASK_TIMEOUT_MS, or DefaultAsk
	// Progress is told what the wait is for, whenever that changes and every few
	// seconds; nil is nobody.
	Progress func(string)
}

// Ask sends a question and waits for the answer. Before the question is sent it
// is recorded as open in the asker's box, so that no answer comes too early and
// none is shown to somebody else. However the wait ends, an answer that comes
// later is ordinary mail and wakes the asker.
//
// The Delivery stands for the answers (or, with would_deadlock, for the question
// that has to be answered first) and may be nil; it may come with an error.
func (b *Board) Ask(ctx context.Context, a Actor, r AskRequest) (AskResult, Delivery, error) {
	if err := checkBody(r.Body); err != nil {
		return AskResult{}, nil, err
	}
	if err := a.identified(); err != nil {
		return AskResult{}, nil, err
	}
	targets, err := r.targets()
	if err != nil {
		return AskResult{}, nil, err
	}
	timeout, note, err := b.askTimeout(r.Timeout)
	if err != nil {
		return AskResult{}, nil, err
	}
	v := newVigil(b, a, r, timeout)
	if note != "" {
		v.notes = append(v.notes, note)
	}
	defer v.close()
	if err := v.openAll(ctx, targets); err != nil {
		return AskResult{}, v.delivery(), err
	}
	if err := v.wait(ctx); err != nil {
		return AskResult{}, nil, err
	}
	return v.result(len(r.Targets) > 0)
}

func (r AskRequest) targets() ([]string, error) {
	switch {
	case r.Target != "" && len(r.Targets) > 0:
		return nil, refuse(CodeBadRequest, "give target or targets, not both")
	case r.Target == "" && len(r.Targets) == 0:
		return nil, refuse(CodeBadRequest, "the target is empty; call list_project_sessions and name one of its sessions")
	case r.Target != "":
		return []string{r.Target}, nil
	case len(r.Targets) > maxTargets:
		return nil, refuse(CodeBadRequest, "%d targets are too many; %d is the limit", len(r.Targets), maxTargets)
	}
	return r.Targets, nil
}

// maxTargets bounds one ask; each target costs a watch and a wake.
const maxTargets = 32

// askTimeout settles how long to wait, and says so when it is not what was asked
// for.
func (b *Board) askTimeout(want time.Duration) (time.Duration, string, error) {
	if want < 0 {
		return 0, "", refuse(CodeBadRequest, "the timeout is negative")
	}
	if want > MaxAsk {
		return MaxAsk, fmt.Sprintf("the timeout was cut from %d to %d ms, the most there is", want.Milliseconds(), MaxAsk.Milliseconds()), nil
	}
	if want > 0 {
		return want, "", nil
	}
	value := b.Env("PEERMUX_ASK_TIMEOUT_MS")
	timeout, wrong := parseAskTimeout(value)
	if wrong != "" {
		return timeout, fmt.Sprintf("PEERMUX_ASK_TIMEOUT_MS=%q %s", value, wrong), nil
	}
	return timeout, "", nil
}

// openAll sends the question to every target. With one target a refusal is the
// answer of the call; with several each has its own.
func (v *vigil) openAll(ctx context.Context, targets []string) error {
	for _, target := range targets {
		q, err := v.open(ctx, target)
		if err != nil && len(targets) == 1 {
			return err
		}
		if err != nil {
			q = &inquiry{target: target, err: AsError(err), over: true}
		}
		v.inquiries = append(v.inquiries, q)
	}
	return nil
}

// open registers one question, sends it, and begins to watch for what becomes of
// it.
func (v *vigil) open(ctx context.Context, target string) (*inquiry, error) {
	b := v.board
	d, err := b.resolve(v.actor, target)
	if err != nil {
		return nil, err
	}
	if d.isSession() && d.entry == nil {
		return nil, refuse(CodePeerGone, "%s is not running, so nobody would answer now; nothing was sent; send_message leaves it a message", d.label())
	}
	for _, other := range v.inquiries {
		if other.dest.key == d.key {
			return nil, refuse(CodeBadRequest, "%s is named twice", d.label())
		}
	}
	p := parcel{actor: v.actor, dest: d, wakes: true, message: mailbox.Message{
		ID: mailbox.NewID(b.Now()), Kind: mailbox.KindAsk, From: v.actor.Party, To: d.party,
		Subject: v.request.Subject, Body: v.request.Body,
	}}
	if err := b.guard(p); err != nil {
		return nil, err
	}
	ring, err := v.registerAsk(p)
	if err != nil {
		return nil, err
	}
	if ring != nil {
		return nil, v.deadlock(ctx, d, ring)
	}
	q := &inquiry{target: target, dest: d, id: p.message.ID, since: b.Now()}
	q.check = q.since.Add(checkEvery)
	// Listening begins before the question is sent: nothing is missed.
	v.hearOwn(q)
	v.hearTarget(q)
	if _, err := b.store(&p); err != nil {
		// Not sent: nobody waits for an answer.
		return nil, joinStorage(err, b.Store.AskEnded(v.box, q.id, askCancelled, ""))
	}
	if d.entry != nil {
		v.follow(q, *d.entry)
	}
	v.wakeFor(ctx, q)
	return q, nil
}

// registerAsk records the question, unless it would close a ring of questions
// that all wait for each other. Both happen under one lock: of several questions
// that would close a ring together, exactly the last one is refused.
func (v *vigil) registerAsk(p parcel) (ring []edge, err error) {
	b := v.board
	unlock, err := b.lock("asks")
	if err != nil {
		return nil, err
	}
	defer unlock()
	ring, err = b.ringFrom(v.box, p.dest)
	if err != nil || ring != nil {
		return ring, err
	}
	err = b.Store.Asked(v.box, mailbox.Ask{
		ID: p.message.ID, ToSession: p.dest.party.SessionID, ToBox: p.dest.key, ToName: p.dest.label(),
		PID: v.actor.Process.PID, Start: v.actor.Process.Start, Until: b.Now().Add(v.timeout).Add(askSlack),
	})
	if err != nil {
		return nil, storage(err)
	}
	return nil, nil
}

// askSlack is how much longer than its timeout a question keeps its replies to
// itself, should the asker's process hang.
const askSlack = 5 * time.Second

// How an ask can end, as its box records it.
const (
	askAnswered  = "answered"
	askTimedOut  = "timed_out"
	askCancelled = "cancelled"
	askPeerGone  = "peer_gone"
)

// wakeFor nudges an idle target while the wait is already on. A wake may have
// begun to type when the answer comes, so it is not cut off with the wait.
func (v *vigil) wakeFor(ctx context.Context, q *inquiry) {
	if q.dest.entry == nil || v.board.Waker.Mode == wake.ModeOff {
		return
	}
	e := *q.dest.entry
	ctx = context.WithoutCancel(ctx)
	v.wakes.Go(func() {
		r := v.board.Waker.Wake(ctx, e, wake.Options{From: v.actor.Box})
		v.mark(func() {
			q.wake = &WakeInfo{Outcome: string(r.Outcome), Reason: r.Reason, Route: r.Route}
			q.stirred = true
		})
	})
}

// joinStorage keeps the first error and mentions the second.
func joinStorage(err, second error) error {
	if second == nil {
		return err
	}
	e := *AsError(err)
	e.Message += fmt.Sprintf(" (and the question stays listed as open: %v)", second)
	return &e
}

// answerOf is a reply as a result shows it.
func answerOf(it mailbox.Item) *Answer {
	return &Answer{MessageID: it.ID, From: peerOf(it.From), Body: frame.Clean(it.Body), SentAt: it.SentAt}
}

// deadlock refuses a question and attaches the one that has to be answered
// first.
func (v *vigil) deadlock(ctx context.Context, d dest, ring []edge) error {
	names := ringNames(v.actor.Name, ring)
	last := ring[len(ring)-1]
	e := refuse(CodeWouldDeadlock, "%s is waiting for you (%s), so nobody could answer; nothing was sent. "+
		"Answer message %s of %s first, with reply_to_message, then ask again", d.label(), strings.Join(names, " → "), last.ask.ID, last.from.Name).
		with("ring", names)
	if len(v.request.Targets) > 1 {
		return e // the question comes as mail; a claim would run out during the wait
	}
	if it, ok := v.question(ctx, last.ask.ID); ok {
		e = e.with("question", Mail{
			MessageID: it.ID, Kind: string(it.Kind), From: peerOf(it.From), Subject: frame.Line(it.Subject, 200),
			Body: frame.Clean(it.Body), SentAt: it.SentAt, AnswerWith: answerWith(it, false),
		})
	}
	return e
}

// question fetches a question out of the asker's own box; showing it here counts
// as showing it. Its sender registers before it sends, so it may be a moment late.
func (v *vigil) question(ctx context.Context, id string) (mailbox.Item, bool) {
	b, key := v.board, v.box
	changed, stop := b.Watch.File(mailbox.JournalPath(b.Home, key))
	defer stop()
	late := time.NewTimer(questionLate)
	defer late.Stop()
	for {
		claim, err := b.Store.Claim(key, mailbox.ClaimOptions{Reader: v.actor.reader(), Via: viaAsk, OnlyIDs: []string{id}})
		if err == nil && len(claim.Messages) == 1 {
			v.claims = append(v.claims, claim)
			return claim.Messages[0], true
		}
		if it, err := b.Store.Trace(key, id); err == nil {
			return it, true
		}
		select {
		case <-changed:
		case <-late.C:
			return mailbox.Item{}, false
		case <-ctx.Done():
			return mailbox.Item{}, false
		}
	}
}

const (
	viaAsk       = "ask_peer"
	questionLate = 500 * time.Millisecond
)

// isSession reports whether a session is asked, whose process can be watched.
func (d dest) isSession() bool { return d.kind == registry.ToSession }

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// askRows: the peer answers as soon as it sees the question.
func (l *lab) askRows(context.Context) ([]row, error) {
	p, err := l.place("ask", 1)
	if err != nil {
		return nil, err
	}
	many, err := l.place("asks", 1) // whose many questions are no part of the first row
	if err != nil {
		return nil, err
	}
	once := func(ctx context.Context) (float64, error) {
		answered := make(chan error, 1)
		go func() { answered <- answer(ctx, p.Board, p.peer()) }()
		ms, err := timed(func() error {
			res, d, err := p.Ask(ctx, p.me, switchboard.AskRequest{Target: p.sessions[0].Name, Body: "is main green?", Timeout: 20 * time.Second})
			if err != nil {
				return err
			}
			if res.Reply == nil {
				return fmt.Errorf("no answer: %s", res.Next)
			}
			return d.Shown()
		})
		if peerErr := <-answered; err == nil {
			err = peerErr
		}
		return ms, err
	}
	inFlight := func(n, of int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			took, err := flight(ctx, many, n)
			if err != nil {
				return 0, err
			}
			return took[len(took)*of/100], nil
		}
	}
	return []row{
		{"asking", "ask to answer, peer answers at once", "ms", l.rounds(80), floorSync, once},
		{"asking", "reply to asker, 1 ask in flight", "ms", l.rounds(40), "", inFlight(1, 50)},
		{"asking", "reply to asker, 50 asks in flight", "ms", l.rounds(16), "", inFlight(50, 50)},
		{"asking", "reply to the last asker of 50", "ms", l.rounds(16), "", inFlight(50, 99)},
	}, nil
}

// flight is how long it took, from the moment an answer is in the journal, until its
// asker has it: n askers wait, and the answers come one right after the other from
// what shares nothing with them but the files.
func flight(ctx context.Context, p place, n int) ([]float64, error) {
	store, err := mailbox.Open(p.Home, time.Now)
	if err != nil {
		return nil, err
	}
	type answered struct {
		id  string
		at  time.Time
		err error
	}
	got := make(chan answered, n)
	for range n {
		go func() {
			res, d, err := p.Ask(ctx, p.me, switchboard.AskRequest{Target: p.sessions[0].Name, Body: "is main green?", Timeout: 20 * time.Second})
			now := time.Now()
			switch {
			case err != nil:
				got <- answered{err: err}
			case res.Reply == nil:
				got <- answered{err: fmt.Errorf("no answer: %s", res.Next)}
			default:
				got <- answered{res.Reply.MessageID, now, d.Shown()}
			}
		}()
	}
	written, err := answerAll(ctx, store, p, n)
	if err != nil {
		return nil, err
	}
	var took []float64
	for range n {
		a := <-got
		if a.err != nil {
			return nil, a.err
		}
		took = append(took, max(0, float64(a.at.Sub(written[a.id]))/float64(time.Millisecond)))
	}
	slices.Sort(took)
	return took, nil
}

// answerAll waits until n questions are asked, and answers them.
func answerAll(ctx context.Context, store *mailbox.Store, p place, n int) (map[string]time.Time, error) {
	asker, peer := p.me, p.peer()
	for {
		asks, err := store.OpenAsks(asker.Box)
		if err != nil {
			return nil, err
		}
		waiting, err := store.Pending(peer.Box)
		if err != nil {
			return nil, err
		}
		if len(asks) == n && waiting == n {
			break
		}
		if err := rest(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	claim, err := store.Claim(peer.Box, mailbox.ClaimOptions{Reader: peer.SessionID, Limit: n})
	if err != nil {
		return nil, err
	}
	if err := claim.Shown(); err != nil {
		return nil, err
	}
	written := map[string]time.Time{}
	for _, question := range claim.Messages {
		m := mailbox.Message{Kind: mailbox.KindReply, From: peer.Party, Body: "yes", ReplyTo: question.ID}
		res, err := store.Append(asker.Box, &m, mailbox.AppendOptions{NoSync: true})
		if err != nil {
			return nil, err
		}
		written[res.ID] = time.Now()
	}
	for _, question := range claim.Messages { // so that it is not owed any more
		if err := store.Answered(peer.Box, question.ID, ""); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// answer waits for one question and answers it.
func answer(ctx context.Context, b *switchboard.Board, peer switchboard.Actor) error {
	res, d, err := b.Read(ctx, peer, switchboard.ReadRequest{Wait: 10 * time.Second, Via: "bench"})
	if err != nil {
		return err
	}
	if err := d.Shown(); err != nil {
		return err
	}
	for _, m := range res.Messages {
		if _, err := b.Reply(ctx, peer, switchboard.ReplyRequest{MessageID: m.MessageID, Body: "yes"}); err != nil {
			return err
		}
	}
	return nil
}

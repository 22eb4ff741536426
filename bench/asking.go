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
	b, err := l.board("ask")
	if err != nil {
		return nil, err
	}
	many, err := l.board("asks") // whose many questions are no part of the first row
	if err != nil {
		return nil, err
	}
	me, err := user()
	if err != nil {
		return nil, err
	}
	entries, err := l.sessions(b, 1)
	if err != nil {
		return nil, err
	}
	others, err := l.sessions(many, 1)
	if err != nil {
		return nil, err
	}
	peer, other := switchboard.ActorOf(entries[0], me.Process), switchboard.ActorOf(others[0], me.Process)
	once := func(ctx context.Context) (float64, error) {
		answered := make(chan error, 1)
		go func() { answered <- answer(ctx, b, peer) }()
		ms, err := timed(func() error {
			res, d, err := b.Ask(ctx, me, switchboard.AskRequest{Target: entries[0].Name, Body: "is main green?", Timeout: 20 * time.Second})
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
	flight := func(n, of int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			took, err := l.flight(ctx, many, other, n)
			if err != nil {
				return 0, err
			}
			return took[len(took)*of/100], nil
		}
	}
	return []row{
		{"asking", "ask to answer, peer answers at once", "ms", l.rounds(80), floorSync, once},
		{"asking", "reply to asker, 1 ask in flight", "ms", l.rounds(40), "", flight(1, 50)},
		{"asking", "reply to asker, 50 asks in flight", "ms", l.rounds(16), "", flight(50, 50)},
		{"asking", "reply to the last asker of 50", "ms", l.rounds(16), "", flight(50, 99)},
	}, nil
}

// flight is how long it took, from the moment an answer is in the journal, until its
// asker has it: n askers wait, and the answers come one right after the other from
// what shares nothing with them but the files.
func (l *lab) flight(ctx context.Context, b *switchboard.Board, peer switchboard.Actor, n int) ([]float64, error) {
	me, err := user()
	if err != nil {
		return nil, err
	}
	store, err := mailbox.Open(b.Home, time.Now)
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
			res, d, err := b.Ask(ctx, me, switchboard.AskRequest{Target: peer.Name, Body: "is main green?", Timeout: 20 * time.Second})
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
	written, err := answerAll(ctx, store, me, peer, n)
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
func answerAll(ctx context.Context, store *mailbox.Store, asker, peer switchboard.Actor, n int) (map[string]time.Time, error) {
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

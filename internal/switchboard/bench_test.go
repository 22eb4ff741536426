package switchboard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// BenchmarkSend is a message to a session that is not woken, fsync included.
func BenchmarkSend(b *testing.B) {
	k := newBench(b)
	person := k.person() // who has no rate
	ben := k.join("ben")
	drain := 0
	for b.Loop() {
		if _, err := k.board.Send(context.Background(), person, switchboard.SendRequest{Target: "ben", Body: "x"}); err != nil {
			b.Fatal(err)
		}
		if drain++; drain%500 == 0 {
			b.StopTimer()
			claim, err := k.board.Store.Claim(ben.entry.Box, mailbox.ClaimOptions{Reader: "x"})
			if err != nil {
				b.Fatal(err)
			}
			if err := claim.Shown(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkReplyToUnblocked measures from the moment an answer is in the journal
// until the asker has it, with one and with fifty asks in flight. The fifty are
// answered one right after the other, so that most come while others are taken.
func BenchmarkReplyToUnblocked(b *testing.B) {
	for _, flying := range []int{1, 50} {
		b.Run(fmt.Sprintf("asks=%d", flying), func(b *testing.B) {
			k := newBench(b)
			ann, ben := k.join("ann"), k.join("ben")
			actor, answerer := ann.actor(), ben.actor()
			var took []time.Duration
			for b.Loop() {
				took = append(took, roundOfAsks(b, k, actor, answerer, ben, flying)...)
			}
			slices.Sort(took)
			b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
			b.ReportMetric(ms(took[len(took)*99/100]), "ms-p99")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func roundOfAsks(b *testing.B, k *bench, asker, answerer switchboard.Actor, peer *session, n int) []time.Duration {
	var mu sync.Mutex
	written, got := map[string]time.Time{}, map[string]time.Time{}
	var asks sync.WaitGroup
	for range n {
		asks.Go(func() {
			res, d, err := k.board.Ask(context.Background(), asker, switchboard.AskRequest{Target: "ben", Body: "?", Timeout: time.Minute})
			now := time.Now()
			if err != nil || res.Reply == nil {
				b.Error(res, err)
				return
			}
			mu.Lock()
			got[res.Reply.MessageID] = now
			mu.Unlock()
			if err := d.Shown(); err != nil {
				b.Error(err)
			}
		})
	}
	var questions []string
	for range n {
		questions = append(questions, peer.awaitMail().ID)
	}
	time.Sleep(50 * time.Millisecond) // until they all wait
	// The peers are other processes: they share nothing with the asker's but the files.
	replier := k.another().Store
	for _, id := range questions {
		m := mailbox.Message{Kind: mailbox.KindReply, From: answerer.Party, Body: "x", ReplyTo: id}
		res, err := replier.Append(asker.Box, &m, mailbox.AppendOptions{NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		mu.Lock()
		written[res.ID] = time.Now()
		mu.Unlock()
	}
	asks.Wait()
	var took []time.Duration
	for id, at := range written {
		took = append(took, max(got[id].Sub(at), 0))
	}
	return took
}

// BenchmarkIdleWaits is the CPU that 100 waits cost while nothing happens.
func BenchmarkIdleWaits(b *testing.B) {
	k := newBench(b)
	ann := k.join("ann")
	for i := range 10 {
		k.join(fmt.Sprintf("peer%d", i))
	}
	actor := ann.actor()
	ctx, cancel := context.WithCancel(context.Background())
	var waits sync.WaitGroup
	for i := range 100 {
		waits.Go(func() {
			// It ends when the benchmark does.
			_, _, _ = k.board.Ask(ctx, actor, switchboard.AskRequest{Target: fmt.Sprintf("peer%d", i%10), Body: "?", Timeout: switchboard.MaxAsk})
		})
	}
	for {
		asks, err := k.board.Store.OpenAsks(actor.Box)
		if err != nil {
			b.Fatal(err)
		}
		if len(asks) == 100 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second)
	const span = 2 * time.Second
	var spent time.Duration
	for b.Loop() {
		before := cpu(b)
		time.Sleep(span)
		spent += cpu(b) - before
	}
	b.ReportMetric(100*float64(spent)/float64(time.Duration(b.N)*span), "%cpu")
	cancel()
	waits.Wait()
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkList lists 200 sessions.
func BenchmarkList(b *testing.B) {
	k := newBench(b)
	var s *session
	for i := range 200 {
		s = k.join(fmt.Sprintf("session-%03d", i))
	}
	actor := s.actor()
	for i := range 50 {
		m := mailbox.Message{Body: fmt.Sprint("message ", i)}
		if _, err := k.board.Store.Append(s.entry.Box, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		res, err := k.board.List(context.Background(), actor, switchboard.ListRequest{})
		if err != nil || len(res.Sessions) != 200 {
			b.Fatal(len(res.Sessions), err)
		}
	}
}

// BenchmarkResolve finds a target among 500 sessions.
func BenchmarkResolve(b *testing.B) {
	k := newBench(b)
	var s *session
	for i := range 500 {
		s = k.join(fmt.Sprintf("session-%03d", i))
	}
	actor := s.actor()
	for b.Loop() {
		_, err := k.board.ReadSession(context.Background(), actor, switchboard.ReadSessionRequest{Name: "session-250", Mode: "transcript"})
		if err != nil {
			b.Fatal(err)
		}
	}
}

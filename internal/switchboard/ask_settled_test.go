package switchboard_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"peermux/internal/switchboard"
)

// answerOne waits for one question and answers it, as a session does that reads its
// mail with the tool.
func (s *session) answerOne() error {
	b, me := s.bench.board, s.actor()
	res, d, err := b.Read(context.Background(), me, switchboard.ReadRequest{Wait: patience, Via: "test"})
	if err != nil {
		return err
	}
	if err := d.Shown(); err != nil {
		return err
	}
	if len(res.Messages) != 1 {
		return fmt.Errorf("%d messages, want the question", len(res.Messages))
	}
	_, err = b.Reply(context.Background(), me, switchboard.ReplyRequest{MessageID: res.Messages[0].MessageID, Body: "yes"})
	return err
}

// askAndAnswer is one question from its asking until both sides are done with it; it
// gives the time until the asker had its answer.
func askAndAnswer(t testing.TB, asker, peer *session) time.Duration {
	t.Helper()
	answered := make(chan error, 1)
	go func() { answered <- peer.answerOne() }()
	begun := time.Now()
	asker.ask(context.Background(), switchboard.AskRequest{Target: peer.entry.Name, Body: "is main green?"}).answered("yes")
	took := time.Since(begun)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	return took
}

// BenchmarkAskSettled is an ask and its answer between boxes in which many such are
// settled.
func BenchmarkAskSettled(b *testing.B) {
	for _, settled := range []int{0, 300} {
		b.Run(fmt.Sprintf("settled=%d", settled), func(b *testing.B) {
			k := newBench(b)
			ann, ben := k.join("ann"), k.join("ben")
			for range settled {
				askAndAnswer(b, ann, ben)
			}
			var took []time.Duration
			before := cpu(b)
			for b.Loop() {
				took = append(took, askAndAnswer(b, ann, ben))
			}
			b.ReportMetric(ms(cpu(b)-before)/float64(len(took)), "ms-cpu/op")
			slices.Sort(took)
			b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
		})
	}
}

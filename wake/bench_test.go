package wake

import (
	"context"
	"testing"
)

// BenchmarkDecision is everything up to the first key: whose pane it is, what it
// shows, and the verdict; two calls of tmux. The budget is 15 ms.
func BenchmarkDecision(b *testing.B) {
	r := start(b, standIn{Kind: "claude"})
	a := &attempt{Waker: r.waker, entry: r.entry, rec: &record{}}
	ctx := context.Background()
	for b.Loop() {
		term, _, why := a.findPane(ctx)
		if term == nil {
			b.Fatal(why)
		}
		seen, err := term.Look(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if v := Decide(a.facts(seen, term)); !v.Do {
			b.Fatal(v.Reason)
		}
	}
}

// BenchmarkComposer reads one captured screen.
func BenchmarkComposer(b *testing.B) {
	f := sample(b, "testdata/screens/claude-2.1.328/idle-after")
	for b.Loop() {
		if c := readComposer(f.Client, f.Screen, nil); c.State != Empty {
			b.Fatal(c)
		}
	}
}

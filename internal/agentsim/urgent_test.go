package agentsim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/tmux"
)

// TestUrgentBroadcast: an idle agent is woken by an urgent broadcast where the person
// allows it: Claude by its bell, and each by typing, where hooks then show it. Neither
// what is not allowed nor what is not urgent begins a turn.
func TestUrgentBroadcast(t *testing.T) {
	peermux, hook, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ client, mode, outcome string }{
		{"claude", "auto", "native"},
		{"claude", "tmux", "submitted"},
		{"codex", "tmux", "submitted"},
	} {
		t.Run(tt.client+" "+tt.mode, func(t *testing.T) {
			t.Parallel()
			sock, err := os.MkdirTemp("", "pmx") // short: a unix socket lies in it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(sock) })
			var o Options
			a, home := start(t, tt.client, "", func(opts *Options) {
				opts.Peermux, opts.Hook = peermux, hook
				opts.Env = append(opts.Env, "PEERMUX_WAKE="+tt.mode)
				opts.Tmux = &tmux.Runner{Socket: filepath.Join(sock, "s"), Env: opts.Env}
				o = *opts
			})
			say := func(text string) {
				t.Helper()
				ctx, begin := within(t), time.Now()
				if err := a.Say(ctx, text+" [[say done]]"); err != nil {
					t.Fatal(err)
				}
				if _, err := a.Wait(ctx, begin, Idle, ""); err != nil {
					t.Fatal(err)
				}
			}
			say("hello") // Codex's session starts with its first turn
			waitFor(t, "the session to be listed", func() bool {
				return strings.Contains(command(t, a, o, "list", "--json"), `"status": "idle"`)
			})
			turns := 1
			broadcast := func(body, urgency, outcome string) {
				t.Helper()
				if got := broadcastOutcome(t, command(t, a, o, "broadcast", body, "--urgency", urgency, "--json")); got != outcome {
					t.Errorf("%s: got %q, want %q\n%s", body, got, outcome, a.state())
				}
			}
			told := func(body string, want int) {
				t.Helper()
				if n, err := a.Told(body); n != want || err != nil {
					t.Errorf("%s reached the model %d times, want %d (%v)", body, n, want, err)
				}
			}

			broadcast("NOT-ALLOWED", "high", "not_allowed")
			allow := "[broadcast]\nwake = \"high\"\n"
			if err := os.WriteFile(filepath.Join(home, ".peermux", "wake.toml"), []byte(allow), 0o600); err != nil {
				t.Fatal(err)
			}
			broadcast("NOT-URGENT", "normal", "")
			told("NOT-ALLOWED", 0)
			told("NOT-URGENT", 0)
			say("next")
			turns++
			told("NOT-ALLOWED", 1)
			told("NOT-URGENT", 1)

			begin := time.Now()
			broadcast("STOP-NOW", "high", tt.outcome)
			got, err := a.WaitTold(within(t), begin, "STOP-NOW")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Wait(within(t), got.At, Idle, ""); err != nil {
				t.Error(err)
			}
			turns++
			told("STOP-NOW", 1)
			broadcast("BY-THE-WAY", "normal", "")
			say("last")
			turns++
			told("BY-THE-WAY", 1)
			events, err := a.Events()
			if err != nil {
				t.Fatal(err)
			}
			began := 0
			for _, e := range events {
				if e.Kind == Prompt {
					began++
				}
			}
			if began != turns {
				t.Errorf("%d turns began, want %d\n%s", began, turns, a.state())
			}
		})
	}
}

// broadcastOutcome is what a broadcast came to for the one session in reach.
func broadcastOutcome(t *testing.T, out string) string {
	t.Helper()
	var res struct{ Wakes []struct{ Outcome string } }
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(res.Wakes) == 0 {
		return ""
	}
	return res.Wakes[0].Outcome
}

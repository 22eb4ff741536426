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
			h := &hearer{T: t}
			var home string
			h.agent, home = start(t, tt.client, "", func(o *Options) {
				o.Peermux, o.Hook = peermux, hook
				o.Env = append(o.Env, "PEERMUX_WAKE="+tt.mode)
				o.Tmux = &tmux.Runner{Socket: filepath.Join(socketDir(t), "s"), Env: o.Env}
				h.options = *o
			})
			h.say("hello") // Codex's session starts with its first turn
			waitFor(t, "the session to be listed", func() bool {
				return strings.Contains(command(t, h.agent, h.options, "list", "--json"), `"status": "idle"`)
			})

			h.broadcast("NOT-ALLOWED", "high", "not_allowed")
			allow := "[broadcast]\nwake = \"high\"\n"
			if err := os.WriteFile(filepath.Join(home, ".peermux", "wake.toml"), []byte(allow), 0o600); err != nil {
				t.Fatal(err)
			}
			h.broadcast("NOT-URGENT", "normal", "")
			h.told(0, "NOT-ALLOWED", "NOT-URGENT")
			h.say("next")
			h.told(1, "NOT-ALLOWED", "NOT-URGENT")

			begin := time.Now()
			h.broadcast("STOP-NOW", "high", tt.outcome)
			h.woken(begin, "STOP-NOW")

			// To one that works it comes after its turn, if no tool call brings it before.
			h.broadcast("BY-THE-WAY", "normal", "")
			begin = time.Now()
			if err := h.agent.Say(within(t), "think [[delay 4]] [[say thought]]"); err != nil {
				t.Fatal(err)
			}
			// The hook at the turn's begin has looked: the next to look is that of the bell.
			if _, err := h.agent.WaitTold(within(t), begin, "BY-THE-WAY"); err != nil {
				t.Fatal(err)
			}
			h.broadcast("WHEN-DONE", "high", "not_needed")
			h.woken(begin, "WHEN-DONE")
			h.told(1, "BY-THE-WAY", "WHEN-DONE", "STOP-NOW")
			h.began(5) // three that were typed, two that were woken
		})
	}
}

func socketDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "pmx") // short: a unix socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// hearer is an agent that broadcasts are for.
type hearer struct {
	*testing.T
	agent   *Agent
	options Options
}

// say is a turn that the person begins.
func (h *hearer) say(text string) {
	h.Helper()
	ctx, begin := within(h.T), time.Now()
	if err := h.agent.Say(ctx, text+" [[say done]]"); err != nil {
		h.Fatal(err)
	}
	if _, err := h.agent.Wait(ctx, begin, Idle, ""); err != nil {
		h.Fatal(err)
	}
}

// broadcast is the person's, and comes to this for the one session in reach.
func (h *hearer) broadcast(body, urgency, outcome string) {
	h.Helper()
	out := command(h.T, h.agent, h.options, "broadcast", body, "--urgency", urgency, "--json")
	var res struct{ Wakes []struct{ Outcome string } }
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		h.Fatalf("%v in %s", err, out)
	}
	got := ""
	for _, w := range res.Wakes {
		got += w.Outcome
	}
	if got != outcome {
		h.Errorf("%s: got %q, want %q\n%s", body, got, outcome, h.agent.state())
	}
}

// woken waits for a text, and for the end of the turn that it began.
func (h *hearer) woken(begin time.Time, text string) {
	h.Helper()
	told, err := h.agent.WaitTold(within(h.T), begin, text)
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.agent.Wait(within(h.T), told.At, Idle, ""); err != nil {
		h.Fatal(err)
	}
}

func (h *hearer) told(want int, texts ...string) {
	h.Helper()
	for _, text := range texts {
		if n, err := h.agent.Told(text); n != want || err != nil {
			h.Errorf("%s reached the model %d times, want %d (%v)", text, n, want, err)
		}
	}
}

// began counts the turns.
func (h *hearer) began(want int) {
	h.Helper()
	events, err := h.agent.Events()
	if err != nil {
		h.Fatal(err)
	}
	n := 0
	for _, e := range events {
		if e.Kind == Prompt {
			n++
		}
	}
	if n != want {
		h.Errorf("%d turns began, want %d\n%s", n, want, h.agent.state())
	}
}

package agentsim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/frame"
	"peermux/internal/tmux"
)

// TestTypedWake runs the agents with the real peermux in a real tmux, where a wake
// has to type: the gate knows their screens, leaves a draft alone, and wakes when
// it is gone.
func TestTypedWake(t *testing.T) {
	peermux, hook, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"claude", "codex"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			sock, err := os.MkdirTemp("", "pmx") // short: a unix socket lies in it
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(sock) })
			var o Options
			a, _ := start(t, client, "", func(opts *Options) {
				opts.Peermux, opts.Hook = peermux, hook
				opts.Env = append(opts.Env, "PEERMUX_WAKE=tmux", "PEERMUX_REACH=machine")
				opts.Tmux = &tmux.Runner{Socket: filepath.Join(sock, "s"), Env: opts.Env}
				o = *opts
			})
			person := func(args ...string) string { return command(t, a, o, args...) }
			waitFor(t, "the session to be listed", func() bool { return strings.Contains(person("list", "--json"), `"mode": "interactive"`) })

			ctx, begin := within(t), time.Now()
			if err := a.Type(ctx, "half typed"); err != nil {
				t.Fatal(err)
			}
			if got := wakeOutcome(t, person("send", client, "MAIL-1", "--json")); got != "held" {
				t.Errorf("with a draft in the composer: %s", got)
			}
			if err := a.term.write(ctx, strings.Repeat("\x7f", len("half typed"))); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Wait(ctx, begin, Prompt, frame.WakeLine); err != nil {
				t.Error(err)
			}
			told, err := a.WaitTold(ctx, begin, "MAIL-1")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Wait(ctx, told.At, Idle, ""); err != nil {
				t.Error(err)
			}
			if n, err := a.Told("MAIL-1"); n != 1 || err != nil {
				t.Errorf("the mail reached the model %d times, %v", n, err)
			}
		})
	}
}

// command runs peermux as the person does, in the agent's folder.
func command(t *testing.T, a *Agent, o Options, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(within(t), o.Peermux, args...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("peermux %s: %v\n%s", strings.Join(args, " "), err, a.state())
	}
	return string(out)
}

func wakeOutcome(t *testing.T, out string) string {
	t.Helper()
	var res struct{ Wake struct{ Outcome string } }
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return res.Wake.Outcome
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

package agentsim

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/tmux"
)

func TestMain(m *testing.M) {
	if Wanted() {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// start starts an agent with a home of its own; hook is a shell script.
func start(t *testing.T, client, hook string, change func(*Options)) (*Agent, string) {
	t.Helper()
	home, work, logs := t.TempDir(), t.TempDir(), t.TempDir()
	o := Options{Config: Config{Client: client, Name: client}, Dir: work, Logs: logs,
		Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color",
			"GORACE=atexit_sleep_ms=0"}, // else an agent that was built with -race lingers for a second
		Program: []string{os.Args[0]}}
	if hook != "" {
		o.Hook = filepath.Join(home, "hook")
		if err := os.WriteFile(o.Hook, []byte("#!/bin/sh\n"+hook), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&o)
	}
	a, err := Start(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return a, home
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// claudeStatus reads the one session file of a home.
func claudeStatus(t *testing.T, home string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(home, ".claude", "sessions", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("session files: %v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Status string }
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s.Status
}

func TestTurn(t *testing.T) {
	for _, client := range []string{"claude", "codex"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			a, home := start(t, client, "", nil)
			ctx, begin := within(t), time.Now()
			if err := a.Say(ctx, `go [[tool Bash {"command":"echo from-$((40+2))"}]] [[say all done]]`); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Wait(ctx, begin, Result, "from-42"); err != nil {
				t.Error(err)
			}
			if _, err := a.Wait(ctx, begin, Said, "all done"); err != nil {
				t.Error(err)
			}
			if _, err := a.Wait(ctx, begin, Idle, ""); err != nil {
				t.Error(err)
			}
			if client == "claude" && claudeStatus(t, home) != "idle" {
				t.Errorf("status: %s", claudeStatus(t, home))
			}
			if err := a.Stop(ctx); err != nil {
				t.Error(err)
			}
			left, err := filepath.Glob(filepath.Join(home, ".c*", "*", "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("only the transcript's folder stays, got %v, %v", left, err)
			}
		})
	}
}

// TestEscape shows that Esc ends a turn without a Stop hook, as with Claude.
func TestEscape(t *testing.T) {
	t.Parallel()
	a, _ := start(t, "claude", `[ "$2" = Stop ] && echo '{"decision":"block","reason":"stop ran"}'; exit 0`, nil)
	ctx, begin := within(t), time.Now()
	if err := a.Say(ctx, "go [[delay 60]] [[say never]]"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, begin, Prompt, "go"); err != nil {
		t.Fatal(err)
	}
	if err := a.Escape(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, begin, Idle, ""); err != nil {
		t.Error(err)
	}
	if n, err := a.Told("stop ran"); n != 0 || err != nil {
		t.Errorf("the Stop hook ran after Esc: %d, %v", n, err)
	}
}

// bellHook answers like peermux-hook would, in shell: SessionStart names the
// bell, FileChanged shows what is in it, the tool hooks and Stop give contexts.
const bellHook = `cat >/dev/null
bell=$HOME/bell
case $2 in
SessionStart) echo '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"CTX-START","watchPaths":["'$bell'"]}}';;
PostToolUse) echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"CTX-TOOL"}}';;
Stop) [ -e "$HOME/stopped" ] || echo '{"decision":"block","reason":"not yet"}'; : >"$HOME/stopped";;
FileChanged) cat "$bell" >&2; exit 2;;
esac
exit 0
`

func TestHooks(t *testing.T) {
	t.Parallel()
	a, home := start(t, "claude", bellHook, nil)
	ctx, begin := within(t), time.Now()
	for _, want := range []string{"CTX-START"} {
		if _, err := a.Wait(ctx, time.Time{}, Told, want); err != nil {
			t.Error(err)
		}
	}
	if err := a.Say(ctx, `go [[tool Bash {"command":"true"}]] [[say first]] [[say second]]`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PostToolUse:Bash hook additional context: CTX-TOOL", "Stop hook feedback:\nnot yet"} {
		if _, err := a.Wait(ctx, begin, Told, want); err != nil {
			t.Error(err)
		}
	}
	idle, err := a.Wait(ctx, begin, Idle, "")
	if err != nil {
		t.Fatal(err)
	}

	// The bell wakes an idle agent and leaves its draft alone.
	if err := a.Type(ctx, "half typed"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bell"), []byte("MAIL"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, idle.At, Woken, "bell"); err != nil {
		t.Error(err)
	}
	if _, err := a.Wait(ctx, idle.At, Prompt, "MAIL"); err != nil {
		t.Error(err)
	}
	if _, err := a.Wait(ctx, idle.At, Idle, ""); err != nil {
		t.Error(err)
	}
	if screen := a.term.screen(ctx); !strings.Contains(screen, "half typed") {
		t.Errorf("the draft is gone:\n%s", screen)
	}

	// To a working one it comes with the next tool result.
	busy := time.Now()
	if err := a.Say(ctx, ` [[delay 0.6]] [[tool Bash {"command":"true"}]] [[say third]]`); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bell"), []byte("MAIL 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, busy, Told, "MAIL 2"); err != nil {
		t.Error(err)
	}
}

// TestClear shows that the session id changes, as after /clear in Claude.
func TestClear(t *testing.T) {
	t.Parallel()
	a, _ := start(t, "claude", bellHook, nil)
	ctx := within(t)
	first, err := a.SessionID()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := a.Say(ctx, "/clear"); err != nil {
		t.Fatal(err)
	}
	e, err := a.Wait(ctx, begin, Ready, "")
	if err != nil || e.Text == first {
		t.Errorf("session id after /clear: %v, %v", e, err)
	}
}

func TestInTmux(t *testing.T) {
	t.Parallel()
	sock, err := os.MkdirTemp("", "pmx") // short: a unix socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sock) })
	var run *tmux.Runner
	a, _ := start(t, "codex", "", func(o *Options) {
		run = &tmux.Runner{Socket: filepath.Join(sock, "s"), Env: o.Env}
		o.Tmux = run
	})
	ctx, begin := within(t), time.Now()
	if err := a.Say(ctx, "go [[say a - b; c]]"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(ctx, begin, Said, "a - b; c"); err != nil {
		t.Error(err)
	}
	if err := a.Stop(ctx); err != nil {
		t.Error(err)
	}
	waitFor(t, "the end of the tmux server", func() bool {
		_, err := run.Panes(ctx)
		return errors.Is(err, tmux.ErrNoServer)
	})
}

// TestKilled shows that waiting for a killed agent ends at once.
func TestKilled(t *testing.T) {
	t.Parallel()
	a, _ := start(t, "claude", "", nil)
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(within(t), time.Time{}, Said, "x"); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("got %v", err)
	}
}

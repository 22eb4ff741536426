package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// TestUrgentBroadcastSpeaksAsSend: what an urgent broadcast did to a session is told in
// the words that send has for it.
func TestUrgentBroadcastSpeaksAsSend(t *testing.T) {
	home, dir := filepath.Join(t.TempDir(), ".peermux"), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	liveSession(t, home, "reviewer", dir)
	box := mailbox.SessionKey("11111111-2222-4333-8444-555555555555")
	if err := registry.Open(home, time.Now).SetStatus(box, registry.Idle, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "wake.toml"), []byte("[broadcast]\nwake = \"high\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	env := map[string]string{"HOME": filepath.Dir(home), "TMUX_TMPDIR": filepath.Join(dir, "none")}
	says := func(args ...string) string {
		t.Helper()
		out, _ := succeeds(t, env, args...)
		_, what, ok := strings.Cut(out, "reviewer was not woken: ")
		if !ok {
			t.Fatalf("%v printed %q", args, out)
		}
		why, _, _ := strings.Cut(what, "\n")
		return why
	}
	sent := says("send", "reviewer", "main is broken") // unshown mail, without which no wake is needed
	broadcast := says("broadcast", "main is broken", "--urgency", "high")
	if broadcast == "" || !strings.HasPrefix(sent, broadcast) {
		t.Errorf("broadcast says %q, and send %q", broadcast, sent)
	}
}

// Each outcome has words, and none is a code word.
func TestWakeWords(t *testing.T) {
	for outcome, want := range map[string]string{
		"submitted":           "ben was idle and has been woken",
		"native":              "ben was idle and has been woken",
		"not_needed":          "ben: no wake was needed: why",
		"held":                "ben could not be woken yet: why; its own server tries again when that changes",
		"typed_not_submitted": "ben could not be woken yet: why; its own server tries again when that changes",
		"no_route":            "ben was not woken: why",
		"failed":              "ben was not woken: why",
	} {
		if got := wakeWords("ben", wake.Outcome(outcome), "why"); got != want {
			t.Errorf("%s: %q, want %q", outcome, got, want)
		}
	}
	if got := wakeWords("ben", "not_allowed", ""); got != "ben was not woken: urgent broadcasts may not wake here" {
		t.Errorf("not_allowed: %q", got)
	}
}

// The verdict of wake --explain has words for each outcome, too.
func TestVerdict(t *testing.T) {
	for outcome, want := range map[wake.Outcome]string{
		wake.Submitted: "ben: why",
		wake.Native:    "ben: why",
		wake.NotNeeded: "ben needs no wake: why",
		wake.Held:      "ben would not be woken yet: why",
		wake.NoRoute:   "ben would not be woken: why",
		wake.Failed:    "ben would not be woken: why",
	} {
		if got := verdict("ben", outcome, "why"); got != want {
			t.Errorf("%s: %q, want %q", outcome, got, want)
		}
	}
}

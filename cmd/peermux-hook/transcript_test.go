package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"peermux/mailbox"
)

// TestLongTurn: the hook looks for all that a long turn has shown in its transcript, and
// gives back what is not there, before its time is over.
func TestLongTurn(t *testing.T) {
	for _, event := range []string{"SessionEnd", "UserPromptSubmit"} {
		w := newWorld(t)
		path := filepath.Join(t.TempDir(), "transcript.jsonl")
		more := fmt.Sprintf(`,"transcript_path":%q,"reason":"other","prompt":"go on"`, path)
		if err := w.command("claude", "UserPromptSubmit", more).Run(); err != nil {
			t.Fatal(err)
		}
		const messages = 400
		for range messages {
			w.send("x")
		}
		claim, err := w.mail.Claim(box, mailbox.ClaimOptions{Reader: session, Via: "PreToolUse"})
		if err != nil || len(claim.Messages) != messages {
			t.Fatalf("%d messages, %v", len(claim.Messages), err)
		}
		if err := claim.Shown(); err != nil {
			t.Fatal(err)
		}
		line := `{"type":"assistant","timestamp":"2099-01-01T00:00:00Z","text":"` + strings.Repeat("01KQ word ", 100) + "\"}\n"
		if err := os.WriteFile(path, []byte(strings.Repeat(line, 7000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.command("claude", event, more).Run(); err != nil {
			t.Fatal(err)
		}
		again := 0
		state, err := w.mail.State(box)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range state.Items {
			if it.PossiblySeen || len(it.Shown) == 1 && it.Shown[0].Via == event {
				again++
			}
		}
		if again != messages {
			t.Errorf("%s: %d of %d lost messages wait again", event, again, messages)
		}
	}
}

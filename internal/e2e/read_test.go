//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestRead reads each client while it works, while it is idle, after its user
// went back, and when it is past.
func TestRead(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude, codex := b.startPair(t)
	for _, s := range []*session{claude, codex} {
		s.say(t, "hello [[say hello-from-"+s.client+"]]")
		s.waitIdle(t, 20*time.Second)
	}
	b.waitListed(t, claude, codex)
	for _, s := range []*session{claude, codex} {
		t.Run(s.client, func(t *testing.T) {
			readMidTurn(t, s)
			readRewound(t, s)
		})
	}
	t.Run("a past conversation", func(t *testing.T) { readPast(t, claude) })
}

// sessionRead is what `peermux read --json` prints.
type sessionRead struct {
	Mode     string   `json:"mode"`
	Source   string   `json:"source"`
	Complete *bool    `json:"complete"`
	Omitted  []string `json:"omitted"`
	Turns    []struct {
		Role  string `json:"role"`
		Text  string `json:"text"`
		Tools []struct {
			Input  string `json:"input"`
			Output string `json:"output"`
			Done   bool   `json:"done"`
		} `json:"tools"`
	} `json:"turns"`
}

func (b *bench) read(t *testing.T, target string) (r sessionRead) {
	t.Helper()
	must(t, json.Unmarshal([]byte(b.peermuxOK(t, "read", target, "--json", "--limit", "50")), &r))
	return r
}

// calls reports whether the last turn calls a tool with this input, and whether
// its result is there.
func (r sessionRead) calls(input string) (called, done bool) {
	for _, turn := range r.Turns {
		for _, tool := range turn.Tools {
			if strings.Contains(tool.Input, input) {
				called, done = true, tool.Done
			}
		}
	}
	return called, done
}

func (r sessionRead) says(text string) bool {
	for _, turn := range r.Turns {
		if strings.Contains(turn.Text, text) {
			return true
		}
	}
	return false
}

// readMidTurn: while a command runs, its call is shown as not done; afterwards
// its output and the answer are there.
func readMidTurn(t *testing.T, s *session) {
	word, end := word(t, "slow"), word(t, "end")
	s.say(t, "work "+s.shell("sleep 4; echo "+word)+" [[say "+end+"]]")
	eventually(t, 10*time.Second, "the running command in the transcript", func() bool {
		called, done := s.b.read(t, s.id()).calls(word)
		return called && !done
	})
	if r := s.b.read(t, s.id()); r.Complete == nil || *r.Complete || r.says(end+"\n") {
		t.Errorf("in the middle of a turn: %+v", r)
	}
	s.waitIdle(t, 20*time.Second)
	// Claude says that it is idle before the last line is in its transcript.
	eventually(t, 10*time.Second, "the answer in the transcript", func() bool {
		turns := s.b.read(t, s.id()).Turns
		return len(turns) > 0 && turns[len(turns)-1].Text == end
	})
	r := s.b.read(t, s.id())
	if called, done := r.calls(word); !called || !done || r.Complete == nil || !*r.Complete {
		t.Errorf("after the turn: %+v", r)
	}
	if last := r.Turns[len(r.Turns)-1]; last.Role != "assistant" || last.Text != end {
		t.Errorf("the last turn is %+v, want the answer %q", last, end)
	}
	if !strings.Contains(r.Source, s.id()) || !strings.Contains(r.Source, "tied to the session by") {
		t.Errorf("source: %s", r.Source)
	}
}

// readRewound: the user goes back before the last prompt and says something
// else; what was taken back is not shown. Claude goes on in the same file, Codex
// in another one.
func readRewound(t *testing.T, s *session) {
	wrong, right := word(t, "wrong"), word(t, "right")
	s.say(t, "turn [[say "+wrong+"]]")
	s.waitTurn(t, wrong)
	s.key(t, "Escape")
	if s.client == "claude" {
		s.key(t, "Escape")
		s.waitScreen(t, 5*time.Second, `\(current\)`)
		s.key(t, "Up")
		s.waitScreen(t, 5*time.Second, `^ *❯ .*`+wrong)
		s.key(t, "Enter")
		s.waitScreen(t, 5*time.Second, `❯ 1\. Restore conversation`)
	} else {
		s.key(t, "Escape")
		s.waitScreen(t, 5*time.Second, `↵ rewind`)
	}
	s.key(t, "Enter")
	back := `^[❯›].turn \[\[say ` + wrong // the prompt is in the composer again
	s.waitScreen(t, 5*time.Second, back)
	eventually(t, 5*time.Second, "an empty composer", func() bool {
		s.key(t, "C-u") // right after it came back, Claude does not hear it yet
		return !s.shows(back)
	})
	s.say(t, "turn [[say "+right+"]]")
	s.waitTurn(t, right)
	r := s.b.read(t, s.id())
	if r.says(wrong) || !r.says(right) {
		t.Errorf("after going back: %+v", r)
	}
}

// waitTurn waits until the answer stands in the transcript and the turn is over.
func (s *session) waitTurn(t *testing.T, answer string) {
	t.Helper()
	eventually(t, 20*time.Second, answer+" in the transcript", func() bool {
		r := s.b.read(t, s.id())
		n := len(r.Turns)
		return n > 0 && r.Turns[n-1].Text == answer && r.Complete != nil && *r.Complete
	})
	s.waitIdle(t, 10*time.Second)
}

// readPast: after the session's end its conversation is listed with the command
// that resumes it, and read by the beginning of its id.
func readPast(t *testing.T, s *session) {
	id := s.id()
	s.exits(t)
	eventually(t, 20*time.Second, "the conversation to be past", func() bool {
		return strings.Contains(s.b.peermuxOK(t, "transcripts"), "claude --resume "+id)
	})
	if r := s.b.read(t, id[:8]); !r.says("hello-from-claude") || !strings.Contains(r.Source, "past conversation") {
		t.Errorf("got %+v", r)
	}
	if out := s.b.peermuxOK(t, "transcripts", "--grep", "hello-from-codex"); !strings.Contains(out, "(codex)") {
		t.Errorf("the search finds nothing of the other session: %s", out)
	}
}

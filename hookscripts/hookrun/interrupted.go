package hookrun

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"peermux/mailbox"
	"peermux/registry"
)

// Esc drops what a PreToolUse hook has said: Claude Code keeps its context until
// the tool has run, and forgets it when the person refuses the tool or interrupts
// it (2.1.197 and 2.1.328; Codex 0.171.0 keeps it). No event tells. Two things do:
// no Stop has ended the turn when the next prompt comes, and Claude's transcript
// has a line about the interruption. Each alone is not enough: a prompt that was
// queued is sent at Esc, before that line is written, and a notification may have
// called the session idle since. The transcript also has every context that
// reached the model.
const (
	interruption = "[Request interrupted by user" // "…]" or "… for tool use]"
	recentTail   = 64 << 10                       // where a line about the last turn's end is
	turnTail     = 8 << 20                        // more than a turn writes
)

// lost are the messages that were put out in the turn that the person has just
// interrupted and never reached the model. Open says that no event has ended that
// turn.
func (h *hook) lost(open bool) ([]mailbox.Item, error) {
	f, err := os.OpenFile(h.in.Transcript, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil // no transcript, no sign of a loss
	}
	defer f.Close()
	interrupted := h.at
	if !open {
		recent, err := tail(f, recentTail)
		if err != nil {
			return nil, err
		}
		var ok bool
		if interrupted, ok = lastInterruption(recent); !ok {
			return nil, nil
		}
	}
	state, err := h.mail.State(h.key)
	if err != nil {
		return nil, err
	}
	began := h.turnBegan()
	items := slices.DeleteFunc(state.Items, func(it mailbox.Item) bool {
		n := len(it.Shown)
		return n == 0 || it.Answered != "" || it.Closed != "" || !inTurn(it.Shown[n-1], began, interrupted)
	})
	if len(items) == 0 {
		return nil, nil
	}
	turn, err := tail(f, turnTail)
	if err != nil {
		return nil, err
	}
	var since time.Time // when the turn began is not known after a resume
	if len(turn) == turnTail {
		_, whole, _ := bytes.Cut(turn, []byte{'\n'})
		since = firstTime(whole)
	}
	gone := open && h.Event == "UserPromptSubmit" && !answered(turn, began)
	return slices.DeleteFunc(items, func(it mailbox.Item) bool {
		return it.Shown[len(it.Shown)-1].At.Before(since) || !gone && bytes.Contains(turn, []byte(it.ID))
	}), nil
}

// answered reports whether a turn has left anything of the model's in the
// transcript, or word of its interruption. At Esc before that Claude takes the whole
// turn back, and its prompt into the input line; the transcript keeps the lines, on
// a branch that the next prompt does not go on from (2.1.328).
func answered(end []byte, began time.Time) bool {
	if at, ok := lastInterruption(end); ok && at.After(began) {
		return true
	}
	i := bytes.LastIndex(end, []byte(`"type":"assistant"`))
	return i >= 0 && firstTime(end[bytes.LastIndexByte(end[:i], '\n')+1:]).After(began)
}

// firstTime is the time of the first of some lines that has one.
func firstTime(lines []byte) time.Time {
	for line := range bytes.Lines(lines) {
		var l struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if json.Unmarshal(line, &l) == nil && !l.Timestamp.IsZero() {
			return l.Timestamp
		}
	}
	return time.Time{}
}

// lateHook is how long after an interruption a hook of a tool may still record
// that it has shown something: it ran when Esc came, and nobody reads what it says.
const lateHook = 2 * time.Second

// inTurn reports whether a hook showed something within a turn, not a tool or a
// command, whose output is the model's for certain. Nor is it the bell, which may
// ring right after Esc: what it brought is the prompt itself.
func inTurn(s mailbox.Shown, began, ended time.Time) bool {
	if !ended.After(began) {
		return false // it was an earlier turn that was interrupted
	}
	if s.Via == "PreToolUse" || s.Via == "PostToolUse" {
		ended = ended.Add(lateHook)
	}
	return s.At.After(began) && s.At.Before(ended) && s.Via != "FileChanged" && Handles(registry.Claude, s.Via)
}

// lastInterruption finds the last line of a transcript's end that says that the
// person has interrupted the turn.
func lastInterruption(end []byte) (at time.Time, ok bool) {
	i := bytes.LastIndex(end, []byte(interruption))
	if i < 0 {
		return time.Time{}, false
	}
	line := end[bytes.LastIndexByte(end[:i], '\n')+1:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	var said struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Message   struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &said) != nil || said.Type != "user" || len(said.Message.Content) == 0 {
		return time.Time{}, false // the words occur in something else
	}
	return said.Timestamp, strings.HasPrefix(said.Message.Content[0].Text, interruption)
}

// tail reads the last n bytes of a file.
func tail(f *os.File, n int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n = min(n, info.Size())
	return io.ReadAll(io.NewSectionReader(f, info.Size()-n, n))
}

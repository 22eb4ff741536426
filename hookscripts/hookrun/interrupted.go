package hookrun

import (
	"bytes"
	"encoding/json"
	"errors"
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

// giveBack gives back what was put out in the turn that the person has just
// interrupted and never reached the model: it waits once more. Open says that no
// event has ended that turn.
func (h *hook) giveBack(open bool) error {
	if h.Client != registry.Claude {
		return nil
	}
	f, err := os.OpenFile(h.in.Transcript, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // no transcript, no sign of a loss
	}
	defer f.Close()
	began, interrupted := h.turnBegan(), h.at
	if !open {
		recent, err := tail(f, recentTail)
		if err != nil {
			return err
		}
		var ok bool
		if interrupted, ok = lastInterruption(recent); !ok {
			return nil
		}
	}
	boxes, err := h.shownIn(began, interrupted)
	if len(boxes) == 0 {
		return err
	}
	turn, tailErr := tail(f, turnTail)
	if tailErr != nil {
		return errors.Join(err, tailErr)
	}
	var since time.Time // when the turn began is not known after a resume
	if len(turn) == turnTail {
		_, whole, _ := bytes.Cut(turn, []byte{'\n'})
		since = firstTime(whole)
	}
	var arrived map[string]bool
	if gone := open && h.Event == "UserPromptSubmit" && !answered(turn, began); !gone {
		arrived = reached(turn, boxes, began)
	}
	for box, items := range boxes {
		lost := slices.DeleteFunc(items, func(it mailbox.Item) bool {
			return lastShown(it).At.Before(since) || arrived[it.ID]
		})
		err = errors.Join(err, h.mail.Unshown(box, h.in.SessionID, lost))
	}
	return err
}

// shownIn lists what hooks have put out in a turn, by the boxes in which it has to
// wait when it was lost: the repository's mail in the repository's, mail and
// broadcasts in the session's.
func (h *hook) shownIn(began, ended time.Time) (map[string][]mailbox.Item, error) {
	boxes := map[string][]mailbox.Item{}
	add := func(box string, items []mailbox.Item) {
		for _, it := range items {
			if it.Answered == "" && it.Closed == "" && inTurn(lastShown(it), began, ended) {
				boxes[box] = append(boxes[box], it)
			}
		}
	}
	mail, err := h.mail.State(h.key)
	if err == nil {
		add(h.key, mail.Items)
	}
	heard, feedsErr := h.mail.FeedsShown(h.key, began)
	add(h.key, heard)
	err = errors.Join(err, feedsErr)
	_, repository, ok := h.repository()
	if !ok {
		return boxes, err
	}
	mail, repoErr := h.mail.State(repository)
	if repoErr == nil {
		add(repository, h.shownHere(mail.Items))
	}
	heard, feedsErr = h.mail.FeedsShown(repository, began)
	add(h.key, h.shownHere(heard))
	return boxes, errors.Join(err, repoErr, feedsErr)
}

// shownHere leaves of items their showings to this session: a repository has many
// readers.
func (h *hook) shownHere(items []mailbox.Item) []mailbox.Item {
	for i := range items {
		items[i].Shown = slices.DeleteFunc(items[i].Shown, func(s mailbox.Shown) bool { return s.By != h.in.SessionID })
	}
	return items
}

// lastShown is how a message was shown last, if it was.
func lastShown(it mailbox.Item) (last mailbox.Shown) {
	if n := len(it.Shown); n > 0 {
		last = it.Shown[n-1]
	}
	return last
}

// reached tells of which messages the transcript of a turn has what was shown. Lines of
// an earlier turn, which was taken back, may have it as well. The transcript is long,
// the messages may be many, and a client soon ends a hook, so it is read once for all.
func reached(turn []byte, boxes map[string][]mailbox.Item, began time.Time) map[string]bool {
	wanted, found := map[string]bool{}, map[string]bool{}
	for _, items := range boxes {
		for _, it := range items {
			wanted[it.ID] = true
		}
	}
	for len(turn) > 0 {
		line, rest, _ := bytes.Cut(turn, []byte{'\n'})
		if names := named(line, wanted); len(names) > 0 {
			if at := firstTime(turn); at.IsZero() || at.After(began) {
				for _, id := range names {
					found[id] = true
				}
			}
		}
		turn = rest
	}
	return found
}

// named lists which of the wanted ids a line names.
func named(line []byte, wanted map[string]bool) (names []string) {
	const idLen = mailbox.IDLen // digits and capitals
	run := 0
	for i, c := range line {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			run = 0
		} else if run++; run >= idLen && wanted[string(line[i+1-idLen:i+1])] {
			names = append(names, string(line[i+1-idLen:i+1]))
		}
	}
	return names
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
// person has interrupted the turn. Other lines may have its words, in what somebody
// says.
func lastInterruption(end []byte) (at time.Time, ok bool) {
	for i := bytes.LastIndex(end, []byte(interruption)); i >= 0; i = bytes.LastIndex(end, []byte(interruption)) {
		start := bytes.LastIndexByte(end[:i], '\n') + 1
		line, _, _ := bytes.Cut(end[start:], []byte{'\n'})
		if at, ok := interruptedAt(line); ok {
			return at, true
		}
		end = end[:start]
	}
	return time.Time{}, false
}

func interruptedAt(line []byte) (at time.Time, ok bool) {
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
		return time.Time{}, false
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

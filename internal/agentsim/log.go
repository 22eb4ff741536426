package agentsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind tells what happened to an agent.
type Kind string

// The kinds, in the order in which a turn has them.
const (
	Ready  Kind = "ready"  // takes input; Text is the session id
	Draft  Kind = "draft"  // Text stands in the composer
	Woken  Kind = "woken"  // a turn starts that no person typed; Text is how
	Prompt Kind = "prompt" // a turn starts with Text
	Told   Kind = "told"   // the model was told Text beside the prompt: a hook's context
	Called Kind = "call"   // the model called a tool; Text is its name and input
	Result Kind = "result" // what the tool gave
	Said   Kind = "say"    // the model's answer
	Idle   Kind = "idle"   // the turn is over
	Note   Kind = "note"   // something about the agent itself, such as a failing hook
	Ended  Kind = "ended"  // the process is about to exit
)

// Event is one line of an agent's log.
type Event struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	Text string    `json:"text,omitempty"`
}

// tells reports whether the model was told the text.
func (e Event) tells() bool { return e.Kind == Prompt || e.Kind == Told || e.Kind == Result }

// eventLog appends events. Safe for concurrent use.
type eventLog struct {
	mu   sync.Mutex
	file *os.File
}

func openLog(path string) (*eventLog, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &eventLog{file: f}, nil
}

func (l *eventLog) add(kind Kind, format string, args ...any) {
	line, err := json.Marshal(Event{At: time.Now(), Kind: kind, Text: fmt.Sprintf(format, args...)})
	if err != nil {
		return // strings always marshal
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// One write a line, so that a reader sees whole lines. A log that cannot be
	// written shows in the test that waits for it.
	_, _ = l.file.Write(append(line, '\n'))
}

// readLog returns the whole lines of a log from offset on and where to go on.
func readLog(path string, offset int64) ([]Event, int64, error) {
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, offset, nil // the agent has not come so far
	}
	if err != nil || int64(len(raw)) <= offset {
		return nil, offset, err
	}
	raw = raw[offset:]
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	var events []Event
	for line := range bytes.Lines(raw) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, offset, fmt.Errorf("%s: %w", path, err)
		}
		events = append(events, e)
	}
	return events, offset + int64(len(raw)), nil
}

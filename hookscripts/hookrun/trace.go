package hookrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"peermux/internal/private"
)

type traceLine struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Client string    `json:"client"`
	Event  string    `json:"event"`
	Box    string    `json:"box"`
	PID    int       `json:"pid"`
	Shown  []string  `json:"shown,omitempty"`
	Bytes  int       `json:"bytes,omitempty"`
	Exit   int       `json:"exit"`
	MS     float64   `json:"ms"`
	Error  string    `json:"error,omitempty"`
}

// trace appends one line about this run to trace.ndjson when PEERMUX_TRACE is
// set: ids and sizes, never a body. A trace that can't be written is no reason
// to fail.
func (h *hook) trace(exit int, failure error) {
	if h.Env("PEERMUX_TRACE") == "" {
		return
	}
	now := h.Now()
	line := traceLine{
		At: now.UTC(), What: "hook", Client: h.Client, Event: h.Event, Box: h.key, PID: h.PID,
		Shown: h.shown, Bytes: h.bytes, Exit: exit, MS: float64(now.Sub(h.at).Microseconds()) / 1000,
	}
	if failure != nil {
		line.Error = failure.Error()
	}
	data, err := json.Marshal(line)
	if err != nil {
		return
	}
	f, err := private.Open(filepath.Join(h.home, "trace.ndjson"), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return
	}
	_, _ = f.Write(append(data, '\n')) // see above
	_ = f.Close()                      // likewise
}

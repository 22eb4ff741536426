package detect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"

	"peermux/internal/proc"
	"peermux/registry"
)

// Beginning describes how the diagnosed session began, for registry.Succession:
// what its hooks said, and what its transcript says.
func Beginning(f Facts, d Diagnosis) (registry.Step, error) {
	step := registry.Step{SessionID: d.SessionID, Client: d.Client, Server: f.Self.ID}
	drops, err := f.Registry.Drops()
	if err != nil {
		return step, err
	}
	for _, drop := range drops {
		if drop.SessionID == d.SessionID {
			step.Source = drop.Source
		}
	}
	if d.Transcript != "" {
		o, err := readOrigin(d.Transcript)
		if err == nil {
			step.TranscriptSeen, step.ForkedFrom = true, o.forkedFrom
		} else if !errors.Is(err, os.ErrNotExist) {
			return step, err
		}
	}
	return step, nil
}

// origin is what the beginning of a transcript says about where it comes from.
type origin struct {
	forkedFrom string
	subagent   bool
}

const (
	// originLines and originLine bound the search; Codex's first line alone has
	// 13 to 40 kB (0.171.0), a forked Claude transcript says so in line one.
	originLines = 64
	originLine  = 256 << 10
)

// readOrigin reads the first lines of a transcript of either client. Codex writes
// a session_meta line with forked_from_id and thread_source; Claude marks each
// copied line with forkedFrom.
func readOrigin(file string) (origin, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return origin{}, err
	}
	defer f.Close() // opened for reading
	r := bufio.NewReaderSize(f, originLine)
	for range originLines {
		line, err := r.ReadSlice('\n')
		if o, found := parseOrigin(line); found {
			return o, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return origin{}, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return origin{}, nil // no line that long says where it comes from
		case err != nil:
			return origin{}, err
		}
	}
	return origin{}, nil
}

func parseOrigin(line []byte) (origin, bool) {
	if !bytes.Contains(line, []byte(`"forkedFrom"`)) && !bytes.Contains(line, []byte(`"session_meta"`)) {
		return origin{}, false
	}
	var l struct {
		Type       string          `json:"type"`
		ForkedFrom json.RawMessage `json:"forkedFrom"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(line, &l) != nil {
		return origin{}, false
	}
	if l.Type == "session_meta" {
		p := members(l.Payload)
		return origin{forkedFrom: text(p["forked_from_id"]), subagent: text(p["thread_source"]) == "subagent"}, true
	}
	from := text(members(l.ForkedFrom)["sessionId"])
	return origin{forkedFrom: from}, from != ""
}

func members(object json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m
}

// Predecessors are the Codex threads that a new thread may have taken the place
// of: those which the one terminal that can show both has shown. They are found
// when the new thread's server starts, and they inherit to it when they end.
type Predecessors struct {
	entry    registry.Entry
	terminal proc.Info
	left     []registry.Entry
	procs    Processes
}

// FindPredecessors looks for the predecessors of the thread whose server has
// the entry e, among the live sessions. There are none for other clients.
func FindPredecessors(e registry.Entry, live []registry.Entry) Predecessors {
	return findPredecessors(e, live, kernel{})
}

func findPredecessors(e registry.Entry, live []registry.Entry, p Processes) Predecessors {
	var none Predecessors
	if e.Client.Kind != registry.Codex {
		return none
	}
	found := Predecessors{entry: e, procs: p}
	terminal, why := threadTerminal(e, p)
	if why != "" {
		return none
	}
	found.terminal = terminal
	for _, o := range live {
		sameDir := o.Client.ID() == e.Client.ID() && o.CWD == e.CWD && o.PID != e.PID
		if !sameDir || o.Client.Mode == registry.Subagent || proc.Later(o.ID(), e.ID()) {
			continue
		}
		if !proc.Later(terminal.ID, o.ID()) {
			found.left = append(found.left, o)
		}
	}
	return found
}

// Any reports whether there is something to wait for.
func (p Predecessors) Any() bool { return len(p.left) > 0 }

// Ended lists the predecessors that have ended while the terminal lives on, once
// this thread is the only one left in its directory.
func (p Predecessors) Ended() []registry.Entry {
	var ended []registry.Entry
	for _, e := range p.left {
		if i, err := p.procs.Stat(e.PID); err != nil || i.ID != e.ID() || i.Zombie() {
			ended = append(ended, e)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	now, err := p.procs.Stat(p.terminal.PID)
	if err != nil || now.ID != p.terminal.ID || now.Zombie() {
		return nil
	}
	if alone, err := onlyThread(p.entry, p.procs); err != nil || !alone {
		return nil
	}
	return ended
}

package detect

import (
	"errors"
	"io/fs"
	"slices"

	"peermux/internal/origin"
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
		o, err := origin.Read(d.Transcript)
		if err == nil {
			step.TranscriptSeen, step.ForkedFrom = true, o.ForkedFrom
		} else if !errors.Is(err, fs.ErrNotExist) {
			return step, err
		}
	}
	return step, nil
}

// Predecessors are the Codex threads that a new thread may have taken the place
// of: those which the one terminal that can show both has shown. They are found
// when the new thread's server starts, and they inherit to it when they end.
type Predecessors struct {
	entry    registry.Entry
	terminal proc.Info
	left     []registry.Entry
	procs    System
}

// FindPredecessors looks for the predecessors of the thread whose server has
// the entry e, among the live sessions. There are none for other clients.
func FindPredecessors(e registry.Entry, live []registry.Entry) Predecessors {
	return findPredecessors(e, live, machine{})
}

func findPredecessors(e registry.Entry, live []registry.Entry, p System) Predecessors {
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
	slices.SortFunc(found.left, func(a, b registry.Entry) int {
		if proc.Later(a.ID(), b.ID()) {
			return 1
		}
		return -1
	})
	return found
}

// Entries lists the predecessors, whose ends are to be waited for; the last one
// is the thread that was opened right before this one.
func (p Predecessors) Entries() []registry.Entry { return p.left }

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

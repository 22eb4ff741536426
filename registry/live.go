package registry

import (
	"cmp"
	"slices"
	"time"

	"peermux/internal/proc"
)

// foreignTTL is how long entries of another host, which cannot be judged from
// here, are kept after they were last seen.
const foreignTTL = 30 * 24 * time.Hour

// Live lists the live sessions, sorted by name, one entry per session: of several
// MCP servers that one client runs, the freshest. It removes the entries of dead
// processes.
func (r *Registry) Live() ([]Entry, error) { return r.list(true) }

// Peek lists what [Registry.Live] lists and removes nothing.
func (r *Registry) Peek() ([]Entry, error) { return r.list(false) }

// BySession finds the live session with exactly this id. It removes nothing.
func (r *Registry) BySession(id string) (Entry, bool, error) {
	live, err := r.Peek()
	if err != nil || id == "" {
		return Entry{}, false, err
	}
	for _, e := range live {
		if e.SessionID == id {
			return e, true, nil
		}
	}
	return Entry{}, false, nil
}

func (r *Registry) list(prune bool) ([]Entry, error) {
	all, err := r.entries()
	if err != nil {
		return nil, err
	}
	alive := liveness{}
	var live []Entry
	for _, e := range all {
		switch {
		case r.judge(e, alive) == lives:
			live = append(live, e)
		case prune && r.judge(e, alive) == dead:
			if err := r.removeIf(e.PID, r.isDead); err != nil {
				return nil, err
			}
		}
	}
	return collapse(live), nil
}

// entries reads all entries that parse. One file that does not, or vanishes while
// we read, never hides the others.
func (r *Registry) entries() ([]Entry, error) {
	names, err := r.names("sessions")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		pid, ok := entryPID(name)
		if !ok {
			continue
		}
		// What fails here vanished meanwhile, or is not an entry of ours.
		if e, err := r.read(pid); err == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

type verdict int

const (
	lives verdict = iota
	dead
	foreign // of another machine: neither shown nor removed
)

// liveness remembers what was found out during one listing; many entries share a
// client.
type liveness map[proc.ID]bool

func (l liveness) of(id proc.ID) bool {
	alive, known := l[id]
	if !known {
		alive = proc.Alive(id)
		l[id] = alive
	}
	return alive
}

func (r *Registry) judge(e Entry, alive liveness) verdict {
	if e.Hostname != "" && r.host != "" && e.Hostname != r.host {
		if r.now().Sub(e.SeenAt) > foreignTTL {
			return dead
		}
		return foreign
	}
	switch {
	case e.BootID != "" && r.boot != "" && e.BootID != r.boot, !alive.of(e.ID()):
		return dead
	case e.Client.PID != 0 && !alive.of(e.Client.ID()):
		// The server has not noticed yet that its client is gone.
		return dead
	}
	return lives
}

func (r *Registry) isDead(e Entry) bool { return r.judge(e, liveness{}) == dead }

// collapse leaves one entry per session and sorts by name. Two entries speak of one
// session when they have its id: two MCP servers of one client, registered for
// the user and for the project, or one session that is open twice. An entry
// without an id is a second server of a client that is there already, unless one
// process holds many sessions, as Codex's does.
func collapse(entries []Entry) []Entry {
	slices.SortFunc(entries, fresher)
	sessions, clients := map[string]bool{}, map[proc.ID]bool{}
	var kept []Entry
	for _, e := range entries {
		shared := e.Client.PID == 0 || e.Client.Kind == Codex
		switch {
		case e.SessionID != "" && sessions[e.SessionID]:
			continue
		case e.SessionID == "" && !shared && clients[e.Client.ID()]:
			continue
		}
		sessions[e.SessionID], clients[e.Client.ID()] = true, true
		kept = append(kept, e)
	}
	slices.SortFunc(kept, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.PID, b.PID))
	})
	return kept
}

// fresher orders entries so that the one to keep comes first: one with an id
// before one without, then the last one started, then the last one seen.
func fresher(a, b Entry) int {
	hasID := func(e Entry) int {
		if e.SessionID != "" {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(hasID(a), hasID(b)),
		b.StartedAt.Compare(a.StartedAt),
		b.SeenAt.Compare(a.SeenAt),
		cmp.Compare(b.PID, a.PID),
	)
}

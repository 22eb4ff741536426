package registry

import (
	"cmp"
	"slices"
	"sync"
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
	all, err := r.survey()
	if err != nil {
		return nil, err
	}
	var live []Entry
	for _, s := range all {
		switch {
		case s.verdict == lives:
			live = append(live, s.Entry)
		case s.verdict == dead && prune:
			// What can't be removed now is removed by the next reader; a full
			// or read-only disk must not hide who is alive.
			_ = r.removeIf(s.PID, r.isDead)
		}
	}
	return collapse(live), nil
}

// judged is an entry, and what was found out about it.
type judged struct {
	Entry
	verdict verdict
}

// chunk is how many entries one goroutine reads; a long listing is shared among
// the processors.
const chunk = 16

// survey reads and judges all entries. One file that does not parse, or vanishes
// while we read, never hides the others.
func (r *Registry) survey() ([]judged, error) {
	names, err := r.names("sessions")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, ok := entryPID(name); ok {
			pids = append(pids, pid)
		}
	}
	all := make([]judged, len(pids))
	var wg sync.WaitGroup
	for lo := 0; lo < len(pids); lo += chunk {
		hi := min(lo+chunk, len(pids))
		look := func() { r.judgeAll(pids[lo:hi], all[lo:hi]) }
		if len(pids) <= chunk {
			look()
		} else {
			wg.Go(look)
		}
	}
	wg.Wait()
	return all, nil
}

func (r *Registry) judgeAll(pids []int, into []judged) {
	alive := liveness{}
	for i, pid := range pids {
		// What fails here vanished meanwhile, or is not an entry of ours.
		if e, err := r.read(pid); err == nil {
			into[i] = judged{e, r.judge(e, alive)}
		}
	}
}

type verdict int

const (
	noEntry verdict = iota
	lives
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
	host, boot := r.here()
	if e.Hostname != "" && host != "" && e.Hostname != host {
		if r.now().Sub(e.SeenAt) > foreignTTL {
			return dead
		}
		return foreign
	}
	switch {
	case e.BootID != "" && boot != "" && e.BootID != boot, !alive.of(e.ID()):
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

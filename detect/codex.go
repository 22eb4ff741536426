package detect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/proc"
)

// CodexHome is Codex's folder: CODEX_HOME, else ~/.codex.
func CodexHome(env func(string) string) string {
	if dir := env("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(env("HOME"), ".codex")
}

const lockFolder = "thread-writer-locks"

func lockPath(home, thread string) string {
	return filepath.Join(home, lockFolder, thread+".lock")
}

// heldThreads lists the threads that a Codex process has loaded: it keeps the
// writer lock of each open, from before the first turn until it unloads the
// thread (0.171.0). Only Linux tells.
func heldThreads(pid int, home string, p System) ([]string, error) {
	files, err := p.Files(pid)
	if err != nil {
		return nil, fmt.Errorf("which threads Codex's process %d has loaded is not known: %w", pid, err)
	}
	folder := filepath.Join(home, lockFolder)
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	var threads []string
	for _, file := range files {
		id, ok := strings.CutSuffix(filepath.Base(file), ".lock")
		if ok && filepath.Dir(file) == folder && validID(id) {
			threads = append(threads, id)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

// loadedThreads is heldThreads, or, where the system does not tell, the threads
// that any process of the Codex home has loaded. Locks of a Codex that crashed are
// among those.
func loadedThreads(pid int, home string, p System) ([]string, error) {
	threads, err := heldThreads(pid, home, p)
	if !errors.Is(err, errors.ErrUnsupported) {
		return threads, err
	}
	files, err := os.ReadDir(filepath.Join(home, lockFolder))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), ".lock")
		if ok && validID(id) {
			threads = append(threads, id)
		}
	}
	return threads, nil
}

const (
	// lockWindow is the longest time between the birth of a thread's lock and the
	// start of its MCP server: 25 ms on an idle machine (0.171.0).
	lockWindow = 5 * time.Second
	// lockSlack covers the resolution of start times (10 ms on Linux).
	lockSlack = 50 * time.Millisecond
)

// ownThreads lists the threads that this server can belong to, by elimination.
// Codex opens a thread by taking its lock, and then starts the one server of the
// thread. So a server belongs to a lock that was born shortly before its start;
// and a lock that is the only one for another server of the same client is not
// ours. One thread left is a proof.
func ownThreads(f Facts, c client) ([]string, error) {
	threads, err := loadedThreads(c.PID, c.home, f.System)
	if err != nil {
		return nil, err
	}
	born := map[string]time.Time{}
	for _, id := range threads {
		at, ok := f.System.Born(lockPath(c.home, id))
		if !ok {
			return nil, errors.New("the file system keeps no birth times")
		}
		born[id] = at
	}
	servers, err := sameServers(f, c)
	if err != nil {
		return nil, err
	}
	possible := map[int][]string{}
	for _, s := range servers {
		started, ok := s.StartedAt(f.Now)
		if !ok {
			return nil, errors.New("the start of a server is not known")
		}
		for _, id := range threads {
			if age := started.Sub(born[id]); -lockSlack <= age && age <= lockWindow {
				possible[s.PID] = append(possible[s.PID], id)
			}
		}
	}
	eliminate(possible)
	return possible[f.Self.PID], nil
}

// sameServers lists the servers of our kind that the client process runs, this
// one among them.
func sameServers(f Facts, c client) ([]proc.Info, error) {
	all, err := f.System.List()
	if err != nil {
		return nil, err
	}
	servers := []proc.Info{f.Self}
	exe := f.System.Exe(f.Self.PID)
	for _, i := range all {
		if i.PPID == c.PID && i.PID != f.Self.PID && !i.Zombie() && f.System.Exe(i.PID) == exe {
			servers = append(servers, i)
		}
	}
	return servers, nil
}

// eliminate takes what is certain for one server away from all the others, until
// nothing changes.
func eliminate(possible map[int][]string) {
	for changed := true; changed; {
		changed = false
		for pid, own := range possible {
			if len(own) != 1 {
				continue
			}
			for other, ids := range possible {
				if i := slices.Index(ids, own[0]); other != pid && i >= 0 && len(ids) > 1 {
					possible[other] = slices.Delete(slices.Clone(ids), i, i+1)
					changed = true
				}
			}
		}
	}
}

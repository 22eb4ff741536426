// Package proc states facts about processes straight from the kernel: /proc on
// Linux, sysctl on macOS. It starts no process, keeps no state and imports
// nothing heavy, because the hook program links it. Elsewhere it compiles and
// answers errors.ErrUnsupported.
//
// A process is identified by its pid together with its start time ([ID]), as
// the kernel recorded it at fork. A reused pid has another start time; a changed
// wall clock or a suspended machine changes neither. The pair is unique on one
// boot only, so whoever stores it stores [BootID] beside it.
package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// ID names one process on one boot.
type ID struct {
	PID int `json:"pid"`
	// Start is opaque and compared for equality only: clock ticks since boot
	// (/proc/PID/stat field 22) on Linux, "sec.usec" on macOS.
	Start string `json:"start"`
}

// Info is what the kernel says of a process at one moment.
type Info struct {
	ID
	PPID    int
	PGrp    int
	Session int
	// TPGID is the foreground process group of the controlling terminal, -1
	// when there is none.
	TPGID int
	// TTY is the controlling terminal's device number in the form that
	// [TTYDevice] returns, 0 when there is none.
	TTY int64
	// State is the kernel's letter: R, S, D, T, Z …
	State byte
	// Comm is the kernel's short name, cut at 15 bytes on Linux and 16 on macOS.
	Comm string
}

// Zombie reports whether the process has ended and waits to be reaped. It still
// has a pid and a start time, but it will never run again.
func (i Info) Zombie() bool { return i.State == 'Z' || i.State == 'X' }

// ErrGone is returned for a pid that no process has.
var ErrGone = errors.New("no such process")

// Stat describes the process pid. It fails with [ErrGone] when there is none.
func Stat(pid int) (Info, error) {
	if pid <= 0 {
		return Info{}, ErrGone
	}
	return stat(pid)
}

// Self describes the calling process.
func Self() (Info, error) { return Stat(os.Getpid()) }

// Alive reports whether exactly this process still runs: a reused pid and a
// zombie are dead. A process that exists but may not be looked at (EPERM) counts
// as alive, since a wrong "dead" throws somebody out and a wrong "alive" does not.
// An id without a start time names nobody.
func Alive(id ID) bool {
	if id.PID <= 0 || id.Start == "" {
		return false
	}
	info, err := stat(id.PID)
	if err == nil {
		return info.Start == id.Start && !info.Zombie()
	}
	// With hidepid, /proc hides other users' processes altogether.
	return errors.Is(syscall.Kill(id.PID, 0), syscall.EPERM)
}

// maxDepth bounds a walk up the tree; real trees are below 20.
const maxDepth = 128

// Ancestors lists the ancestors of pid, its parent first, up to but not
// including pid 1.
func Ancestors(pid int) ([]Info, error) {
	info, err := Stat(pid)
	if err != nil {
		return nil, err
	}
	return Chain(info, Stat), nil
}

// Chain lists the ancestors of a process as stat knows them, its parent first, up
// to but not including pid 1. Parent pids are reused too: a "parent" that started
// after its child is a stranger, and the list ends before it.
func Chain(child Info, stat func(pid int) (Info, error)) []Info {
	var chain []Info
	for len(chain) < maxDepth && child.PPID > 1 {
		parent, err := stat(child.PPID)
		if err != nil || Later(parent.ID, child.ID) {
			break // the parent ended while we walked
		}
		chain = append(chain, parent)
		child = parent
	}
	return chain
}

// Later reports whether a started after b, or whether that cannot be told.
func Later(a, b ID) bool { return startsAfter(a.Start, b.Start) }

// StartedAt converts the start of a process into wall-clock time, given the
// present time. It is right to about a clock tick (10 ms) as long as the wall
// clock was not set in between; never store it as an identity.
func (id ID) StartedAt(now time.Time) (time.Time, bool) { return startedAt(id, now) }

// BootID names this boot of this machine; "" when the system does not tell.
func BootID() string { return bootID() }

// Env reads variables from the environment a process was started with. It
// returns only those that are set, and nothing when the process is not ours or
// the system does not tell.
func Env(pid int, keys ...string) map[string]string {
	return pick(environ(pid), keys)
}

// Exe is the path of the program a process runs, "" when unknown.
func Exe(pid int) string { return exe(pid) }

// CWD is the working directory of a process, "" when unknown.
func CWD(pid int) string { return cwd(pid) }

// Args is the command line of a process, nil when unknown.
func Args(pid int) []string { return args(pid) }

// Files lists the paths of the files that a process has open. Sockets, pipes and
// the like have none.
func Files(pid int) ([]string, error) { return files(pid) }

func pick(environ, keys []string) map[string]string {
	found := make(map[string]string, len(keys))
	for _, kv := range environ {
		for _, key := range keys {
			if len(kv) > len(key) && kv[len(key)] == '=' && kv[:len(key)] == key {
				if _, twice := found[key]; !twice { // getenv takes the first
					found[key] = kv[len(key)+1:]
				}
			}
		}
	}
	return found
}

// Package ps lists processes, for programs that may take milliseconds over it.
// The hook program never links it: it brings in gopsutil. What is known of one
// process comes from package proc, whose start times, unlike gopsutil's, can be
// stored and compared.
package ps

import (
	"fmt"

	"github.com/shirou/gopsutil/v3/process"

	"peermux/internal/proc"
)

// All lists the processes that can be looked at, in no order.
func All() ([]proc.Info, error) { return Find(func(proc.Info) bool { return true }) }

// Find lists the processes that match. One that ends meanwhile is left out.
func Find(match func(proc.Info) bool) ([]proc.Info, error) {
	pids, err := process.Pids()
	if err != nil {
		return nil, fmt.Errorf("list processes: %v", err)
	}
	var found []proc.Info
	for _, pid := range pids {
		if info, err := proc.Stat(int(pid)); err == nil && match(info) {
			found = append(found, info)
		}
	}
	return found, nil
}

// Children lists the direct children of a process.
func Children(pid int) ([]proc.Info, error) {
	return Find(func(i proc.Info) bool { return i.PPID == pid && !i.Zombie() })
}

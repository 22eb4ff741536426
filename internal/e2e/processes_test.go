//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// owns reports whether a process was started by this bench: it carries the
// bench's mark in its environment, or runs a program of a folder of ours. (MCP
// servers under Codex get a whitelisted environment without the mark.)
func (b *bench) owns(pid int) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	env, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		return false // ended, or a system without /proc
	}
	if slices.Contains(strings.Split(string(env), "\x00"), "PEERMUX_E2E="+b.dir) {
		return true
	}
	exe, err := os.Readlink(filepath.Join(proc, "exe"))
	if err != nil || !strings.HasPrefix(exe, b.peermux+"/") {
		return false
	}
	return slices.Contains(strings.Split(string(env), "\x00"), "HOME="+b.home)
}

func (b *bench) processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && b.owns(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endProcesses lets what the bench started end by itself, then asks, then kills.
// It returns what had to be killed and is still there.
func (b *bench) endProcesses() []string {
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{0, 2 * time.Second}, {syscall.SIGTERM, 3 * time.Second}, {syscall.SIGKILL, 3 * time.Second}} {
		if step.sig != 0 {
			for _, pid := range b.processes() {
				_ = syscall.Kill(pid, step.sig) // it may have ended in between
			}
		}
		for end := time.Now().Add(step.wait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if len(b.processes()) == 0 {
				return nil
			}
		}
	}
	var left []string
	for _, pid := range b.processes() {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil {
			left = append(left, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(args), "\x00", " ")))
		}
	}
	return left
}

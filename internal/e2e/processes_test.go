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

// runMark is in the environment of everything that one run of the tests starts.
func runMark(pid int) string { return "PEERMUX_E2E_RUN=" + strconv.Itoa(pid) }

// marks reads the run and the bench that a process belongs to.
func marks(pid int) (run int, dir string) {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return 0, "" // ended, or a system without /proc
	}
	for kv := range strings.SplitSeq(string(env), "\x00") {
		if v, ok := strings.CutPrefix(kv, "PEERMUX_E2E_RUN="); ok {
			run, _ = strconv.Atoi(v) // 0 is nobody's run
		}
		if v, ok := strings.CutPrefix(kv, "PEERMUX_E2E="); ok {
			dir = v
		}
	}
	return run, dir
}

// sweep kills what runs have left behind and removes their folders: an
// interrupted one its own, the next one what a killed one could not.
func sweep(of func(run int) bool) {
	dirs := map[string]bool{}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		found := markedBy(of)
		if len(found) == 0 {
			break
		}
		for pid, dir := range found {
			dirs[dir] = true
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended in between
		}
	}
	for dir := range dirs {
		if strings.HasPrefix(filepath.Base(dir), "pmx") {
			if err := os.RemoveAll(dir); err != nil {
				fmt.Fprintln(os.Stderr, "e2e: note:", err)
			}
		}
	}
}

// markedBy gives the folders of the processes of certain runs.
func markedBy(of func(run int) bool) map[int]string {
	found := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return found // a system without /proc: nothing can be told
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if run, dir := marks(pid); run != 0 && of(run) {
			found[pid] = dir
		}
	}
	return found
}

// abandoned reports whether the process of a run is gone.
func abandoned(run int) bool { return syscall.Kill(run, 0) == syscall.ESRCH }

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

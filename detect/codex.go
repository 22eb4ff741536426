package detect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
// thread (0.171.0).
func heldThreads(c client) ([]string, error) {
	if c.PID == 0 {
		return nil, errors.New("no client process is known")
	}
	dir := "/proc/" + strconv.Itoa(c.PID) + "/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.New("the open files of the client process are not known")
	}
	folder := filepath.Join(c.home, lockFolder)
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	var threads []string
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err != nil || filepath.Dir(target) != folder {
			continue
		}
		id, ok := strings.CutSuffix(filepath.Base(target), ".lock")
		if ok && validID(id) {
			threads = append(threads, id)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

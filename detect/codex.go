package detect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
// thread (0.171.0). Only Linux tells.
func heldThreads(pid int, home string, p Processes) ([]string, error) {
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
func loadedThreads(pid int, home string, p Processes) ([]string, error) {
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

package wake

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
)

const (
	keepRecords = 7 * 24 * time.Hour // of sessions that are gone
	keepLocks   = 24 * time.Hour     // that nobody holds
)

// GC removes what nobody needs any more: records of sessions that are gone, and
// lock files of terminals and boxes. keep names the boxes of the living. It
// returns what it removed, or with dry would remove, relative to the home.
func (w *Waker) GC(dry bool, keep func(box string) bool) ([]string, error) {
	var removed []string
	records, err := w.old("wake", keepRecords, func(name string) bool {
		box, ok := strings.CutSuffix(name, ".json")
		return ok && !keep(box)
	})
	if err != nil {
		return nil, err
	}
	for _, name := range records {
		if !dry {
			if err := os.Remove(filepath.Join(w.Home, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return removed, err
			}
		}
		removed = append(removed, name)
	}
	locks, err := w.old("locks", keepLocks, func(name string) bool {
		kind, _, _ := strings.Cut(name, "-")
		return strings.HasSuffix(name, ".lock") && (kind == "wake" || kind == "pane" || kind == "host")
	})
	if err != nil {
		return removed, err
	}
	for _, name := range locks {
		gone, err := w.removeLock(name, dry)
		if err != nil {
			return removed, err
		}
		if gone {
			removed = append(removed, name)
		}
	}
	return removed, nil
}

// old lists the files of a folder that nobody has written for some time.
func (w *Waker) old(dir string, age time.Duration, want func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(w.Home, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && want(e.Name()) && w.Now().Sub(info.ModTime()) > age {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// removeLock removes a lock file that nobody holds. Whoever waits for it sees, when
// it gets the lock, that the file has no name any more, and opens a new one.
func (w *Waker) removeLock(name string, dry bool) (gone bool, err error) {
	path := filepath.Join(w.Home, name)
	f, err := private.Open(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !named(f, path) {
		return false, nil // in use
	}
	if dry {
		return true, nil
	}
	return true, os.Remove(path)
}

// named reports whether the open file is still the one at path.
func named(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

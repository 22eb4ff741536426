package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

func (w *Watcher) loop(kernel *fsnotify.Watcher, every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var events chan fsnotify.Event
	var errs chan error
	if kernel != nil {
		events, errs = kernel.Events, kernel.Errors
	}
	for {
		select {
		case <-stop:
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			w.dispatch(e)
		case _, ok := <-errs:
			if !ok {
				return
			}
			// A full queue lost events of unknown files: everybody looks.
			w.tellAll()
		case <-tick.C:
			w.poll()
		}
	}
}

// dispatch passes one kernel event to the subscriptions it concerns.
func (w *Watcher) dispatch(e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	for _, s := range w.subs {
		if s.at != s.dir && filepath.Dir(e.Name) == s.at && w.arm(s) {
			s.notify()
		}
		if s.path == e.Name || s.whole && s.path == filepath.Dir(e.Name) {
			if !s.whole {
				// For a directory that would be a stat of every entry
				// on every event; the poll sends one token more instead.
				s.last = look(s)
			}
			s.notify()
		}
	}
}

// forget notes that a watched directory went away, and with it the kernel's
// watch; what is above it is watched until it is back. The caller holds mu.
func (w *Watcher) forget(dir string) {
	if w.armed[dir] == 0 {
		return
	}
	delete(w.armed, dir)
	if w.kernel != nil {
		// After a rename the kernel still watches the old inode.
		_ = w.kernel.Remove(dir)
	}
	for _, s := range w.subs {
		if s.at == dir {
			s.at = ""
			w.arm(s)
			s.notify()
		}
	}
}

func (w *Watcher) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subs {
		s.notify()
	}
}

// poll compares every path with what was last seen of it.
func (w *Watcher) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subs {
		armed := w.arm(s)
		now := look(s)
		if armed || now != s.last {
			s.last = now
			s.notify()
		}
	}
}

func (s *subscription) notify() {
	select {
	case s.tell <- struct{}{}:
	default: // a token is waiting already
	}
}

// stamp is what stat tells of a path; two different stamps mean a change.
type stamp struct {
	exists bool
	size   int64
	mtime  int64 // nanoseconds
	inode  uint64
	inside uint64 // for a directory: mixed from the stamps of its entries
}

func look(s *subscription) stamp {
	info, err := os.Stat(s.path)
	if err != nil {
		return stamp{}
	}
	st := stampOf(info)
	if s.whole {
		st.inside = inside(s.path)
	}
	return st
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{exists: true, size: info.Size(), mtime: info.ModTime().UnixNano(), inode: inode(info)}
}

// inside mixes the stamps of a directory's entries: an append to one of them
// does not change the directory itself.
func inside(dir string) uint64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var sum uint64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone between the two calls
		}
		st := stampOf(info)
		h := uint64(14695981039346656037) // FNV-1a
		for _, v := range []uint64{uint64(st.size), uint64(st.mtime), st.inode} {
			h = (h ^ v) * 1099511628211
		}
		sum += h
	}
	return sum
}

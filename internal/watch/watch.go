// Package watch tells a waiter that a file changed or that a process ended,
// so that nobody has to poll.
//
// Contract: a channel returned by File or Dir holds at most one token. A token
// means "look again": several changes may share one, and one may come although
// nothing of interest changed. Whoever subscribes first and looks afterwards
// misses nothing. The files themselves are never opened, written or created.
//
// Changes come from the kernel (inotify, kqueue) by way of fsnotify, on the
// directory that holds the file, because journals and status files are replaced
// by rename. Once a second every watched path is compared by stat as well: it
// covers directories that did not exist yet, file systems that send no events
// and a full event queue. When the kernel gives no watch at all (its limit is
// reached), the comparison runs five times a second instead.
//
// A Watcher holds nothing until its first subscription. It keeps no state on
// disk; a crash leaves nothing behind.
package watch

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// pollEvery is the safety net beside kernel events.
	pollEvery = time.Second
	// pollAlone is the pace when the kernel refuses events: a stat costs
	// about 2 µs, so even a hundred paths stay far below one per cent.
	pollAlone = 200 * time.Millisecond
)

// Watcher hands out subscriptions. It is safe for concurrent use.
type Watcher struct {
	mu     sync.Mutex
	kernel *fsnotify.Watcher // nil until the first subscription, or refused
	alone  bool              // the kernel refused; polling is all there is
	closed bool
	next   int
	subs   map[int]*subscription
	armed  map[string]int // directory -> subscriptions that count on its kernel watch
	stop   chan struct{}  // ends the running loop; nil while nobody subscribes
	loops  sync.WaitGroup
}

type subscription struct {
	path  string
	whole bool   // a directory and what is in it
	dir   string // the directory to watch
	at    string // the directory that the kernel watches; "" is none
	last  stamp
	tell  chan struct{}
}

// New returns a Watcher that has not asked the kernel for anything yet.
func New() (*Watcher, error) {
	return &Watcher{subs: map[int]*subscription{}, armed: map[string]int{}}, nil
}

// File subscribes to one file, which need not exist yet. stop ends the
// subscription; it may be called more than once.
func (w *Watcher) File(path string) (events <-chan struct{}, stop func()) {
	path = filepath.Clean(path)
	return w.subscribe(&subscription{path: path, dir: filepath.Dir(path)})
}

// Dir subscribes to a directory and the files directly in it.
func (w *Watcher) Dir(path string) (events <-chan struct{}, stop func()) {
	path = filepath.Clean(path)
	return w.subscribe(&subscription{path: path, dir: path, whole: true})
}

// Close ends every subscription; their channels stay open and silent.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.subs = map[int]*subscription{}
	w.armed = map[string]int{}
	w.halt()
	kernel := w.kernel
	w.kernel = nil
	w.mu.Unlock()
	if kernel != nil {
		// Its only error is "already closed".
		_ = kernel.Close()
	}
	w.loops.Wait()
}

func (w *Watcher) subscribe(s *subscription) (<-chan struct{}, func()) {
	s.tell = make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return s.tell, func() {}
	}
	w.start()
	w.arm(s)
	s.last = look(s)
	id := w.next
	w.next++
	w.subs[id] = s
	var once sync.Once
	return s.tell, func() { once.Do(func() { w.unsubscribe(id) }) }
}

func (w *Watcher) unsubscribe(id int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.subs[id]
	if !ok {
		return
	}
	delete(w.subs, id)
	w.disarm(s)
	if len(w.subs) == 0 {
		w.halt()
	}
}

// start runs the loop unless it runs already. The caller holds mu.
func (w *Watcher) start() {
	if w.kernel == nil && !w.alone {
		kernel, err := fsnotify.NewWatcher()
		if err != nil {
			// Typically EMFILE: the user's inotify instances are used up.
			w.alone = true
		}
		w.kernel = kernel
	}
	if w.stop != nil {
		return
	}
	stop := make(chan struct{})
	w.stop = stop
	kernel, every := w.kernel, pollEvery
	if w.alone {
		every = pollAlone
	}
	w.loops.Go(func() { w.loop(kernel, every, stop) })
}

// halt ends the loop. The caller holds mu.
func (w *Watcher) halt() {
	if w.stop != nil {
		close(w.stop)
		w.stop = nil
	}
}

// arm asks the kernel to watch the subscription's directory, or as long as that
// does not exist, the nearest one above it. It reports whether that changed. The
// caller holds mu.
func (w *Watcher) arm(s *subscription) bool {
	if w.kernel == nil || s.at == s.dir {
		return false
	}
	before := s.at
	for dir := s.dir; dir != s.at; dir = filepath.Dir(dir) {
		// What fails is not there yet, or a limit is reached; then the poll
		// covers it and tries again.
		if w.armed[dir] == 0 && w.kernel.Add(dir) != nil {
			if dir == filepath.Dir(dir) {
				break
			}
			continue
		}
		w.armed[dir]++
		w.disarm(s)
		s.at = dir
		if dir != s.dir && exists(below(dir, s.dir)) {
			// It came between the two attempts.
			return w.arm(s) || s.at != before
		}
		break
	}
	return s.at != before
}

// below is the directory right under dir on the way to target.
func below(dir, target string) string {
	for filepath.Dir(target) != dir {
		target = filepath.Dir(target)
	}
	return target
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (w *Watcher) disarm(s *subscription) {
	dir := s.at
	if dir == "" {
		return
	}
	s.at = ""
	w.armed[dir]--
	if w.armed[dir] > 0 {
		return
	}
	delete(w.armed, dir)
	if w.kernel != nil {
		// Fails only when the directory is gone, and the watch with it.
		_ = w.kernel.Remove(dir)
	}
}

package agentsim

import (
	"context"
	"os"
	"sync"
	"time"
)

// bell watches the files that SessionStart named, as Claude does: a burst of
// changes is one event, which comes when the files have been quiet for a moment.
type bell struct {
	rang  chan struct{}
	woken chan string // what the FileChanged hook gave

	mu      sync.Mutex
	watched map[string]os.FileInfo // nil: the file is not there
	changed string
}

// The steps of the watch. Claude takes 0.7 s from a write to the model's
// request; a stand-in need not be that slow.
const (
	bellPoll  = 20 * time.Millisecond
	bellQuiet = 100 * time.Millisecond
)

func newBell() *bell {
	return &bell{rang: make(chan struct{}, 1), woken: make(chan string)}
}

// watch replaces the watched files. A file that is there already rings at its
// next change.
func (b *bell) watch(paths []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched = map[string]os.FileInfo{}
	for _, p := range paths {
		b.watched[p] = stat(p)
	}
}

// file is the file that changed last.
func (b *bell) file() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// run polls until ctx ends.
func (b *bell) run(ctx context.Context) {
	var quietAt time.Time
	tick := time.NewTicker(bellPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if b.look() {
				quietAt = now.Add(bellQuiet)
			}
			if !quietAt.IsZero() && !now.Before(quietAt) {
				quietAt = time.Time{}
				select {
				case b.rang <- struct{}{}:
				default: // one ring is waiting: the hook will see all of it
				}
			}
		}
	}
}

// look compares the files with what is known of them and reports a change.
func (b *bell) look() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	for p, before := range b.watched {
		if now := stat(p); !same(before, now) {
			b.watched[p], b.changed, changed = now, p, true
		}
	}
	return changed
}

// stat returns nil for a file that is not there, or not any more.
func stat(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

package wake

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestGC(t *testing.T) {
	home := t.TempDir()
	w := &Waker{Home: home, Now: time.Now}
	ctx := context.Background()
	for _, box := range []string{"s-gone", "s-alive"} {
		if err := w.save(box, &record{Wanted: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"wake-s-gone", "pane-x", "registry"} {
		unlock, err := w.lock(ctx, name)
		if err != nil || unlock == nil {
			t.Fatal(err)
		}
		unlock()
	}
	unlock, err := w.lock(ctx, "wake-s-held")
	if err != nil || unlock == nil {
		t.Fatal(err)
	}
	defer unlock()
	keep := func(box string) bool { return box == "s-alive" }
	if removed, err := w.GC(false, keep); err != nil || len(removed) != 0 {
		t.Errorf("everything is young: got %v, %v", removed, err)
	}
	w.Now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
	want := []string{"wake/s-gone.json", "locks/pane-x.lock", "locks/wake-s-gone.lock"}
	for _, dry := range []bool{true, false} {
		removed, err := w.GC(dry, keep)
		if err != nil || !slices.Equal(removed, want) {
			t.Errorf("dry %v: got %v, %v, want %v", dry, removed, err, want)
		}
	}
	for _, left := range []string{"wake/s-alive.json", "locks/registry.lock", "locks/wake-s-held.lock"} {
		if _, err := os.Stat(filepath.Join(home, left)); err != nil {
			t.Errorf("%s: %v", left, err)
		}
	}
	if removed, err := w.GC(false, keep); err != nil || len(removed) != 0 {
		t.Errorf("a second time: got %v, %v", removed, err)
	}
}

// TestLockExcludes: at most one holds the lock, also while GC removes its file.
func TestLockExcludes(t *testing.T) {
	w := &Waker{Home: t.TempDir(), Now: func() time.Time { return time.Now().Add(48 * time.Hour) }}
	var inside, rounds atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				unlock, err := w.lock(context.Background(), "wake-box")
				if err != nil || unlock == nil {
					t.Errorf("no lock: %v", err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				rounds.Add(1)
				inside.Add(-1)
				unlock()
			}
		})
	}
	stop := make(chan struct{})
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.GC(false, func(string) bool { return true }); err != nil {
				t.Error(err)
			}
		}
	}()
	wg.Wait()
	close(stop)
	<-swept
	if rounds.Load() != 200 {
		t.Errorf("%d rounds, want 200", rounds.Load())
	}
}

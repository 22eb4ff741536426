package watch_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"peermux/internal/watch"
)

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

func open(t *testing.T) *watch.Watcher {
	t.Helper()
	w, err := watch.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustTell(t *testing.T, what string, events <-chan struct{}) {
	t.Helper()
	select {
	case <-events:
	case <-time.After(patience):
		t.Fatalf("%s: no event", what)
	}
}

// drain takes tokens until the watcher has been silent for two polls.
func drain(events <-chan struct{}) {
	for {
		select {
		case <-events:
		case <-time.After(2200 * time.Millisecond):
			return
		}
	}
}

func TestFileChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.jsonl")
	write(t, path, "one\n")
	changes := []struct {
		name   string
		change func()
	}{
		{"append", func() { write(t, path, "two\n") }},
		{"replace by rename", func() {
			write(t, path+".tmp", "whole\n")
			if err := os.Rename(path+".tmp", path); err != nil {
				t.Fatal(err)
			}
		}},
		{"remove", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}},
		{"create", func() { write(t, path, "back\n") }},
	}
	w := open(t)
	events, stop := w.File(path)
	defer stop()
	for _, tt := range changes {
		tt.change()
		mustTell(t, tt.name, events)
	}
}

func TestOtherFilesAreSilent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t)
	events, stop := w.File(filepath.Join(dir, "mine"))
	defer stop()
	write(t, filepath.Join(dir, "other"), "x")
	select {
	case <-events:
		t.Fatal("a change of another file came through")
	case <-time.After(1500 * time.Millisecond):
	}
}

func TestDirSeesItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t)
	events, stop := w.Dir(dir)
	defer stop()
	path := filepath.Join(dir, "1.json")
	write(t, path, "a")
	mustTell(t, "create", events)
	drain(events)
	write(t, path, "b")
	mustTell(t, "append", events)
	drain(events)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	mustTell(t, "remove", events)
}

func TestDirectoryThatComesLater(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "boxes", "s-1")
	path := filepath.Join(dir, "journal.jsonl")
	w := open(t)
	events, stop := w.File(path)
	defer stop()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, "x")
	mustTell(t, "first write", events)
	drain(events)
	write(t, path, "y")
	mustTell(t, "second write", events)
}

func TestDirectoryThatIsReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "box")
	path := filepath.Join(dir, "journal.jsonl")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := open(t)
	events, stop := w.File(path)
	defer stop()
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	drain(events)
	write(t, path, "x")
	mustTell(t, "write into the new directory", events)
}

// Events that come while nobody listens are one token, not a queue.
func TestTokensCoalesce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	w := open(t)
	events, stop := w.File(path)
	defer stop()
	for range 200 {
		write(t, path, "x")
	}
	mustTell(t, "burst", events)
	if n := len(events); n > 1 {
		t.Fatalf("got %d tokens, want at most one", n)
	}
}

func TestStopIsFinal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	w := open(t)
	events, stop := w.File(path)
	other, stopOther := w.File(path)
	stop()
	stop()
	write(t, path, "x")
	mustTell(t, "the subscription that stays", other)
	select {
	case <-events:
		t.Fatal("a stopped subscription was told")
	default:
	}
	stopOther()
	// After the last one stopped, a new one starts the loop again.
	again, stopAgain := w.File(path)
	defer stopAgain()
	write(t, path, "y")
	mustTell(t, "a later subscription", again)
}

func TestCloseThenSubscribe(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, stop := w.File(filepath.Join(t.TempDir(), "f"))
	w.Close()
	stop()
	events, stop2 := w.File(filepath.Join(t.TempDir(), "g"))
	defer stop2()
	if len(events) != 0 {
		t.Fatal("a closed watcher told something")
	}
	w.Close()
}

// The first look after subscribing and the events after it leave no gap.
func TestNoGapBetweenSubscribeAndLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t)
	for i := range 200 {
		path := filepath.Join(dir, "f")
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
		}()
		events, stop := w.File(path)
		for {
			if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
				break
			}
			select {
			case <-events:
			case <-time.After(patience):
				t.Fatalf("round %d: the write was missed", i)
			}
		}
		<-done
		stop()
	}
}

func BenchmarkWriteToEvent(b *testing.B) {
	w, err := watch.New()
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	path := filepath.Join(b.TempDir(), "f")
	events, stop := w.File(path)
	defer stop()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	<-events
	for b.Loop() {
		if _, err := f.WriteString("x"); err != nil {
			b.Fatal(err)
		}
		<-events
	}
}

package registry_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"peermux/registry"
)

func TestStatus(t *testing.T) {
	home := t.TempDir()
	now := time.Now()
	r := registry.Open(home, func() time.Time { return now })
	set := func(word string, at time.Time) {
		t.Helper()
		if err := r.SetStatus("s-x", word, at); err != nil {
			t.Fatal(err)
		}
	}
	want := func(word string, at time.Time) {
		t.Helper()
		got, since := r.Status("s-x")
		if got != word || since.Sub(at).Abs() > time.Microsecond {
			t.Errorf("got %q since %v, want %q since %v", got, since, word, at)
		}
	}
	set("working", now.Add(-2*time.Second))
	want("working", now.Add(-2*time.Second))
	set("idle", now)
	want("idle", now)
	// PostToolUse began before Stop and ends after it.
	set("working", now.Add(-time.Second))
	want("idle", now)
	set("waiting", now)
	want("waiting", now)
	// The clock was set back: what lies ahead does not silence every event.
	now = now.Add(-time.Hour)
	set("idle", now)
	want("idle", now)

	data, err := os.ReadFile(filepath.Join(home, "status", "s-x"))
	if err != nil || string(bytes.TrimSpace(data)) != "idle" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	for _, word := range []string{"", "busy", "idle\nworking"} {
		if err := r.SetStatus("s-x", word, now); !errors.Is(err, registry.ErrInvalid) {
			t.Errorf("%q: got %v", word, err)
		}
	}
	if err := r.SetStatus("s-../../x", "idle", now); !errors.Is(err, registry.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	for _, content := range []string{"", "sleeping\n", "idle working\n", "idle\n\n\n\nworking\n\x00"} {
		if err := os.WriteFile(filepath.Join(home, "status", "s-x"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := r.Status("s-x"); got != registry.Unknown {
			t.Errorf("%q: got %q", content, got)
		}
		set("waiting", now)
		want("waiting", now)
	}
	if err := errors.Join(r.RemoveStatus("s-x"), r.RemoveStatus("s-x")); err != nil {
		t.Error(err)
	}
}

// The newest event wins, in whichever order the hooks come to write, and a reader
// never meets half a word.
func TestStatusRace(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	base := time.Now().Add(-time.Minute)
	words := []string{"idle", "working", "waiting"}
	if err := r.SetStatus("s-x", "idle", base); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 50 {
				n := i*8 + w
				if err := r.SetStatus("s-x", words[n%3], base.Add(time.Duration(n)*time.Millisecond)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			if word, _ := r.Status("s-x"); word == registry.Unknown {
				t.Error("met half a word")
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	if word, _ := r.Status("s-x"); word != words[399%3] {
		t.Errorf("got %q, want %q", word, words[399%3])
	}
}

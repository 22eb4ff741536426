package mailbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/mailbox"
)

// A journal in which nothing is to be done is not even locked: gc waits for nobody
// who writes, however many boxes there are, and however long they are.
func TestGCWaitsForNobody(t *testing.T) {
	p := newPost(t)
	p.send(alice, "short")
	for range 60 {
		p.send(bob, strings.Repeat("settled ", 200))
	}
	p.show(bob)
	p.ok(p.Compact(bob))
	p.send(bob, "waits")
	for _, key := range []string{alice, bob} {
		path := mailbox.JournalPath(p.home, key)
		p.ok(os.Chtimes(path, p.clock.now(), p.clock.now()))
		f, err := os.Open(path)
		p.ok(err)
		defer f.Close()
		p.ok(unix.Flock(int(f.Fd()), unix.LOCK_EX))
	}
	done := make(chan error, 1)
	go func() {
		actions, err := p.GC(mailbox.GCOptions{})
		if len(actions) > 0 {
			t.Errorf("did %+v", actions)
		}
		done <- err
	}()
	select {
	case err := <-done:
		p.ok(err)
	case <-time.After(time.Minute):
		t.Fatal("gc waits for a lock")
	}
}

// The folder of a new box is empty for a moment, and gc removes empty folders.
func TestNewBoxesBesideGC(t *testing.T) {
	p := newPost(t)
	stop := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 3 {
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := p.GC(mailbox.GCOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 80 {
		key := mailbox.SessionKey(fmt.Sprint("new-", n))
		m := mailbox.Message{Body: "first"}
		if _, err := p.Append(key, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Error(err)
			break
		}
		p.pending(key, 1)
		p.ok(os.RemoveAll(filepath.Dir(mailbox.JournalPath(p.home, key)))) // so that gc stays fast
	}
	close(stop)
	sweepers.Wait()
}

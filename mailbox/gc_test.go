package mailbox_test

import (
	"os"
	"strings"
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

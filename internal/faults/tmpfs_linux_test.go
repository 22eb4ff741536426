package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"peermux/mailbox"
)

// TestDiskFull fills a real file system, again and again with a little more room.
// Pages run out in the middle of a write there, which a size limit cannot show.
func TestDiskFull(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", b.home, "tmpfs", 0, "size=512k,mode=0700"); err != nil {
		t.Skipf("a file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(b.home, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.MkdirAll(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(b.home, "filler")
	if err := os.WriteFile(filler, make([]byte, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		p := b.start(order{Role: "flood", Box: boxA})
		<-p.read
		p.stop()
		if p.err != nil {
			t.Fatalf("round %d: %v: %s", round, p.err, p.stderr.String())
		}
		b.hasAll(boxA, boxB)
		if err := os.Truncate(filler, int64(300-30*(round+1))<<10); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	b.drain(order{Role: "follow", Box: boxA})
	b.tally().check(b)
}

// hasAll checks that every acknowledged message is in a box, and nothing torn.
func (b *bench) hasAll(keys ...string) {
	b.Helper()
	there := map[string]bool{}
	for _, key := range keys {
		st, err := b.store.State(key)
		if err != nil {
			b.Fatal(err)
		}
		for _, it := range st.Items {
			there[label(it.Body)] = true
		}
		if st.BadLines > 0 {
			b.Errorf("%d bad lines in %s", st.BadLines, key)
		}
	}
	for which := range b.tally().acked {
		if !there[which] {
			b.Errorf("%s was acknowledged and is gone", which)
		}
	}
}

// flood sends until the disk is full, and then everything else that writes.
func (w *worker) flood() error {
	for n := 1; ; n++ {
		m := mailbox.Message{Body: bodyOf(w.Name, n)}
		_, err := w.store.Append(w.Box, &m, mailbox.AppendOptions{NoSync: n%2 == 0})
		if errors.Is(err, unix.ENOSPC) {
			if !strings.Contains(err.Error(), "nothing was stored") {
				return fmt.Errorf("message %d: %w", n, err)
			}
			break
		}
		if err != nil {
			return err
		}
		report("ack " + label(m.Body))
	}
	for _, act := range []func() error{
		func() error { return w.store.Compact(w.Box) },
		func() error { return w.store.Move(w.Box, boxB) },
		func() error { _, err := w.store.Broadcast(mailbox.FeedGlobal, &mailbox.Message{Body: "x"}); return err },
	} {
		if err := act(); err != nil && !errors.Is(err, unix.ENOSPC) {
			return err
		}
	}
	return nil
}

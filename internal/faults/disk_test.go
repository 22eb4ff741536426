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

// TestDiskFullAtEveryByte lets the disk end (RLIMIT_FSIZE) at every byte of every
// write of a message, a receipt, a closing, a move and a compaction; every third or
// fifth without PEERMUX_STRESS.
func TestDiskFullAtEveryByte(t *testing.T) {
	b := newBench(t)
	p := b.start(order{Role: "fill", Box: boxA})
	<-p.read
	p.stop()
	if p.err != nil {
		t.Fatalf("%v: %s", p.err, p.stderr.String())
	}
	t.Log(strings.Join(p.lines, "\n"))
}

// fill runs in a process of its own, since the limit is the process's.
func (w *worker) fill() error {
	steps := []struct {
		name string
		run  func() (tries int, err error)
	}{
		{"append", w.fillAppend}, {"broadcast", w.fillBroadcast}, {"show", w.fillShow},
		{"complete", w.fillComplete}, {"move", w.fillMove}, {"compact", w.fillCompact},
	}
	for _, s := range steps {
		tries, err := s.run()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		report(fmt.Sprintf("%s: %d places to run out of disk", s.name, tries))
	}
	return nil
}

// limited runs act while no file may grow beyond size bytes.
func limited(size int64, act func() error) error {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	now := was
	setLimit(&now, size)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	err := act()
	return errors.Join(err, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// hungry tries act with the disk ending after 0, 1, 2 … more bytes in the file at
// path, until it succeeds. A failure must leave the file as it was.
func hungry(path string, act func() error) (tries int, err error) {
	for more := 0; ; more += stress(3, 1) {
		before, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return tries, err
		}
		acted := limited(int64(len(before)+more), act)
		if acted == nil {
			return tries, nil
		}
		if !errors.Is(acted, unix.EFBIG) {
			return tries, fmt.Errorf("failed otherwise: %w", acted)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			return tries, fmt.Errorf("%w left %d bytes of %d, %v", acted, len(after), len(before), err)
		}
		tries++
	}
}

func (w *worker) fillAppend() (int, error) {
	total := 0
	for n := range 3 {
		m := mailbox.Message{Body: fmt.Sprintf("message %d", n)}
		tries, err := hungry(mailbox.JournalPath(w.Home, w.Box), func() error {
			_, err := w.store.Append(w.Box, &m, mailbox.AppendOptions{NoSync: n == 0})
			return err
		})
		if err != nil {
			return tries, err
		}
		total += tries
	}
	return total, w.holds(w.Box, "message 0", "message 1", "message 2")
}

func (w *worker) fillBroadcast() (int, error) {
	path := mailbox.FeedPath(w.Home, mailbox.FeedGlobal)
	total := 0
	for n := range 2 {
		tries, err := hungry(path, func() error {
			_, err := w.store.Broadcast(mailbox.FeedGlobal, &mailbox.Message{Body: fmt.Sprint("said ", n)})
			return err
		})
		if err != nil {
			return tries, err
		}
		total += tries
	}
	st, err := w.store.FeedState(mailbox.FeedGlobal)
	if err == nil && (len(st.Items) != 2 || st.BadLines != 0) {
		err = fmt.Errorf("the feed holds %d messages and %d bad lines", len(st.Items), st.BadLines)
	}
	return total, err
}

// fillShow claims and records, each with the disk ending everywhere.
func (w *worker) fillShow() (int, error) {
	path := mailbox.JournalPath(w.Home, w.Box)
	var claim *mailbox.Claim
	tries, err := hungry(path, func() (err error) {
		claim, err = w.store.Claim(w.Box, mailbox.ClaimOptions{Reader: w.Name, Via: "test"})
		return err
	})
	if err != nil {
		return tries, err
	}
	more, err := hungry(path, claim.Shown)
	if err != nil {
		return more, err
	}
	return tries + more, w.holds(w.Box)
}

func (w *worker) fillComplete() (int, error) {
	m := mailbox.Message{Kind: mailbox.KindTask, Body: "do it", From: mailbox.Party{Box: boxB}}
	res, err := w.store.Append(w.Box, &m, mailbox.AppendOptions{})
	if err != nil {
		return 0, err
	}
	done := mailbox.Completion{Task: res.ID, How: "done", By: mailbox.Party{Name: "me"}, Result: &mailbox.Message{Body: "did it"}}
	at, to := mailbox.JournalPath(w.Home, w.Box), mailbox.JournalPath(w.Home, boxB)
	limit, tries := int64(0), 0
	for ; ; limit, tries = limit+int64(stress(5, 1)), tries+1 {
		err := limited(limit, func() error {
			_, err := w.store.Complete(w.Box, done)
			return err
		})
		if err == nil {
			break
		}
		task, found := w.store.Find(w.Box, res.ID)
		if found != nil || task.Closed != "" || !errors.Is(err, unix.EFBIG) {
			return tries, fmt.Errorf("after %w: task %q, %v", err, task.Closed, found)
		}
	}
	if limit <= size(at)-50 || limit <= size(to)-50 {
		return tries, fmt.Errorf("closed with a limit of %d, the files have %d and %d", limit, size(at), size(to))
	}
	return tries, w.holds(boxB, "did it")
}

func (w *worker) fillMove() (int, error) {
	tries := 0
	for extra := int64(0); ; extra += int64(stress(5, 1)) {
		from := mailbox.SessionKey(fmt.Sprint("from", extra))
		to := mailbox.SessionKey(fmt.Sprint("to", extra))
		for _, body := range []string{"one", "two"} {
			if _, err := w.store.Append(from, &mailbox.Message{Body: body}, mailbox.AppendOptions{NoSync: true}); err != nil {
				return tries, err
			}
		}
		err := limited(extra, func() error { return w.store.Move(from, to) })
		if err != nil && !errors.Is(err, unix.EFBIG) {
			return tries, err
		}
		if again := w.store.Move(from, to); again != nil {
			return tries, again
		}
		if err := errors.Join(w.holds(to, "one", "two"), w.holds(from)); err != nil {
			return tries, fmt.Errorf("limit %d: %w", extra, err)
		}
		if err == nil {
			return tries, nil
		}
		tries++
	}
}

// fillCompact has no room for the new file: the old one serves on.
func (w *worker) fillCompact() (int, error) {
	key := mailbox.SessionKey("large")
	path := mailbox.JournalPath(w.Home, key)
	var bodies []string
	var largest int64
	for n := 0; largest < 300<<10; n++ {
		body := fmt.Sprint(n, strings.Repeat(" x", 4000))
		bodies = append(bodies, body)
		err := limited(size(path)+int64(len(body))+300, func() error {
			_, err := w.store.Append(key, &mailbox.Message{Body: body}, mailbox.AppendOptions{NoSync: true})
			if err == nil && size(path) > 128<<10 {
				err = limited(100<<10, func() error {
					if err := w.store.Compact(key); !errors.Is(err, unix.EFBIG) {
						return fmt.Errorf("compaction: %w", err)
					}
					return nil
				})
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		largest = max(largest, size(path))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		return 0, fmt.Errorf("left behind: %v, %w", left, err)
	}
	return len(bodies), w.holds(key, bodies...)
}

// holds checks what waits in a box, and that nothing else is in the way.
func (w *worker) holds(key string, want ...string) error {
	items, more, err := w.store.Peek(key, mailbox.ClaimOptions{})
	if err != nil {
		return err
	}
	var got []string
	for _, it := range items {
		got = append(got, it.Body)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || more != 0 {
		return fmt.Errorf("%s holds %q, want %q", key, got, want)
	}
	st, err := w.store.State(key)
	if err == nil && st.BadLines > 0 {
		err = fmt.Errorf("%s has %d bad lines", key, st.BadLines)
	}
	return err
}

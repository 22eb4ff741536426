package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
)

// tx is a journal under its lock. Without a file it is a copy of one in memory.
type tx struct {
	s    *Store
	p    place
	f    *os.File
	snap *snapshot
	idx  *index

	wrote bool // the snapshot is older than the file
	hurry bool // somebody waits for this: leave compaction to others for a while
}

// begin locks the journal of p and reads its hot part. Without create a missing
// journal is fs.ErrNotExist.
//
// Compaction replaces the file and gc removes it, so whoever waited for the lock
// may hold a file that is no longer the journal: then it starts again.
func (s *Store) begin(p place, create bool) (*tx, error) {
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	// Each round means that compaction or gc came first. Where somebody compacts without
	// a pause that may be hundreds of times.
	for range 2000 {
		f, err := s.open(p, flags)
		if create && errors.Is(err, fs.ErrNotExist) {
			continue // gc removed the empty folder just now
		}
		if err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
		t := &tx{s: s, p: p, f: f, snap: &snapshot{}}
		current, err := t.lock()
		if err == nil && current {
			err = t.load()
		}
		if err != nil {
			return nil, fmt.Errorf("mailbox: %w", errors.Join(err, f.Close()))
		}
		if current {
			return t, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
	}
	return nil, fmt.Errorf("mailbox: %s is replaced again and again; is another program writing there?", p.path)
}

// open opens a journal, and with O_CREATE makes it and its folders.
func (s *Store) open(p place, flags int) (*os.File, error) {
	if flags&os.O_CREATE != 0 {
		if err := s.mkdir(p); err != nil {
			return nil, err
		}
	}
	return private.Open(p.path, flags)
}

func (t *tx) lock() (current bool, err error) {
	if err := private.Flock(t.f); err != nil {
		return false, err
	}
	mine, err := t.f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(t.p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.snap.size = mine.Size()
	return os.SameFile(mine, named), nil
}

func (t *tx) load() (err error) {
	if t.snap.size == 0 {
		t.idx = newIndex(t.p, "", nil)
		return t.syncName()
	}
	if t.p.feed {
		// Who appends to a feed needs its last id and no more.
		t.snap, err = readEnd(t.f, t.snap.size)
	} else {
		t.snap, err = read(t.f, t.snap.size, false)
	}
	if err != nil {
		return err
	}
	t.idx = newIndex(t.p, t.snap.last, t.snap.hotData())
	return nil
}

// syncName makes a new journal's name durable, before its first record: a journal
// that has a record has a name that survives a power cut.
func (t *tx) syncName() error {
	dir := filepath.Dir(t.p.path)
	if err := private.SyncDir(dir); err != nil {
		return err
	}
	return private.SyncDir(filepath.Dir(dir))
}

// whole is the entire journal, the settled part included.
func (t *tx) whole() (*snapshot, error) {
	if t.snap.base > 0 || t.wrote {
		v, err := read(t.f, t.snap.size, true)
		if err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
		t.snap, t.wrote = v, false
	}
	return t.snap, nil
}

// write appends lines with one call. When that fails half-way, as on a full disk,
// what did get out is taken back: the journal has all of it or nothing.
func (t *tx) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if data := t.snap.data; !t.wrote && len(data) > 0 && data[len(data)-1] != '\n' {
		lines = append([]byte{'\n'}, lines...) // a writer died in the middle of its line
	}
	if t.f == nil {
		t.snap.data = slices.Concat(t.snap.data, lines)
		t.idx.scan(lines)
		return nil
	}
	if _, err := t.f.Write(lines); err != nil {
		err = fmt.Errorf("mailbox: nothing was stored: %w", err)
		if cut := t.f.Truncate(t.snap.size); cut != nil {
			// What is left is a torn line, which readers skip and the next write closes.
			err = errors.Join(err, cut)
		}
		return err
	}
	t.snap.size += int64(len(lines))
	t.wrote = true
	t.idx.scan(lines)
	return nil
}

// end gives the lock back and then makes what was written durable. Syncing without
// the lock lets writers share it.
func (t *tx) end(sync bool) error {
	compacted, err := t.release()
	if err == nil && sync && !compacted {
		err = t.sync()
	}
	return t.abandon(err)
}

// release gives the lock back, after a compaction when one is due; that has made
// everything durable.
func (t *tx) release() (compacted bool, err error) {
	if t.due() {
		// A failed compaction has changed nothing; the next writer tries again.
		compacted, _ = t.compact()
	}
	if err := unix.Flock(int(t.f.Fd()), unix.LOCK_UN); err != nil {
		return compacted, fmt.Errorf("mailbox: %s: unlock: %w", t.p.path, err)
	}
	return compacted, nil
}

// sync makes what was written survive a power cut.
func (t *tx) sync() error {
	if t.f == nil {
		return nil
	}
	if err := private.Sync(t.f); err != nil {
		return fmt.Errorf("mailbox: not known to be on disk: %w", err)
	}
	return nil
}

func (t *tx) close() error {
	if err := t.f.Close(); err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	return nil
}

// abandon ends a transaction that wrote nothing, or failed with cause.
func (t *tx) abandon(cause error) error { return errors.Join(cause, t.close()) }

// absent turns "there is none" into no error.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// named says whose error it is.
func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mailbox: %w", err)
}

func (s *Store) stamp() time.Time { return s.now().UTC() }

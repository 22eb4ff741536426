package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
)

// snapshot is a journal as it was at one moment. Compaction puts what is settled
// first; hot is what follows, and all that hooks ever need to look at.
type snapshot struct {
	data []byte // from the file's start, or from hot when that was all that was asked for
	base int64  // offset in the file of data[0]
	hot  int64  // offset in the file at which the hot part starts
	kept int64  // length of the hot part when compaction last wrote it
	last string // greatest message id that compaction saw
	size int64
}

func (v snapshot) hotData() []byte { return v.data[v.hot-v.base:] }

// onePiece is the size up to which a journal is read with a single call.
const onePiece = 64 << 10

// read takes a snapshot of f, whole or from its hot part on.
func read(f *os.File, size int64, whole bool) (snapshot, error) {
	v := snapshot{size: size}
	first := make([]byte, min(size, onePiece))
	n, err := readAt(f, first, 0)
	if err != nil {
		return v, err
	}
	first = first[:n]
	v.data = first
	if n < len(first) {
		return v, nil // the file was cut while we read
	}
	hot, kept, last, ok := compactedHeader(first)
	if size > int64(len(first)) {
		if ok && !whole {
			v.base = min(hot, size)
		}
		v.data = make([]byte, size-v.base)
		if n, err = readAt(f, v.data, v.base); err != nil {
			return v, err
		}
		v.data = v.data[:n]
	}
	if !ok {
		return v, nil
	}
	at := hot - v.base
	if at < 0 || at > int64(len(v.data)) || !bytes.HasPrefix(v.data[at:], hotStart) {
		// The header lies (somebody edited the file): it is only a short cut.
		if v.base == 0 {
			return v, nil
		}
		v.base = 0
		v.data = make([]byte, size)
		n, err = readAt(f, v.data, 0)
		v.data = v.data[:n]
		return v, err
	}
	v.hot, v.kept, v.last = hot, kept, last
	return v, nil
}

// readAt is ReadAt for a file that may have become shorter.
func readAt(f *os.File, buf []byte, off int64) (int, error) {
	total := 0
	for total < len(buf) {
		n, err := f.ReadAt(buf[total:], off+int64(total))
		total += n
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

var (
	compactedStart = []byte(`{"t":"compacted","id":"`)
	hotStart       = []byte(`{"t":"hot","id":"`)
)

func compactedHeader(data []byte) (hot, kept int64, last string, ok bool) {
	if !bytes.HasPrefix(data, compactedStart) {
		return 0, 0, "", false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	n, ok := parseNote(line)
	if !ok {
		return 0, 0, "", false
	}
	hot, err := strconv.ParseInt(n.Hot, 10, 64)
	if err != nil {
		return 0, 0, "", false
	}
	kept, err = strconv.ParseInt(n.Kept, 10, 64)
	return hot, kept, n.ID, err == nil
}

// tx is a journal under its lock.
type tx struct {
	s    *Store
	p    place
	f    *os.File
	snap snapshot
	idx  *index
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
	for range 100 { // each round means that compaction or gc came first
		if create {
			if err := s.mkdir(p); err != nil {
				return nil, fmt.Errorf("mailbox: %w", err)
			}
		}
		f, err := private.Open(p.path, flags)
		if create && errors.Is(err, fs.ErrNotExist) {
			continue // gc removed the empty folder just now
		}
		if err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
		t := &tx{s: s, p: p, f: f}
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
func (t *tx) whole() ([]byte, error) {
	if t.snap.base > 0 {
		v, err := read(t.f, t.snap.size, true)
		if err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
		t.snap = v
	}
	return t.snap.data, nil
}

// write appends lines with one call. When that fails half-way, as on a full disk,
// what did get out is taken back: the journal has all of it or nothing.
func (t *tx) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if hot := t.snap.data; len(hot) > 0 && hot[len(hot)-1] != '\n' {
		lines = append([]byte("\n"), lines...) // a writer died in the middle of its line
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
	t.snap.data = append(t.snap.data, lines...)
	t.idx.scan(lines)
	return nil
}

// end gives the lock back, after a compaction when one is due, and then makes
// what was written durable. Syncing without the lock lets writers share it.
func (t *tx) end(sync bool) error {
	if t.due() {
		// A failed compaction has changed nothing; the next writer tries again.
		if compacted, _ := t.compact(); compacted {
			return t.close()
		}
	}
	if !sync {
		return t.close()
	}
	if err := unix.Flock(int(t.f.Fd()), unix.LOCK_UN); err != nil {
		return fmt.Errorf("mailbox: %s: unlock: %w", t.p.path, errors.Join(err, t.close()))
	}
	if err := private.Sync(t.f); err != nil {
		return fmt.Errorf("mailbox: not known to be on disk: %w", errors.Join(err, t.close()))
	}
	return t.close()
}

func (t *tx) close() error {
	if err := t.f.Close(); err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	return nil
}

// abandon ends a transaction that wrote nothing, or failed with cause.
func (t *tx) abandon(cause error) error { return errors.Join(cause, t.close()) }

// peek is a snapshot without the lock, for those who only look. A line that is
// just being written may be cut; what is there before it is whole. A missing or
// empty journal costs two system calls and gives an empty snapshot.
func (s *Store) peek(p place, whole bool) (snapshot, error) {
	if !p.feed {
		if err := private.CheckDir(filepath.Dir(p.path)); err != nil {
			return snapshot{}, absent(err)
		}
	}
	size, err := private.Size(p.path)
	if err != nil || size == 0 {
		return snapshot{}, absent(err)
	}
	f, err := private.Open(p.path, os.O_RDONLY)
	if err != nil {
		return snapshot{}, absent(err)
	}
	st, err := f.Stat()
	var v snapshot
	if err == nil {
		v, err = read(f, st.Size(), whole)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return snapshot{}, fmt.Errorf("mailbox: %w", err)
	}
	return v, nil
}

// absent turns "there is none" into no error.
func absent(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("mailbox: %w", err)
}

func (s *Store) stamp() time.Time { return s.now().UTC() }

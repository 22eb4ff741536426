package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"peermux/internal/private"
)

// snapshot is a journal as it was at one moment, whole or from some offset on.
// Compaction puts what is settled first; hot is what follows, and all that hooks
// ever need to look at.
type snapshot struct {
	data []byte
	base int64  // offset in the file of data[0]
	hot  int64  // offset in the file at which the hot part starts
	kept int64  // length of the hot part when compaction last wrote it
	last string // greatest message id that compaction knew
	size int64
}

func (v *snapshot) hotData() []byte  { return v.data[v.hot-v.base:] }
func (v *snapshot) coldData() []byte { return v.data[:v.hot-v.base] }

const (
	// onePiece is the size up to which a journal is read with a single call.
	onePiece = 8 << 10
	// headerSize is more than the header that compaction writes.
	headerSize = 512
)

// read takes a snapshot of f, whole or from its hot part on.
func read(f *os.File, size int64, whole bool) (*snapshot, error) {
	v := &snapshot{size: size}
	if size > onePiece && !whole {
		first, err := readAt(f, headerSize, 0)
		if err != nil {
			return nil, err
		}
		if h, ok := parseHeader(first); ok && h.hot < size {
			if v.data, err = readAt(f, size-h.hot, h.hot); err != nil {
				return nil, err
			}
			v.base = h.hot
			if v.accept(h) {
				return v, nil
			}
		}
	}
	data, err := readAt(f, size, 0)
	if err != nil {
		return nil, err
	}
	return entire(data, size), nil
}

// entire is the snapshot of a whole journal.
func entire(data []byte, size int64) *snapshot {
	v := &snapshot{data: data, size: size}
	if h, ok := parseHeader(data); ok {
		v.accept(h)
	}
	return v
}

// accept takes a header over when the mark is where the header says. It is only a
// short cut: without it, as when somebody edited the file, all of it is hot.
func (v *snapshot) accept(h header) bool {
	at := h.hot - v.base
	if at < 0 || at > int64(len(v.data)) || !bytes.HasPrefix(v.data[at:], hotStart) {
		return false
	}
	v.hot, v.kept, v.last = h.hot, h.kept, h.last
	return true
}

// readAt reads size bytes, or fewer from a file that has become shorter.
func readAt(f *os.File, size, off int64) ([]byte, error) {
	buf := make([]byte, size)
	n, err := f.ReadAt(buf, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// header is the first line of a journal that was compacted.
type header struct {
	hot, kept int64
	last      string
}

var (
	compactedStart = []byte(`{"t":"compacted","id":"`)
	hotStart       = []byte(`{"t":"hot","id":"`)
)

func parseHeader(data []byte) (h header, ok bool) {
	if !bytes.HasPrefix(data, compactedStart) {
		return h, false
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	n, ok := parseNote(line)
	if !ok {
		return h, false
	}
	var err1, err2 error
	h.last = n.ID
	h.hot, err1 = strconv.ParseInt(n.Hot, 10, 64)
	h.kept, err2 = strconv.ParseInt(n.Kept, 10, 64)
	return h, err1 == nil && err2 == nil && h.hot >= 0 && h.kept >= 0
}

// peek is a snapshot without the lock, for those who only look. A line that is
// just being written may be cut; what is there before it is whole. A missing or
// empty journal costs two system calls and gives an empty snapshot.
func (s *Store) peek(p place, whole bool) (*snapshot, error) {
	if !p.feed {
		if err := private.CheckDir(filepath.Dir(p.path)); err != nil {
			return &snapshot{}, named(absent(err))
		}
	}
	size, err := private.Size(p.path)
	if err != nil || size == 0 {
		return &snapshot{}, named(absent(err))
	}
	if size <= onePiece { // what a hook finds every day, so nothing is put up around it
		data, err := private.ReadFile(p.path, math.MaxInt64)
		if err != nil {
			return &snapshot{}, named(absent(err))
		}
		return entire(data, int64(len(data))), nil
	}
	f, err := private.Open(p.path, os.O_RDONLY)
	if err != nil {
		return &snapshot{}, named(absent(err))
	}
	v := &snapshot{}
	st, err := f.Stat()
	if err == nil {
		v, err = read(f, st.Size(), whole)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return &snapshot{}, fmt.Errorf("mailbox: %w", err)
	}
	return v, nil
}

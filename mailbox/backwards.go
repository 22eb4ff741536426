package mailbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"peermux/internal/private"
)

// firstBlock is how much of a feed's end is read first.
const firstBlock = 16 << 10

// backwards gives growing ends of a journal, each starting with a whole line,
// until look has seen enough. The last one, with all set, is the whole journal.
func (s *Store) backwards(p place, look func(data []byte, all bool) (enough bool)) error {
	size, err := private.Size(p.path)
	if err != nil || size == 0 {
		return named(absent(err))
	}
	f, err := private.Open(p.path, os.O_RDONLY)
	if err != nil {
		return named(absent(err))
	}
	defer f.Close() // opened for reading: there is nothing that closing could lose
	st, err := f.Stat()
	if err == nil {
		err = growing(f, st.Size(), func(data []byte, all bool) bool { return look(written(data), all) })
	}
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	return nil
}

// written leaves off a last line that is there in part, being written or torn: when it
// happens to be cut behind a brace it would pass for a record, and its reader for one
// who is done with the message.
func written(data []byte) []byte {
	last := bytes.LastIndexByte(data, '\n') + 1
	if _, ok := head(data[last:]); ok && !json.Valid(data[last:]) {
		return data[:last]
	}
	return data
}

func growing(f *os.File, size int64, look func(data []byte, all bool) (enough bool)) error {
	for block := int64(firstBlock); ; block *= 4 {
		from := max(size-block, 0)
		data, err := readAt(f, size-from, from)
		if err != nil {
			return err
		}
		if from == 0 {
			look(data, true)
			return nil
		}
		if _, whole, ok := bytes.Cut(data, []byte{'\n'}); ok && look(whole, false) {
			return nil
		}
	}
}

// readEnd is a snapshot of a feed's end, from its last message on at the latest.
func readEnd(f *os.File, size int64) (*snapshot, error) {
	first, err := readAt(f, min(size, headerSize), 0)
	if err != nil {
		return nil, err
	}
	h, _ := parseHeader(first)
	v := &snapshot{size: size, kept: h.kept, last: h.last}
	err = growing(f, size, func(data []byte, all bool) bool {
		v.data, v.base = data, size-int64(len(data))
		return newest(data) != ""
	})
	v.hot = v.base
	return v, err
}

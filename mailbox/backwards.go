package mailbox

import (
	"bytes"
	"fmt"
	"os"

	"peermux/internal/private"
)

// firstBlock is how much of a feed's end is read first.
const firstBlock = 16 << 10

// backwards gives growing ends of a journal, each starting with a whole line,
// until enough says so; all gets the whole when that was not enough.
func (s *Store) backwards(p place, enough func(data []byte) bool, all func(data []byte)) error {
	size, err := private.Size(p.path)
	if err != nil || size == 0 {
		return absent(err)
	}
	f, err := private.Open(p.path, os.O_RDONLY)
	if err != nil {
		return absent(err)
	}
	defer f.Close() // opened for reading: there is nothing that closing could lose
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	size = st.Size()
	for block := int64(firstBlock); ; block *= 4 {
		from := max(size-block, 0)
		data := make([]byte, size-from)
		n, err := readAt(f, data, from)
		if err != nil {
			return fmt.Errorf("mailbox: %w", err)
		}
		data = data[:n]
		if from == 0 {
			all(data)
			return nil
		}
		if _, whole, ok := bytes.Cut(data, []byte("\n")); ok && enough(whole) {
			return nil
		}
	}
}

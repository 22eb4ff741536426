package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/private"
)

// Status words, as hooks write them. Whatever else is found is Unknown.
const (
	Idle    = "idle"
	Working = "working"
	Waiting = "waiting" // for the person: a dialog is open
	Unknown = "unknown"
)

// statusSize is the length of every status file. All words are filled up with
// newlines to the same length, so that one write replaces one word by another
// and no reader meets half of each.
const statusSize = 8

// Status is the word that hooks last wrote about a session, and the time of the
// event it speaks of; Unknown when there is none.
func (r *Registry) Status(boxKey string) (word string, at time.Time) {
	if !validKey(boxKey) {
		return Unknown, time.Time{}
	}
	data, at, err := private.ReadDated(filepath.Join(r.home, "status", boxKey), 64)
	if err != nil {
		return Unknown, time.Time{}
	}
	switch word := strings.TrimSpace(string(data)); word {
	case Idle, Working, Waiting:
		return word, at
	}
	return Unknown, time.Time{}
}

// SetStatus records the word of an event that happened at the time at. Hooks of
// one session run side by side and end in any order; an older event never
// overwrites a newer one.
func (r *Registry) SetStatus(boxKey, word string, at time.Time) error {
	if !validKey(boxKey) || word != Idle && word != Working && word != Waiting {
		return fmt.Errorf("%w: status %q of box %q", ErrInvalid, word, boxKey)
	}
	path := filepath.Join(r.home, "status", boxKey)
	data := []byte(word + strings.Repeat("\n", statusSize-len(word)))
	// A time that lies ahead was written before the clock was set back; it must not
	// silence every event until then.
	newer := func(size int64, last time.Time) bool {
		return size > 0 && last.After(at) && !last.After(r.now())
	}
	err := private.Stamp(path, data, at, newer)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := r.dir("status"); err != nil {
			return err
		}
		err = private.Stamp(path, data, at, newer)
	}
	return err
}

// RemoveStatus forgets the status of a session that ended.
func (r *Registry) RemoveStatus(boxKey string) error {
	if !validKey(boxKey) {
		return fmt.Errorf("%w: box %q", ErrInvalid, boxKey)
	}
	err := os.Remove(filepath.Join(r.home, "status", boxKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

package registry

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/private"
)

// endedTTL is how long it is remembered that a session has been here.
const endedTTL = 30 * 24 * time.Hour

// Ended finds the last entry of a session that was listed and has ended, by its
// box. Mail for it is kept: its conversation can be resumed.
func (r *Registry) Ended(boxKey string) (Entry, bool) {
	if !validKey(boxKey) {
		return Entry{}, false
	}
	data, err := private.ReadFile(filepath.Join(r.home, "ended", boxKey+".json"), maxRecord)
	if err != nil {
		return Entry{}, false
	}
	var e Entry
	if json.Unmarshal(data, &e) != nil || e.check() != nil || e.Box != boxKey || e.SessionID == "" {
		return Entry{}, false
	}
	return e, true
}

// retire takes an entry out of the registry; that of a session which others could
// see becomes the record that it has been here. The caller holds the lock.
func (r *Registry) retire(name string, e Entry) error {
	if e.SessionID != "" && e.Listed() {
		if dir, err := r.dir("ended"); err == nil && os.Rename(name, filepath.Join(dir, e.Box+".json")) == nil {
			return nil
		}
		// The dead must go even where nothing can be remembered of them.
	}
	return os.Remove(name)
}

func (r *Registry) sweepEnded() error {
	names, err := r.names("ended")
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		key, ok := strings.CutSuffix(name, ".json")
		if !ok || !validKey(key) {
			continue
		}
		path := filepath.Join(r.home, "ended", name)
		info, err := os.Lstat(path)
		if err == nil && r.now().Sub(info.ModTime()) > endedTTL {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

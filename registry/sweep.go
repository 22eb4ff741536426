package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/private"
)

// statusTTL is how long the status of a session that is not live is kept: its
// SessionEnd removes it, unless the client was killed.
const statusTTL = 24 * time.Hour

// Sweep removes what nobody needs any more: entries of the dead, drops of clients
// that have ended, statuses of sessions that are gone, what is
// remembered of those that ended long ago, and temporary files that a
// crash left behind. It never touches mail.
func (r *Registry) Sweep() error {
	live, err := r.Live()
	if err != nil {
		return err
	}
	boxes := map[string]bool{}
	for _, e := range live {
		boxes[e.Box] = true
	}
	errs := []error{r.sweepDrops(), r.sweepStatus(boxes), r.sweepEnded()}
	for _, dir := range []string{"sessions", "drops"} {
		if err := private.Sweep(filepath.Join(r.home, dir)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepDrops holds the lock, so that a session that is resumed meanwhile keeps its
// new drop.
func (r *Registry) sweepDrops() error {
	names, err := r.names("drops")
	if err != nil || len(names) == 0 {
		return err
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	alive := liveness{}
	var errs []error
	for _, name := range names {
		key, ok := strings.CutSuffix(name, ".json")
		if !ok || !validKey(key) {
			continue
		}
		if d, err := r.readDrop(key); err == nil && !r.dropLives(d, alive) {
			errs = append(errs, r.RemoveDrop(key))
		}
	}
	return errors.Join(errs...)
}

func (r *Registry) sweepStatus(live map[string]bool) error {
	keys, err := r.names("status")
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		if !validKey(key) || live[key] {
			continue
		}
		info, err := os.Lstat(filepath.Join(r.home, "status", key))
		if err == nil && r.now().Sub(info.ModTime()) > statusTTL {
			errs = append(errs, r.RemoveStatus(key))
		}
	}
	return errors.Join(errs...)
}

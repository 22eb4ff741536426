package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"peermux/internal/private"
)

// BoxInfo is one line about a box.
type BoxInfo struct {
	Key     string    `json:"key"`
	Path    string    `json:"path"`
	Unshown int       `json:"unshown"`
	Open    int       `json:"open"`
	LastAt  time.Time `json:"last_at"` // when its journal last changed
	MovedTo string    `json:"moved_to,omitempty"`
}

// Boxes describes every box. It changes nothing.
func (s *Store) Boxes() ([]BoxInfo, error) {
	entries, err := os.ReadDir(filepath.Join(s.home, "boxes"))
	if err != nil {
		return nil, absent(err)
	}
	var boxes []BoxInfo
	for _, e := range entries {
		p, err := s.box(e.Name())
		if err != nil || !e.IsDir() {
			continue // not ours
		}
		info, err := s.info(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile, or without a journal
		}
		if err != nil {
			return boxes, err
		}
		boxes = append(boxes, info)
	}
	return boxes, nil
}

func (s *Store) info(p place) (BoxInfo, error) {
	fi, err := os.Lstat(p.path)
	if err != nil {
		return BoxInfo{}, err
	}
	st, err := s.state(p)
	if err != nil {
		return BoxInfo{}, err
	}
	info := BoxInfo{Key: p.key, Path: p.path, LastAt: fi.ModTime(), MovedTo: st.MovedTo}
	for _, it := range st.Items {
		if st.MovedTo != "" {
			break // what waited has gone along
		}
		if it.waits(p.repo) {
			info.Unshown++
		}
		if it.Open(p.repo) {
			info.Open++
		}
	}
	return info, nil
}

// GCOptions of GC.
type GCOptions struct {
	DryRun bool
	// Keep says that a box must stay, since somebody may still read it.
	Keep func(key string) bool
}

// GCAction is one thing that gc did, or would do.
type GCAction struct {
	Key    string `json:"key"`
	Action string `json:"action"` // removed, compacted
	Why    string `json:"why"`
}

// GC removes boxes that nobody needs: not kept by the caller, nothing unshown,
// nothing open, and unchanged for 30 days. The others are compacted.
func (s *Store) GC(o GCOptions) ([]GCAction, error) {
	boxes, err := s.Boxes()
	if err != nil {
		return nil, err
	}
	var done []GCAction
	var errs []error
	for _, b := range boxes {
		action, err := s.collect(b, o)
		if err != nil {
			errs = append(errs, err)
		} else if action.Action != "" {
			done = append(done, action)
		}
	}
	return done, errors.Join(errs...)
}

func (s *Store) collect(b BoxInfo, o GCOptions) (GCAction, error) {
	idle := s.now().Sub(b.LastAt)
	if b.Unshown > 0 || b.Open > 0 || idle < keepAge || o.Keep != nil && o.Keep(b.Key) {
		return GCAction{}, nil
	}
	action := GCAction{
		Key: b.Key, Action: "removed",
		Why: fmt.Sprintf("nothing unshown or open, and unchanged for %d days", int(idle.Hours()/24)),
	}
	if o.DryRun {
		return action, nil
	}
	return action, s.remove(b)
}

// remove deletes a box under its lock, if it is still as b describes it. Who
// waits for the lock finds the name gone and makes the box anew.
func (s *Store) remove(b BoxInfo) error {
	p, err := s.box(b.Key)
	if err != nil {
		return err
	}
	t, err := s.begin(p, false)
	if err != nil {
		return absent(err)
	}
	now, err := s.info(p)
	if err != nil || now != b {
		return t.abandon(err)
	}
	dir := filepath.Dir(p.path)
	err = private.Sweep(dir)
	for _, name := range []string{bellName, badName, journalName} {
		if e := os.Remove(filepath.Join(dir, name)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return t.abandon(errors.Join(err, os.Remove(dir)))
}

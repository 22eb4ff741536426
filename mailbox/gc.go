package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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

// Boxes describes every box. It changes nothing. A box that cannot be read does not
// keep the others from being listed: the error tells of it.
func (s *Store) Boxes() ([]BoxInfo, error) {
	entries, err := os.ReadDir(filepath.Join(s.home, "boxes"))
	if err != nil {
		return nil, absent(err)
	}
	var boxes []BoxInfo
	var errs []error
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
			errs = append(errs, err)
			continue
		}
		boxes = append(boxes, info)
	}
	return boxes, errors.Join(errs...)
}

func (s *Store) info(p place) (BoxInfo, error) {
	fi, err := os.Lstat(p.path)
	if err != nil {
		return BoxInfo{}, fmt.Errorf("mailbox: %w", err)
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return BoxInfo{}, err
	}
	info := BoxInfo{Key: p.key, Path: p.path, LastAt: fi.ModTime(), MovedTo: x.movedTo}
	x.each(func(e *entry) {
		it, ok := s.item(p, x, e, "")
		if !ok {
			return
		}
		if it.waits(p.repo) {
			info.Unshown++
		}
		if it.Open(p.repo) {
			info.Open++
		}
	})
	return info, nil
}

// GCOptions of GC.
type GCOptions struct {
	DryRun bool // say what would be done, and do nothing
	// Keep says that a box must stay, since somebody may still read it.
	Keep func(key string) bool
}

// GCAction is one thing that gc did, or would do.
type GCAction struct {
	Key    string `json:"key"`    // of a box or a feed
	Action string `json:"action"` // removed, compacted
	Why    string `json:"why"`
}

// GC removes the boxes that nobody needs: unchanged for 30 days (p-… boxes: for
// one), nothing unshown or open in them, and not kept by the caller. A repository's box that knows how
// far its repository has read the standing announcements stays. Feeds without a
// message that is younger go too. What is left is compacted where that pays, and
// what crashes left lying about is swept away.
func (s *Store) GC(o GCOptions) ([]GCAction, error) {
	boxes, err := s.Boxes()
	errs := []error{err}
	if !o.DryRun {
		errs = append(errs, s.removeHollow(boxes))
	}
	var places []place
	for _, b := range boxes {
		p, err := s.box(b.Key)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	feeds, err := os.ReadDir(filepath.Join(s.home, "feeds"))
	if absent(err) != nil {
		return nil, absent(err)
	}
	for _, e := range feeds {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			if p, err := s.feed(name); err == nil {
				places = append(places, p)
			}
		}
	}
	var done []GCAction
	for _, p := range places {
		action, err := s.collect(p, o)
		if errs = append(errs, err); action.Action != "" {
			done = append(done, action)
		}
	}
	return done, errors.Join(errs...)
}

// removeHollow deletes the folders of boxes whose removal broke off after the
// journal. A folder that is just being filled is not empty for long, and who fills
// it makes it again.
func (s *Store) removeHollow(boxes []BoxInfo) error {
	entries, err := os.ReadDir(filepath.Join(s.home, "boxes"))
	if err != nil {
		return absent(err)
	}
	whole := map[string]bool{}
	for _, b := range boxes {
		whole[b.Key] = true
	}
	var errs []error
	for _, e := range entries {
		if _, err := s.box(e.Name()); err == nil && e.IsDir() && !whole[e.Name()] {
			errs = append(errs, removeEmpty(filepath.Join(s.home, "boxes", e.Name())))
		}
	}
	return errors.Join(errs...)
}

// collect does what is to be done about one journal, under its lock: who waits for
// the lock then finds the name gone, or at another file, and goes there.
func (s *Store) collect(p place, o GCOptions) (GCAction, error) {
	t, err := s.begin(p, false)
	if err != nil {
		return GCAction{}, absent(err)
	}
	action, err := t.verdict(o)
	if o.DryRun || err != nil {
		return action, t.abandon(err)
	}
	switch action.Action {
	case "removed":
		err = t.remove()
	case "compacted":
		_, err = t.compact()
	}
	if err != nil {
		action = GCAction{}
	}
	return action, t.abandon(err)
}

// pendingAge is how long the box of a process that did not know its session stays.
const pendingAge = 24 * time.Hour

// gcCompactAt is how many bytes since the last compaction make gc compact.
const gcCompactAt = 32 << 10

func (t *tx) verdict(o GCOptions) (GCAction, error) {
	fi, err := t.f.Stat()
	if err != nil {
		return GCAction{}, err
	}
	v, err := t.whole()
	if err != nil {
		return GCAction{}, err
	}
	idle := t.s.now().Sub(fi.ModTime())
	st := t.s.replay(t.p, v)
	if idle >= t.lifetime() && !t.needed(st, o) {
		why := fmt.Sprintf("nothing unshown or open, and unchanged for %d days", int(idle.Hours()/24))
		if t.p.feed {
			why = fmt.Sprintf("no message for %d days", int(idle.Hours()/24))
		}
		return GCAction{Key: t.p.key, Action: "removed", Why: why}, nil
	}
	if grown := t.grown() - t.snap.kept; grown > gcCompactAt {
		return GCAction{Key: t.p.key, Action: "compacted", Why: fmt.Sprintf("grown by %d KiB", grown>>10)}, nil
	}
	return GCAction{}, nil
}

// lifetime is how long a journal that nobody needs stays. Every session begins with
// a p-… box, and those are left soon.
func (t *tx) lifetime() time.Duration {
	if strings.HasPrefix(t.p.key, "p-") {
		return pendingAge
	}
	return keepAge
}

// needed reports whether a journal must stay however old it is.
func (t *tx) needed(st *State, o GCOptions) bool {
	if !t.p.feed && o.Keep != nil && o.Keep(t.p.key) || t.p.repo && len(st.Cursors) > 0 {
		return true
	}
	for i := range st.Items {
		it := &st.Items[i]
		switch {
		case t.p.feed && t.p.key == FeedRepos && it.Closed == "":
			return true
		case !t.p.feed && (it.waits(t.p.repo) || it.Open(t.p.repo)):
			return true
		}
	}
	return false
}

func (t *tx) remove() error {
	if t.p.feed {
		return errors.Join(os.Remove(t.p.path), remove(badPath(t.p)))
	}
	dir := filepath.Dir(t.p.path)
	return errors.Join(
		private.Sweep(dir),
		remove(filepath.Join(dir, bellName)),
		remove(badPath(t.p)),
		os.Remove(t.p.path),
		removeEmpty(dir))
}

// removeEmpty deletes a folder unless somebody has put something into it.
func removeEmpty(dir string) error {
	if err := os.Remove(dir); !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove deletes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

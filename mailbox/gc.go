package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	// To is whom the latest of those messages was sent to.
	To      Party  `json:"to,omitzero"`
	MovedTo string `json:"moved_to,omitempty"`
}

// Boxes describes every box. It changes nothing. A box that cannot be read does not
// keep the others from being listed: the error tells of it.
func (s *Store) Boxes() ([]BoxInfo, error) {
	places, err := s.places()
	errs := []error{err}
	var boxes []BoxInfo
	for _, p := range places {
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

// places are the folders that are boxes, with or without a journal.
func (s *Store) places() ([]place, error) {
	entries, err := os.ReadDir(filepath.Join(s.home, "boxes"))
	if err != nil {
		return nil, named(absent(err))
	}
	var places []place
	for _, e := range entries {
		if p, err := s.box(e.Name()); err == nil && e.IsDir() {
			places = append(places, p)
		}
	}
	return places, nil
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
		waits, open := it.waits(p.repo), it.Open(p.repo)
		if waits {
			info.Unshown++
		}
		if open {
			info.Open++
		}
		if waits || open {
			info.To = it.To
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
// one), nothing unshown or open in them, no move into or out of them that broke
// off, and not kept by the caller. One that moved stays as long as the box that it
// moved to. A repository's box that knows how far its repository has read the
// standing announcements stays. Feeds without a message that
// is younger go too. What is left is compacted where that pays, and what crashes
// left lying about is swept away. A journal that is young and has not grown costs one
// system call, and is not locked.
func (s *Store) GC(o GCOptions) ([]GCAction, error) {
	places, err := s.journals()
	if err != nil {
		return nil, err
	}
	var done []GCAction
	var errs []error
	for _, p := range places {
		action, err := s.collect(p, o)
		if errs = append(errs, err); action.Action != "" {
			done = append(done, action)
		}
	}
	return done, errors.Join(errs...)
}

// journals lists all boxes, also those without a journal, and all feeds.
func (s *Store) journals() (all []place, err error) {
	all, err = s.places()
	if err != nil {
		return nil, err
	}
	feeds, err := os.ReadDir(filepath.Join(s.home, "feeds"))
	if absent(err) != nil {
		return nil, named(absent(err))
	}
	for _, e := range feeds {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			if p, err := s.feed(name); err == nil {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// collect does what is to be done about one journal, under its lock: who waits for
// the lock then finds the name gone, or at another file, and goes there.
func (s *Store) collect(p place, o GCOptions) (GCAction, error) {
	if idle, err := s.idles(p, o); idle || err != nil {
		return GCAction{}, err
	}
	begin := s.beginArrived
	if o.DryRun || p.feed {
		begin = func(p place) (*tx, error) { return s.begin(p, false) }
	}
	t, err := begin(p)
	if err != nil {
		return GCAction{}, absent(err)
	}
	action, err := t.verdict(o)
	if o.DryRun || err != nil {
		return action, t.abandon(err)
	}
	done := true
	switch action.Action {
	case "removed":
		err = t.remove()
	case "compacted":
		done, err = t.compact()
	}
	if err != nil || !done {
		action = GCAction{}
	}
	return action, t.abandon(err)
}

// idles reports, without the lock, whether nothing is to be done about a journal.
// Of a box without one the folder goes: its removal broke off after the journal. A
// folder that is just being filled is not empty for long, and who fills it makes it
// again.
func (s *Store) idles(p place, o GCOptions) (bool, error) {
	fi, err := os.Lstat(p.path)
	if errors.Is(err, fs.ErrNotExist) && !p.feed && !o.DryRun {
		return true, removeEmpty(filepath.Dir(p.path))
	}
	if err != nil {
		return true, named(absent(err))
	}
	switch {
	case !fi.Mode().IsRegular() || s.now().Sub(fi.ModTime()) >= p.lifetime():
		return false, nil
	case fi.Size() <= gcCompactAt:
		return true, nil
	}
	v, err := s.peek(p, false)
	return v.grown(p)-v.kept <= gcCompactAt, err
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
	idle := t.s.now().Sub(fi.ModTime())
	if idle >= t.p.lifetime() {
		if needed, err := t.needed(o); err != nil {
			return GCAction{}, err
		} else if !needed {
			why := fmt.Sprintf("nothing unshown or open, and unchanged for %d days", int(idle.Hours()/24))
			if t.p.feed {
				why = fmt.Sprintf("no message for %d days", int(idle.Hours()/24))
			}
			return GCAction{Key: t.p.key, Action: "removed", Why: why}, nil
		}
	}
	if grown := t.snap.grown(t.p) - t.snap.kept; grown > gcCompactAt {
		return GCAction{Key: t.p.key, Action: "compacted", Why: fmt.Sprintf("grown by %d KiB", grown>>10)}, nil
	}
	return GCAction{}, nil
}

// lifetime is how long a journal that nobody needs stays. Every session begins with
// a p-… box, and those are left soon.
func (p place) lifetime() time.Duration {
	if strings.HasPrefix(p.key, "p-") {
		return pendingAge
	}
	return keepAge
}

// needed reports whether a journal must stay however old it is.
func (t *tx) needed(o GCOptions) (bool, error) {
	if !t.p.feed && (o.Keep != nil && o.Keep(t.p.key) || t.idx.pending() > 0 || len(t.idx.adopts) > 0) {
		return true, nil // without decoding what is settled
	}
	if t.p.lifetime() == keepAge && t.idx.movedTo != "" {
		// Who has its key - in a task that is open for months, say - finds through it
		// where it went, as long as there is something to find.
		_, err := os.Lstat(JournalPath(t.s.home, t.idx.movedTo))
		if !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	leaving, err := t.leaving()
	if err != nil || leaving {
		return true, err
	}
	v, err := t.whole()
	if err != nil {
		return true, err
	}
	st := t.s.replay(t.p, v)
	if t.p.repo && len(st.Cursors) > 0 {
		return true, nil
	}
	return slices.ContainsFunc(st.Items, func(it Item) bool {
		if t.p.feed {
			return t.p.key == FeedRepos && it.Closed == ""
		}
		return it.waits(t.p.repo) || it.Open(t.p.repo)
	}), nil
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

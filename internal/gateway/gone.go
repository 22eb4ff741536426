package gateway

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

const (
	// goneFor is how long a folder stays in gone/ once the app is back.
	goneFor = 24 * time.Hour
	// receiptFor is how long receipts stay that the app does not remove itself.
	receiptFor = 7 * 24 * time.Hour
	// noticedName marks a folder in gone/ from when on the app was there.
	noticedName = ".noticed"
)

const whyEnded = "the session ended before it took this message; nothing was delivered"

// sweep removes what belongs to nobody any more: the folders of ended sessions,
// and in gone/ what the app has left lying for a day.
func (d *door) sweep() error {
	if err := d.recover(); err != nil {
		return err
	}
	all, err := d.folders(d.app.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range all {
		if _, ok := d.owner(f, all); ok {
			errs = append(errs, d.dropOldReceipts(f))
		} else {
			errs = append(errs, d.retire(f))
		}
	}
	past, err := d.folders(d.path(goneName))
	for _, f := range past {
		errs = append(errs, d.settle(f))
	}
	return errors.Join(append(errs, err)...)
}

// retire takes an ended session's folder away. It is moved before it is looked at:
// from then on the app can drop nothing into it.
func (d *door) retire(f folder) error {
	if err := private.Dir(d.path(goneName)); err != nil {
		return err
	}
	base := d.path(goneName, filepath.Base(f.path))
	to := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.%d", base, n)
	}
	if err := os.Rename(f.path, to); err != nil {
		return err
	}
	f.path = to
	return d.settle(f)
}

// settle brings a folder in gone/ to its end: drops that nobody took get their
// receipt, and it is removed when nothing is left to collect, or when the app has
// been back for a day.
func (d *door) settle(f folder) error {
	if f.card.EndedAt.IsZero() {
		f.card.EndedAt = d.now.UTC()
		if err := f.writeCard(); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(f.path, statusName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	refused, err := d.refuseRest(f)
	if err != nil {
		return err
	}
	left, err := messages(f.out())
	if err != nil {
		return err
	}
	if len(left) == 0 && refused == 0 {
		return os.RemoveAll(f.path)
	}
	over, err := d.overdue(f)
	if err != nil || !over {
		return err
	}
	return os.RemoveAll(f.path)
}

// overdue reports whether the app has been there for a day since the session ended.
// While it is away, what is due to it stays.
func (d *door) overdue(f folder) (bool, error) {
	mark := filepath.Join(f.path, noticedName)
	if at, ok := readTime(mark); ok {
		return d.now.Sub(at) >= goneFor, nil
	}
	if at, ok := readTime(d.path(activeName)); ok && at.After(f.card.EndedAt) {
		return false, writeTime(mark, d.now)
	}
	return false, nil
}

// active records that the app did something: it dropped or collected a message.
func (d *door) active() error { return writeTime(d.path(activeName), d.now) }

func readTime(path string) (time.Time, bool) {
	data, err := private.ReadFile(path, 64)
	if err != nil {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	return at, err == nil
}

func writeTime(path string, at time.Time) error {
	return private.WriteFile(path, []byte(at.UTC().Format(time.RFC3339)+"\n"))
}

// refuseRest sets the drops aside that a session did not take before it ended, and
// counts all that were set aside. A drop that was being taken may have been.
func (d *door) refuseRest(f folder) (int, error) {
	entries, err := os.ReadDir(f.in())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	refused := 0
	for _, e := range entries {
		name := e.Name()
		id, half := hidden(name, takingSuffix)
		if !half {
			var fresh bool
			if id, fresh = messageFile(name); !fresh {
				if strings.HasSuffix(name, badSuffix) {
					refused++
				}
				continue
			}
			if err := os.Rename(f.in(name), taking(f, id)); err != nil {
				return refused, err
			}
		}
		if it, err := d.board.Store.Find(f.card.Box, id); err == nil && it.From.Box == d.app.Box() {
			if err := os.Rename(taking(f, id), f.in(id+seenSuffix)); err != nil {
				return refused, err
			}
			continue
		}
		if err := d.refuse(f, id, whyEnded); err != nil {
			return refused, err
		}
		refused++
	}
	return refused, nil
}

// dropOldReceipts keeps in/ of a session that runs for weeks small.
func (d *door) dropOldReceipts(f folder) error {
	entries, err := os.ReadDir(f.in())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), seenSuffix) {
			continue
		}
		info, err := e.Info()
		if err != nil || d.now.Sub(info.ModTime()) < receiptFor {
			continue // gone meanwhile, or young
		}
		if err := os.Remove(f.in(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

package gateway

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"peermux/internal/private"
	"peermux/mailbox"
	"peermux/registry"
)

// Suffixes in out/.
const (
	outSuffix  = ".out"
	backSuffix = ".back"
)

// viaGateway is how message_status names a file in out/.
const viaGateway = "gateway"

// putBatch is how many messages are claimed at a time: a claim holds for a minute.
const putBatch = 50

// flush puts what waits in the app's box into the folders of its senders.
func (d *door) flush() error {
	for {
		n, err := d.board.Store.Pending(d.app.Box())
		if err != nil || n == 0 {
			return err
		}
		if err := d.recover(); err != nil {
			return err
		}
		claim, err := d.board.Store.Claim(d.app.Box(), mailbox.ClaimOptions{
			Reader: registry.ToApp + ":" + d.app.Name, Via: viaGateway, Limit: putBatch,
			PID: d.actor.Process.PID, Start: d.actor.Process.Start,
		})
		if err != nil || len(claim.Messages) == 0 {
			return err
		}
		if err := d.put(claim); err != nil {
			return err
		}
	}
}

// put writes claimed messages. They are whole on the disk before they are recorded
// as shown, and recorded before they get the name that the app looks for.
func (d *door) put(claim *mailbox.Claim) error {
	var staged []string // paths of the files to come
	var ids []string
	for _, it := range claim.Messages {
		dir, err := d.outFor(it.From)
		if err == nil {
			err = stage(dir, it.ID, letterOf(it.Message, d.app.Name).Format())
		}
		if err != nil {
			return errors.Join(err, claim.Release(), unstage(staged))
		}
		staged = append(staged, filepath.Join(dir, it.ID+".md"))
		ids = append(ids, it.ID)
	}
	if err := claim.ShownOnly(ids); err != nil {
		return err // what was recorded is told by the journal, see recover
	}
	for _, path := range staged {
		if err := os.Rename(stagedName(path), path); err != nil {
			return err
		}
	}
	return nil
}

// stagedName is where the file that is to appear at path waits.
func stagedName(path string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, "."+strings.TrimSuffix(name, ".md")+outSuffix)
}

func stage(dir, id string, data []byte) error {
	path := filepath.Join(dir, "."+id+outSuffix)
	f, err := private.Open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = private.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return private.SyncDir(dir)
}

func unstage(paths []string) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, os.Remove(stagedName(path)))
	}
	return errors.Join(errs...)
}

// outFor is the out/ folder for what a sender sends: its own, else the door's,
// for people at a terminal, other apps, and sessions out of reach or ended.
func (d *door) outFor(from mailbox.Party) (string, error) {
	if from.SessionID != "" {
		box := from.Box
		if box == "" {
			box = mailbox.SessionKey(from.SessionID)
		}
		box = d.board.Store.Resolve(box)
		for _, e := range d.live {
			if e.Box == box {
				f, err := d.ensure(e)
				return f.out(), err
			}
		}
	}
	dir := d.path(outName)
	return dir, private.Dir(dir)
}

// outs lists every out/ folder of the door.
func (d *door) outs() ([]string, error) {
	list := []string{d.path(outName)}
	for _, dir := range []string{d.app.Dir, d.path(goneName)} {
		folders, err := d.folders(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range folders {
			list = append(list, f.out())
		}
	}
	return list, nil
}

// recover finishes what one who died has begun in the out/ folders.
func (d *door) recover() error {
	outs, err := d.outs()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range outs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range entries {
			if id, ok := hidden(e.Name(), outSuffix); ok {
				errs = append(errs, d.finish(dir, e.Name(), id, func(it mailbox.Item) bool { return len(it.Shown) > 0 && it.Closed == "" }))
			} else if id, ok := hidden(e.Name(), backSuffix); ok {
				errs = append(errs, d.finish(dir, e.Name(), id, func(it mailbox.Item) bool { return it.Closed == "" }))
			}
		}
	}
	return errors.Join(errs...)
}

// finish lets a hidden file appear if the journal says so, and removes it if not.
func (d *door) finish(dir, name, id string, appears func(mailbox.Item) bool) error {
	it, err := d.board.Store.Find(d.app.Box(), id)
	if err != nil && !errors.Is(err, mailbox.ErrUnknownMessage) {
		return err
	}
	path := filepath.Join(dir, name)
	// What compaction has dropped was shown long ago.
	if err != nil || appears(it) {
		return os.Rename(path, filepath.Join(dir, id+".md"))
	}
	return os.Remove(path)
}

// takeBack withdraws a message for the app, if the app has not collected it: the
// rename decides between the two.
func (d *door) takeBack(id string) (inTime bool, err error) {
	if err := d.recover(); err != nil {
		return false, err
	}
	inTime, err = d.board.Store.Withdraw(d.app.Box(), id)
	if err != nil || inTime {
		return inTime, err
	}
	outs, err := d.outs()
	if err != nil {
		return false, err
	}
	for _, dir := range outs {
		back := filepath.Join(dir, "."+id+backSuffix)
		err := os.Rename(filepath.Join(dir, id+".md"), back)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if err := d.board.Store.Recall(d.app.Box(), id); err != nil {
			return false, errors.Join(err, os.Rename(back, filepath.Join(dir, id+".md")))
		}
		return true, os.Remove(back)
	}
	return false, nil
}

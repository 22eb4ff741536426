package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// Door is what `peermux gateway list` tells of an app. The tags are the keys of
// --json.
type Door struct {
	App
	Sessions []Folder `json:"sessions"`
	// Uncollected counts the messages for the app: in out/ folders, and those that
	// wait in its box for a server to put them there.
	Uncollected int    `json:"uncollected"`
	Problem     string `json:"problem,omitempty"` // why nobody works in it
}

// Folder is one session's folder.
type Folder struct {
	Folder      string `json:"folder"`
	Name        string `json:"name"`
	SessionID   string `json:"session_id"`
	Status      string `json:"status"`
	Untaken     int    `json:"untaken"` // drops that wait in in/
	SetAside    int    `json:"set_aside"`
	Uncollected int    `json:"uncollected"`
}

// List describes all doors, after removing what belongs to ended sessions.
func List(h Host) ([]Door, error) {
	apps, err := Apps(h.Board.Home)
	if err != nil {
		return nil, err
	}
	doors := []Door{}
	for _, app := range apps {
		one := Door{App: app, Sessions: []Folder{}}
		if err := one.look(h); err != nil {
			one.Problem = err.Error()
		}
		doors = append(doors, one)
	}
	return doors, nil
}

func (o *Door) look(h Host) error {
	d, leave, err := enter(h.Board, o.Name, h.Self)
	if err != nil {
		return err
	}
	defer leave()
	if err := errors.Join(d.flush(), d.sweep()); err != nil {
		return err
	}
	all, err := d.folders(d.app.Dir)
	if err != nil {
		return err
	}
	for _, f := range all {
		row := Folder{Folder: filepath.Base(f.path), Name: f.card.Name, SessionID: f.card.SessionID}
		if word, err := os.ReadFile(filepath.Join(f.path, statusName)); err == nil {
			row.Status = strings.TrimSpace(string(word))
		}
		row.Untaken, row.SetAside = count(f.in(), ""), count(f.in(), badSuffix)
		row.Uncollected = count(f.out(), "")
		o.Sessions = append(o.Sessions, row)
	}
	o.Uncollected, err = d.uncollected()
	return err
}

// count counts the messages in a folder, or the names with a suffix. A folder that
// is gone has none.
func count(dir, suffix string) int {
	if suffix == "" {
		ids, err := messages(dir)
		if err != nil {
			return 0
		}
		return len(ids)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			n++
		}
	}
	return n
}

// uncollected counts what the app has not got yet.
func (d *door) uncollected() (int, error) {
	n, err := d.board.Store.Pending(d.app.Box())
	if err != nil {
		return 0, err
	}
	outs, err := d.outs()
	for _, dir := range outs {
		n += count(dir, "")
	}
	return n, err
}

// Remove takes an app's door away, with everything that peermux made in it. Mail
// that the app has not collected keeps it, unless force is set.
func Remove(h Host, name string, force bool) error {
	apps, err := Apps(h.Board.Home)
	if err != nil {
		return err
	}
	app, ok := find(apps, name)
	if !ok {
		return unknownApp(name, apps)
	}
	unlock, err := lock(h.Board.Home, "gateway-"+app.Box())
	if err != nil {
		return err
	}
	defer unlock()
	d := &door{board: h.Board, app: app, actor: switchboard.AppActor(name, h.Self), now: h.Board.Now()}
	n, err := d.uncollected()
	if err != nil {
		return err
	}
	if n > 0 && !force {
		return problem("collect it, or: peermux gateway remove "+name+" --force", "%s has not collected %d message(s), which would be lost", name, n)
	}
	err = change(h.Board.Home, func(apps []App) ([]App, error) {
		var kept []App
		for _, a := range apps {
			if a.Name != name {
				kept = append(kept, a)
			}
		}
		return kept, nil
	})
	if err != nil {
		return err
	}
	return d.clear()
}

// clear removes what peermux made in a door, and the door itself when it is in
// peermux's own folder or nothing else is in it. What others put there stays.
func (d *door) clear() error {
	var errs []error
	all, err := d.folders(d.app.Dir)
	for _, f := range all {
		errs = append(errs, os.RemoveAll(f.path))
	}
	errs = append(errs, err, os.RemoveAll(d.path(goneName)), os.RemoveAll(d.path(outName)), os.RemoveAll(d.path(activeName)))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	left, err := os.ReadDir(d.app.Dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(left) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(d.app.Dir)
}

// Retract withdraws an own message: one to an app that the app has not collected,
// else a broadcast.
func Retract(ctx context.Context, h Host, a switchboard.Actor, id string) (switchboard.RetractResult, error) {
	it, key, ok := h.Board.SentToApp(a, id)
	if !ok {
		return h.Board.Retract(ctx, a, id)
	}
	inTime, err := retract(h, it, key)
	if err != nil {
		return switchboard.RetractResult{}, switchboard.AsError(err)
	}
	if !inTime && it.Closed != "retracted" {
		return switchboard.RetractResult{}, switchboard.Refuse(switchboard.CodeAlreadyClosed, "app:%s has collected message %s already; send it a correction", it.To.Name, id)
	}
	return switchboard.RetractResult{OK: true, MessageID: id, State: "retracted", Note: "the app had not collected it"}, nil
}

func retract(h Host, it mailbox.Item, key string) (inTime bool, err error) {
	d, leave, err := enter(h.Board, it.To.Name, h.Self)
	if errors.Is(err, errRemoved) {
		return h.Board.Store.Withdraw(key, it.ID)
	}
	if err != nil {
		return false, err
	}
	defer leave()
	return d.takeBack(it.ID)
}

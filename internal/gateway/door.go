package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/project"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// Names in a door.
const (
	cardName   = "session.json"
	statusName = "status"
	inName     = "in"
	outName    = "out"
	goneName   = "gone"
	activeName = ".active"
)

// card is session.json: who a folder belongs to.
type card struct {
	V         int       `json:"v"`
	Name      string    `json:"name"`
	SessionID string    `json:"session_id"`
	Client    string    `json:"client"`
	Version   string    `json:"client_version,omitempty"`
	Project   string    `json:"project,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	CWD       string    `json:"cwd,omitempty"`
	Pane      string    `json:"pane,omitempty"`
	Purpose   string    `json:"purpose,omitempty"`
	PID       int       `json:"pid,omitempty"`       // the client's process
	PIDStart  string    `json:"pid_start,omitempty"` // when that process began
	Box       string    `json:"box"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // in gone/ only
}

func cardOf(e registry.Entry) card {
	c := card{
		V: 1, Name: e.Name, SessionID: e.SessionID, Client: e.Client.Kind, Version: e.Client.Version, Project: e.Project,
		Branch: e.Branch, CWD: e.CWD, Purpose: e.State.Purpose, PID: e.Client.PID, PIDStart: e.Client.Start, Box: e.Box,
	}
	if e.Tmux != nil {
		c.Pane = e.Tmux.Pane
	}
	return c
}

// folder is one session's folder, with what its card says.
type folder struct {
	path string
	card card
}

func (f folder) in(elem ...string) string {
	return filepath.Join(append([]string{f.path, inName}, elem...)...)
}

func (f folder) out(elem ...string) string {
	return filepath.Join(append([]string{f.path, outName}, elem...)...)
}

// door is one app's folder, worked in under its lock.
type door struct {
	board *switchboard.Board
	app   App
	actor switchboard.Actor
	live  []registry.Entry
	now   time.Time
}

// errRemoved says that the app is not there any more.
var errRemoved = errors.New("the app was removed")

// enter locks a door. The app is read again under the lock, since it may have been
// removed or changed meanwhile.
func enter(b *switchboard.Board, name string, self proc.ID) (d *door, leave func(), err error) {
	leave, err = lock(b.Home, "gateway-"+mailbox.AppKey(name))
	if err != nil {
		return nil, nil, err
	}
	apps, err := Apps(b.Home)
	if err != nil {
		leave()
		return nil, nil, err
	}
	app, ok := find(apps, name)
	if !ok {
		leave()
		return nil, nil, errRemoved
	}
	d = &door{board: b, app: app, actor: switchboard.AppActor(name, self), now: b.Now()}
	if err := checkDoor(app.Dir); err != nil {
		leave()
		return nil, nil, err
	}
	if d.live, err = reached(b, app); err != nil {
		leave()
		return nil, nil, err
	}
	return d, leave, nil
}

// reached lists the live sessions that an app has folders for.
func reached(b *switchboard.Board, app App) ([]registry.Entry, error) {
	live, err := b.Registry.Peek()
	if err != nil {
		return nil, err
	}
	groups, err := project.LoadGroups(b.Home)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(live, func(e registry.Entry) bool { return !app.reaches(e, groups) }), nil
}

func (d *door) path(elem ...string) string {
	return filepath.Join(append([]string{d.app.Dir}, elem...)...)
}

// folders lists the sessions' folders under dir: the door, or gone/.
func (d *door) folders(dir string) ([]folder, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []folder
	for _, e := range entries {
		if !e.IsDir() || !strings.Contains(e.Name(), "--") {
			continue
		}
		f := folder{path: filepath.Join(dir, e.Name())}
		// A folder that just came, or that somebody else made, has no card.
		if data, err := private.ReadFile(filepath.Join(f.path, cardName), 1<<16); err == nil && json.Unmarshal(data, &f.card) == nil {
			list = append(list, f)
		}
	}
	return list, nil
}

// owner finds the live session that a folder belongs to; each session has one.
func (d *door) owner(f folder, all []folder) (registry.Entry, bool) {
	for _, e := range d.live {
		if own, ok := d.pick(e, all); ok && own.path == f.path {
			return e, true
		}
	}
	return registry.Entry{}, false
}

// pick finds a session's folder: the one with its id, else one whose box goes on as
// its box, else one of the same client process, which got a new id a moment ago.
func (d *door) pick(e registry.Entry, all []folder) (folder, bool) {
	var best folder
	rank := 0
	for _, f := range all {
		if r := d.rank(e, f.card); r > rank {
			best, rank = f, r
		}
	}
	return best, rank > 0
}

func (d *door) rank(e registry.Entry, c card) int {
	if c.SessionID == e.SessionID {
		return 3
	}
	if slices.ContainsFunc(d.live, func(other registry.Entry) bool { return other.SessionID == c.SessionID }) {
		return 0 // somebody else's
	}
	switch {
	case c.Box != "" && d.board.Store.Resolve(c.Box) == e.Box:
		return 2
	// One process of Claude's is one session at a time; Codex's daemon is many.
	case e.Client.Kind == registry.Claude && c.PID != 0 && c.PID == e.Client.PID && c.PIDStart == e.Client.Start:
		return 1
	}
	return 0
}

// ensure finds or makes the folder of a live session, and brings its card up to
// date. One that is in gone/ comes back: the session goes on.
func (d *door) ensure(e registry.Entry) (folder, error) {
	all, err := d.folders(d.app.Dir)
	if err != nil {
		return folder{}, err
	}
	f, ok := d.pick(e, all)
	if !ok {
		if f, err = d.makeFolder(e); err != nil {
			return folder{}, err
		}
	}
	for _, dir := range []string{f.path, f.in(), f.out()} {
		if err := private.Dir(dir); err != nil {
			return folder{}, err
		}
	}
	if want := cardOf(e); f.card != want {
		f.card = want
		return f, f.writeCard()
	}
	return f, nil
}

func (f folder) writeCard() error {
	data, err := json.MarshalIndent(f.card, "", "  ")
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(f.path, cardName), append(data, '\n'))
}

// makeFolder makes a folder, or takes back the session's own out of gone/.
func (d *door) makeFolder(e registry.Entry) (folder, error) {
	past, err := d.folders(d.path(goneName))
	if err != nil {
		return folder{}, err
	}
	old, ended := d.pick(e, past)
	for _, name := range folderNames(e) {
		f := folder{path: d.path(name)}
		if ended {
			// Never onto a folder that is there; the door's lock keeps it so.
			if _, err := os.Lstat(f.path); err == nil {
				continue
			}
			return folder{path: f.path}, os.Rename(old.path, f.path)
		}
		if err := os.Mkdir(f.path, 0o700); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		// A folder without a card is ours from a start that was cut short.
		if _, err := os.Lstat(filepath.Join(f.path, cardName)); errors.Is(err, fs.ErrNotExist) {
			return f, nil
		}
	}
	return folder{}, fmt.Errorf("%s: every name for the folder of session %s is taken; move the others away", d.app.Dir, e.SessionID)
}

// folderNames are the names that a session's folder may get, the best first.
func folderNames(e registry.Entry) []string {
	name := plain(e.Name, 40)
	id := plain(e.SessionID, 64)
	var names []string
	for _, n := range []int{8, 13, 64} {
		names = append(names, name+"--"+strings.TrimRight(id[:min(n, len(id))], "-."))
	}
	return slices.Compact(names)
}

// plain reduces a name to what is harmless in a path and in a shell.
func plain(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() == limit {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	text := b.String()
	for strings.Contains(text, "--") {
		text = strings.ReplaceAll(text, "--", "-")
	}
	if text = strings.Trim(text, "-."); text == "" {
		return "session"
	}
	return text
}

// publish writes the session's status when it changed.
func (f folder) publish(word string) error {
	path := filepath.Join(f.path, statusName)
	if word == registry.Unknown || word == "" {
		// Neither the client nor a hook has said anything: no turn has begun.
		word = registry.Idle
	}
	if data, err := private.ReadFile(path, 64); err == nil && string(data) == word+"\n" {
		return nil
	}
	return private.WriteFile(path, []byte(word+"\n"))
}

// messageFile is the ULID of a file that counts: <ULID>.md.
func messageFile(name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(name, ".md")
	return id, ok && mailbox.ValidID(id)
}

// hidden is the ULID of a dot file with a suffix: .<ULID>.taking.
func hidden(name, suffix string) (id string, ok bool) {
	if id, ok = strings.CutPrefix(name, "."); !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, suffix)
	return id, ok && mailbox.ValidID(id)
}

// messages lists the ULIDs of the messages in a folder, oldest first.
func messages(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if id, ok := messageFile(e.Name()); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

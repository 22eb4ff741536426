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

	"golang.org/x/sys/unix"

	"peermux/internal/private"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// Scopes of an app: which sessions it has folders for.
const (
	ScopeProject = "project"
	ScopeGroup   = "group"
	ScopeGlobal  = "global"
)

// Limits of --wait, in minutes.
const (
	MinWait = 1
	MaxWait = 1440
)

// App is an app as gateway.json has it.
type App struct {
	Name  string `json:"name"`
	Dir   string `json:"dir"` // its door
	Scope string `json:"scope"`
	// Project is where it was added: with scope project or group, the sessions
	// around it are in reach.
	Project string `json:"project,omitempty"`
	// WaitMinutes is how long a session waits for its user before the app is
	// told; 0 is never.
	WaitMinutes int       `json:"wait_minutes,omitempty"`
	AddedAt     time.Time `json:"added_at"`
}

// Box is the app's box.
func (a App) Box() string { return mailbox.AppKey(a.Name) }

// reaches reports whether the app has a folder for this session.
func (a App) reaches(e registry.Entry, groups project.Groups) bool {
	if e.SessionID == "" || !e.Listed() {
		return false
	}
	switch a.Scope {
	case ScopeProject:
		return e.Project == a.Project
	case ScopeGroup:
		group := groups.Of(a.Project)
		return e.Project == a.Project || group != "" && groups.Of(e.Project) == group
	}
	return true
}

// ConfigPath is the file that lists the apps.
func ConfigPath(home string) string { return filepath.Join(home, "gateway.json") }

type config struct {
	V    int   `json:"v"`
	Apps []App `json:"apps"`
}

// Problem is a request that cannot be granted, with what to do about it.
type Problem struct {
	Message, Hint string
	Misuse        bool // the words of the request are wrong, whatever the state
	Unknown       bool // there is no such app
}

func (p *Problem) Error() string { return p.Message }

func problem(hint, format string, args ...any) error {
	return &Problem{Message: fmt.Sprintf(format, args...), Hint: hint}
}

func misuse(hint, format string, args ...any) error {
	return &Problem{Message: fmt.Sprintf(format, args...), Hint: hint, Misuse: true}
}

// Apps lists the apps by name.
func Apps(home string) ([]App, error) {
	data, err := private.ReadFile(ConfigPath(home), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w); mend it, or remove it and add the apps again", ConfigPath(home), err)
	}
	slices.SortFunc(c.Apps, func(a, b App) int { return strings.Compare(a.Name, b.Name) })
	return c.Apps, nil
}

// find is the app with this name.
func find(apps []App, name string) (App, bool) {
	i := slices.IndexFunc(apps, func(a App) bool { return a.Name == name })
	if i < 0 {
		return App{}, false
	}
	return apps[i], true
}

// change rewrites gateway.json under its lock. Without an error from edit, what
// it returns is written.
func change(home string, edit func([]App) ([]App, error)) error {
	unlock, err := lock(home, "gateway")
	if err != nil {
		return err
	}
	defer unlock()
	apps, err := Apps(home)
	if err != nil {
		return err
	}
	if apps, err = edit(apps); err != nil {
		return err
	}
	data, err := json.MarshalIndent(config{V: 1, Apps: apps}, "", "  ")
	if err != nil {
		return err
	}
	return private.WriteFile(ConfigPath(home), append(data, '\n'))
}

func lock(home, name string) (unlock func(), err error) {
	if err := private.Dir(home); err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "locks")
	if err := private.Dir(dir); err != nil {
		return nil, err
	}
	return private.Lock(filepath.Join(dir, name))
}

// AddRequest describes a new app.
type AddRequest struct {
	Name    string
	Dir     string // absolute; empty is gateway/NAME in the peermux home
	Scope   string // empty is global
	Project string // root of the project in which it is added
	Now     time.Time
}

// Add makes a door for an app. Adding the same one again changes nothing.
func Add(home string, r AddRequest) (App, error) {
	app := App{Name: r.Name, Dir: r.Dir, Scope: r.Scope, AddedAt: r.Now.UTC().Truncate(time.Second)}
	if err := checkName(r.Name); err != nil {
		return App{}, err
	}
	if app.Scope == "" {
		app.Scope = ScopeGlobal
	}
	if !slices.Contains([]string{ScopeProject, ScopeGroup, ScopeGlobal}, app.Scope) {
		return App{}, misuse("leave --scope out for all sessions of this user", "scope %q: must be project, group or global", app.Scope)
	}
	if app.Scope != ScopeGlobal {
		app.Project = r.Project
	}
	own := app.Dir == ""
	if own {
		app.Dir = filepath.Join(home, "gateway", app.Name)
	}
	app.Dir = filepath.Clean(app.Dir)
	err := change(home, func(apps []App) ([]App, error) {
		if old, ok := find(apps, app.Name); ok {
			if old.Dir != app.Dir || old.Scope != app.Scope || old.Project != app.Project {
				return nil, problem("remove it first: peermux gateway remove "+app.Name, "there is an app %s already, with the folder %s and scope %s", old.Name, old.Dir, old.Scope)
			}
			app = old
			return apps, makeDoor(home, app.Dir, own)
		}
		for _, other := range apps {
			if strings.EqualFold(other.Name, app.Name) {
				return nil, problem("", "there is an app %s already, whose name differs in case only", other.Name)
			}
			if within(other.Dir, app.Dir) || within(app.Dir, other.Dir) {
				return nil, problem("choose another folder", "%s would share its folder with the app %s (%s)", app.Name, other.Name, other.Dir)
			}
		}
		return append(apps, app), makeDoor(home, app.Dir, own)
	})
	return app, err
}

// checkName refuses what is no name, and names that mean somebody else.
func checkName(name string) error {
	if err := project.ValidName(name); err != nil {
		return misuse("choose a short name such as voice or ci", "app %q: %v", name, err)
	}
	if slices.Contains([]string{"user", "claude", "codex", "peermux"}, strings.ToLower(name)) {
		return misuse("choose another name", "app %q: that name means somebody else", name)
	}
	return nil
}

func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// makeDoor makes the app's folder. One that the user names is never changed: it
// has to be private already.
func makeDoor(home, dir string, own bool) error {
	if own {
		if err := private.Dir(filepath.Join(home, "gateway")); err != nil {
			return err
		}
		return private.Dir(dir)
	}
	if within(dir, home) || within(home, dir) {
		return problem("leave DIR out for a folder in there", "%s is, or holds, a part of peermux's own folder %s", dir, home)
	}
	if err := checkDoor(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return problem("make it first: mkdir -p "+filepath.Dir(dir), "the folder above %s does not exist", dir)
		}
		return err
	}
	return checkDoor(dir)
}

// checkDoor refuses a door that others could look or write into.
func checkDoor(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &fs.PathError{Op: "lstat", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return problem("name the real folder", "%s is a symbolic link", dir)
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return problem("name a folder", "%s is no folder", dir)
	case int(st.Uid) != os.Geteuid():
		return problem("name a folder of your own", "%s belongs to user %d, and you are user %d", dir, st.Uid, os.Geteuid())
	case st.Mode&0o777 != 0o700:
		return problem("chmod 700 "+dir, "%s has mode %04o, and a door must be open to you alone (0700)", dir, st.Mode&0o777)
	}
	return nil
}

// SetWait sets after how many minutes of a session's waiting for its user the app
// is told; 0 is never.
func SetWait(home, name string, minutes int) (App, error) {
	if minutes != 0 && (minutes < MinWait || minutes > MaxWait) {
		return App{}, misuse("", "%d minutes: must be %d to %d", minutes, MinWait, MaxWait)
	}
	var app App
	err := change(home, func(apps []App) ([]App, error) {
		for i := range apps {
			if apps[i].Name == name {
				apps[i].WaitMinutes = minutes
				app = apps[i]
				return apps, nil
			}
		}
		return nil, unknownApp(name, apps)
	})
	return app, err
}

func unknownApp(name string, apps []App) error {
	if len(apps) == 0 {
		return &Problem{Message: fmt.Sprintf("there is no app %s; none was added", name), Hint: "peermux gateway add " + name, Unknown: true}
	}
	names := make([]string, len(apps))
	for i, a := range apps {
		names[i] = a.Name
	}
	return &Problem{Message: "there is no app " + name, Hint: "the apps are " + strings.Join(names, ", "), Unknown: true}
}

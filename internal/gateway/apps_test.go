package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/project"
	"peermux/registry"
)

func TestAddRefuses(t *testing.T) {
	h := newHouse(t)
	home := h.host.Board.Home
	base := filepath.Dir(home)
	open, link, file := filepath.Join(base, "open"), filepath.Join(base, "link"), filepath.Join(base, "file")
	private := filepath.Join(base, "private")
	err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o755), os.Symlink(open, link), os.WriteFile(file, nil, 0o600), os.Mkdir(private, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Add(home, AddRequest{Name: "ci", Dir: private, Now: h.now}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, scope, why string }{
		{"a", open, "", "0700"}, {"a", link, "", "symbolic link"}, {"a", file, "", "no folder"},
		{"a", filepath.Join(base, "no", "such"), "", "does not exist"},
		{"a", filepath.Join(private, "sub"), "", "share its folder"}, {"a", base, "", "share its folder"},
		{"a", filepath.Join(home, "boxes"), "", "peermux's own folder"},
		{"a", "", "everywhere", "scope"}, {"../x", "", "", "name"}, {"user", "", "", "somebody else"}, {"", "", "", "empty"},
		{"voice", private, "", "already"}, {"VOICE", "", "", "case only"},
	} {
		_, err := Add(home, AddRequest{Name: c.name, Dir: c.dir, Scope: c.scope, Now: h.now})
		if p, ok := errors.AsType[*Problem](err); !ok || !strings.Contains(p.Message, c.why) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if apps, err := Apps(home); err != nil || len(apps) != 2 {
		t.Errorf("apps %+v, %v", apps, err)
	}
	if info, err := os.Stat(open); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a folder of the user's was changed: %v, %v", info.Mode(), err)
	}
	// A door that was opened to others later is not worked in.
	if err := os.Chmod(private, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, _, err := enter(h.host.Board, "ci", h.host.Self); err == nil {
		t.Error("entered a door that others can look into")
	}
}

func TestRemove(t *testing.T) {
	h := newHouse(t)
	e := h.session("session-1")
	f := h.folder(e)
	h.write(f.out(idA+".md"), "---\n---\nx\n")
	mine := filepath.Join(h.app.Dir, "mine.txt")
	h.write(mine, "not peermux's")
	if err := Remove(h.host, "voice", false); err == nil || !strings.Contains(err.Error(), "not collected 1") {
		t.Fatalf("got %v", err)
	}
	if err := Remove(h.host, "voice", true); err != nil {
		t.Fatal(err)
	}
	if got := h.names(h.app.Dir); got != "mine.txt" {
		t.Errorf("left: %s", got)
	}
	if err := Remove(h.host, "voice", false); err == nil {
		t.Error("removed twice")
	}
}

func TestReach(t *testing.T) {
	groups := project.Groups{"/a": "g", "/b": "g"}
	session := func(root string) registry.Entry { return registry.Entry{SessionID: "s", Project: root} }
	for scope, want := range map[string][]string{ScopeProject: {"/a"}, ScopeGroup: {"/a", "/b"}, ScopeGlobal: {"/a", "/b", "/c"}} {
		app := App{Scope: scope, Project: "/a"}
		var got []string
		for _, root := range []string{"/a", "/b", "/c"} {
			if app.reaches(session(root), groups) {
				got = append(got, root)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reaches %v, want %v", scope, got, want)
		}
	}
	headless := session("/a")
	headless.Client.Mode = registry.Headless
	if (App{Scope: ScopeGlobal}).reaches(headless, groups) {
		t.Error("a headless run has a folder")
	}
}

func TestFolderNames(t *testing.T) {
	for _, c := range []struct{ name, id, want string }{
		{"ann", "4f2a91bc-0000-4000-8000-000000000001", "ann--4f2a91bc"},
		{"fix the bug / now", "4f2a91bc-0000", "fix-the-bug-now--4f2a91bc"},
		{"../../etc", "../..", "etc--session"},
		{"a--b", "x", "a-b--x"},
		{"Ünï", "x", "n--x"},
		{strings.Repeat("long", 50), "x", strings.Repeat("long", 10) + "--x"},
	} {
		if got := folderNames(registry.Entry{Name: c.name, SessionID: c.id})[0]; got != c.want {
			t.Errorf("%q: got %s, want %s", c.name, got, c.want)
		}
	}
}

// Commands that change gateway.json at once lose nothing.
func TestParallelChanges(t *testing.T) {
	h := newHouse(t)
	home := h.host.Board.Home
	errs := make(chan error)
	for n := range 20 {
		go func() {
			_, err := Add(home, AddRequest{Name: "app" + string(rune('a'+n)), Now: time.Now()})
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if apps, err := Apps(home); err != nil || len(apps) != 21 {
		t.Errorf("%d apps, %v", len(apps), err)
	}
}

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func groups(t *testing.T, home string) Groups {
	t.Helper()
	g, err := LoadGroups(home)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func set(t *testing.T, home, root, name string) {
	t.Helper()
	if err := SetGroup(home, root, name); err != nil {
		t.Fatal(err)
	}
}

func TestGroups(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if g := groups(t, home); len(g) != 0 {
		t.Errorf("got %v", g)
	}
	set(t, home, "/p", "crew")
	set(t, home, "/q", "crew")
	set(t, home, "/r", "band")
	g := groups(t, home)
	if g.Of("/p") != "crew" || g.Of("/nowhere") != "" {
		t.Errorf("got %v", g)
	}
	if !slices.Equal(g.Names(), []string{"band", "crew"}) || !slices.Equal(g.Members("crew"), []string{"/p", "/q"}) {
		t.Errorf("got %v, %v", g.Names(), g.Members("crew"))
	}
	set(t, home, "/p", "band") // one group at most
	set(t, home, "/q", "")
	set(t, home, "/q", "") // leaving twice
	g = groups(t, home)
	if g.Of("/p") != "band" || g.Of("/q") != "" || !slices.Equal(g.Names(), []string{"band"}) {
		t.Errorf("got %v", g)
	}
	info, err := os.Stat(filepath.Join(home, groupsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestSetGroupRefuses(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for _, name := range []string{"_x", "-x", ".x", "a b", "a/b", "a:b", "a\nb", "a\x1b[31m", "\xff", strings.Repeat("x", 65), "a\u202eb"} {
		if err := SetGroup(home, "/p", name); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	for _, name := range []string{"crew", "Crew_1.2", "größe", strings.Repeat("x", 64)} {
		if err := SetGroup(home, "/p", name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := SetGroup(home, "relative", "crew"); err == nil {
		t.Error("a relative root was accepted")
	}
}

func TestGroupsFileOfOthers(t *testing.T) {
	home := t.TempDir()
	name := filepath.Join(home, groupsFile)
	write(t, "not json", name)
	if err := SetGroup(home, "/p", "crew"); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "not json" {
		t.Errorf("the file was changed: %q, %v", data, err)
	}
	write(t, `{"/p":"crew","/bad":"a b","relative":"crew"}`, name)
	if g := groups(t, home); len(g) != 1 || g.Of("/p") != "crew" {
		t.Errorf("got %v", g)
	}
}

func TestGroupsConcurrently(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := SetGroup(home, fmt.Sprintf("/p%d", i), "crew"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(groups(t, home)); n != 16 {
		t.Errorf("%d of 16 joins are left", n)
	}
}

func FuzzParseGroups(f *testing.F) {
	f.Add([]byte(`{"/p":"crew"}`))
	f.Add([]byte(`{"/p":7}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parseGroups(data)
		if err != nil {
			return
		}
		for root, name := range g {
			if !filepath.IsAbs(root) || ValidName(name) != nil {
				t.Errorf("accepted %q: %q", root, name)
			}
		}
	})
}

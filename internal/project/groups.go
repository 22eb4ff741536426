package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"peermux/internal/private"
)

// Groups is groups.json: one JSON object that maps a project root to the name of
// the group it joined. A project is in one group at most. Only [SetGroup] writes
// the file, under a kernel lock, by rename; a crash leaves the old file or the
// new one.
type Groups map[string]string

const (
	groupsFile = "groups.json"
	groupsLock = "groups.lock"
	maxGroups  = 1 << 20
)

// LoadGroups reads groups.json in the peermux home. A missing file is no groups.
// Entries with a malformed name are left out.
func LoadGroups(home string) (Groups, error) {
	name := filepath.Join(home, groupsFile)
	data, err := private.ReadFile(name, maxGroups)
	if errors.Is(err, fs.ErrNotExist) {
		return Groups{}, nil
	}
	if err != nil {
		return nil, err
	}
	g, err := parseGroups(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %v; mend or remove the file", name, err)
	}
	return g, nil
}

func parseGroups(data []byte) (Groups, error) {
	var raw map[string]string
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	g := Groups{}
	for root, name := range raw {
		if filepath.IsAbs(root) && ValidName(name) == nil {
			g[root] = name
		}
	}
	return g, nil
}

// Of is the group of the project root, "" when it joined none.
func (g Groups) Of(root string) string { return g[root] }

// Names lists the groups that have a member, sorted.
func (g Groups) Names() []string {
	names := slices.Sorted(maps.Values(g))
	return slices.Compact(names)
}

// Members lists the project roots of a group, sorted.
func (g Groups) Members(name string) []string {
	var roots []string
	for root, group := range g {
		if group == name {
			roots = append(roots, root)
		}
	}
	slices.Sort(roots)
	return roots
}

// SetGroup puts the project root into the group name, out of any other; an empty
// name leaves the group. A file that does not parse is left alone.
func SetGroup(home, root, name string) error {
	if name != "" {
		if err := ValidName(name); err != nil {
			return fmt.Errorf("group %q: %v", name, err)
		}
	}
	if !filepath.IsAbs(root) {
		return fmt.Errorf("project root %q is not an absolute path", root)
	}
	if err := private.Dir(home); err != nil {
		return err
	}
	locks := filepath.Join(home, "locks")
	if err := private.Dir(locks); err != nil {
		return err
	}
	unlock, err := private.Lock(filepath.Join(locks, groupsLock))
	if err != nil {
		return err
	}
	defer unlock()
	g, err := LoadGroups(home)
	if err != nil {
		return err
	}
	if g[root] == name {
		return nil
	}
	if name == "" {
		delete(g, root)
	} else {
		g[root] = name
	}
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(home, groupsFile), append(data, '\n'))
}

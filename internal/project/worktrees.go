package project

import (
	"os"
	"path/filepath"
	"strings"
)

// Worktrees returns the linked worktrees of the repository family whose root is
// given, as git itself lists them: each has a folder under worktrees in the
// common git directory, whose file gitdir names the worktree's .git. Worktrees
// that are gone are left out; a root that is no repository has none.
func Worktrees(root string) []string {
	var out []string
	for _, common := range []string{filepath.Join(root, ".git"), filepath.Join(root, ".bare"), root} {
		admin := filepath.Join(common, "worktrees")
		entries, err := os.ReadDir(admin)
		if err != nil {
			continue // no repository, or none was ever added
		}
		for _, e := range entries {
			gitFile := firstLine(filepath.Join(admin, e.Name(), "gitdir"))
			if gitFile == "" {
				continue
			}
			if !filepath.IsAbs(gitFile) { // worktree.useRelativePaths, git 2.48
				gitFile = filepath.Join(admin, e.Name(), gitFile)
			}
			dir, ok := resolve(strings.TrimSuffix(gitFile, string(filepath.Separator)+".git"))
			if ok {
				out = append(out, dir)
			}
		}
	}
	return out
}

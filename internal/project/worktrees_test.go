package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWorktrees(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "repo")
	gone := filepath.Join(base, "gone")
	here, relative := filepath.Join(base, "here"), filepath.Join(base, "relative")
	for _, dir := range []string{here, relative} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, gitFile := range map[string]string{
		"here": here + "/.git", "gone": gone + "/.git", "relative": "../../../../relative/.git", "empty": "",
	} {
		admin := filepath.Join(root, ".git", "worktrees", name)
		if err := os.MkdirAll(admin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(admin, "gitdir"), []byte(gitFile+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := Worktrees(root)
	slices.Sort(got)
	if want := []string{here, relative}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Worktrees(base); len(got) != 0 {
		t.Errorf("a folder that is no repository has worktrees: %v", got)
	}
}

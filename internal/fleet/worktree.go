package fleet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/project"
)

// gitLimit bounds a git call; a checkout of a large repository takes its time.
const gitLimit = 2 * time.Minute

// worktreeDir is the folder of a branch's worktree: where git says it is, or
// beside the repository, named after both.
func worktreeDir(base, branch string) (string, error) {
	if branch == "" || strings.HasPrefix(branch, "-") || strings.ContainsFunc(branch, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", fmt.Errorf("worktree %q: must be the name of a branch", branch)
	}
	place, err := project.At(base)
	if err != nil || !place.IsRepo {
		return "", fmt.Errorf("worktree %s: %s is in no git repository", branch, base)
	}
	if place.Branch == branch && place.Worktree != "" {
		return place.Worktree, nil
	}
	gitDirs, err := filepath.Glob(filepath.Join(place.Root, ".git", "worktrees", "*", "gitdir"))
	if err != nil {
		return "", err
	}
	for _, file := range gitDirs {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // removed meanwhile
		}
		dir := filepath.Dir(strings.TrimSpace(string(data)))
		if other, err := project.At(dir); err == nil && other.Branch == branch {
			return dir, nil
		}
	}
	name := place.Repo + "-" + strings.ReplaceAll(branch, "/", "-")
	return filepath.Join(filepath.Dir(place.Root), name), nil
}

// makeWorktree makes the folder of a worktree that is not there yet, on the branch
// that exists, or on a new one.
func (a Agent) makeWorktree(ctx context.Context, file string) error {
	if a.Worktree == "" {
		return nil
	}
	if _, err := os.Stat(a.Dir); err == nil {
		return nil
	}
	base := filepath.Dir(file)
	if err := git(ctx, base, "worktree", "add", a.Dir, a.Worktree); err == nil {
		return nil
	}
	return git(ctx, base, "worktree", "add", "-b", a.Worktree, a.Dir)
}

func git(ctx context.Context, dir string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

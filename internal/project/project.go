// Package project says which project a directory belongs to: the root of its
// git repository's family (all linked worktrees share one), the worktree it is
// in, and the branch that is checked out there. It reads the files that git
// itself reads and never starts a process, because a hook asks on every event.
//
// A directory inside no repository is a project of its own. A submodule is a
// repository of its own; it does not join the repository around it. All paths in
// a [Place] are resolved: no symbolic links, so /tmp/x and /private/tmp/x are the
// same project.
//
// The package also keeps groups.json, which maps project roots to a group name;
// see [Groups].
package project

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

// Place is where a directory lies.
type Place struct {
	// Dir is the directory itself.
	Dir string
	// Root identifies the project: the main worktree's root, the bare
	// repository's directory, or Dir when there is no repository.
	Root string
	// Worktree is the root of the worktree that Dir is in. It is Root in the
	// main worktree, and empty in a bare repository or outside any.
	Worktree string
	// Branch is the branch checked out in the worktree, or the first characters
	// of the commit when HEAD is detached. A branch without commits counts.
	Branch string
	// Repo is the repository's name, the base name of Root without ".git".
	Repo   string
	IsRepo bool
}

// At finds the place of dir. The directory has to exist; a repository whose
// files are damaged counts as none.
func At(dir string) (Place, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return Place{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Place{}, err
	}
	if !info.IsDir() {
		return Place{}, &fs.PathError{Op: "open", Path: abs, Err: errors.New("not a directory")}
	}
	for at := abs; ; at = filepath.Dir(at) {
		if p, ok := repositoryAt(at); ok {
			p.Dir = abs
			return p, nil
		}
		if at == filepath.Dir(at) {
			return Place{Dir: abs, Root: abs}, nil
		}
	}
}

// repositoryAt describes the repository whose worktree root, git directory or
// bare directory is exactly dir.
func repositoryAt(dir string) (Place, bool) {
	if gitDir, ok := followGitFile(filepath.Join(dir, ".git")); ok && isGitDir(gitDir) {
		return placeOf(gitDir, dir), true
	}
	// No ".git" here: dir may be a bare repository, or a ".git" itself.
	if isGitDir(dir) {
		worktree := ""
		if filepath.Base(dir) == ".git" {
			worktree = filepath.Dir(dir)
		}
		return placeOf(dir, worktree), true
	}
	return Place{}, false
}

// placeOf describes the worktree (empty: a bare repository's directory) whose
// git directory is gitDir.
func placeOf(gitDir, worktree string) Place {
	root := familyRoot(commonDir(gitDir))
	return Place{
		Root:     root,
		Worktree: worktree,
		Branch:   readable(branch(gitDir)),
		Repo:     strings.TrimSuffix(filepath.Base(root), ".git"),
		IsRepo:   true,
	}
}

// familyRoot is the one directory that stands for a repository and all its
// linked worktrees. It depends on the common git directory alone, so that every
// member of the family comes to the same answer.
func familyRoot(common string) string {
	// The ordinary checkout, and bare repositories kept hidden in the folder of
	// their worktrees (project/.bare with project/main, project/fix beside it).
	if strings.HasPrefix(filepath.Base(common), ".") {
		return filepath.Dir(common)
	}
	// A submodule's git directory lies in the repository around it, and says
	// where its worktree is.
	if main := configured(common, "worktree"); main != "" {
		if !filepath.IsAbs(main) {
			main = filepath.Join(common, main)
		}
		if resolved, ok := resolve(main); ok {
			return resolved
		}
	}
	// A bare repository, or git init --separate-git-dir, where nothing leads
	// from a linked worktree to the main one.
	return common
}

// followGitFile returns the git directory that name, a ".git" directory or file,
// stands for, resolved.
func followGitFile(name string) (string, bool) {
	info, err := os.Stat(name)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		return resolve(name)
	}
	target, ok := strings.CutPrefix(firstLine(name), "gitdir:")
	target = strings.TrimSpace(target)
	if !ok || target == "" {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return resolve(target)
}

func resolve(name string) (string, bool) {
	resolved, err := filepath.EvalSymlinks(name)
	return resolved, err == nil
}

// commonDir is the directory that a linked worktree's git directory shares with
// the rest of its family; for any other git directory, itself.
func commonDir(gitDir string) string {
	common := firstLine(filepath.Join(gitDir, "commondir"))
	if common == "" {
		return gitDir
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	if resolved, ok := resolve(common); ok {
		return resolved
	}
	return gitDir
}

// isGitDir applies git's own test (setup.c, is_git_directory): a HEAD, objects
// and refs, the latter two possibly in the common directory.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common := commonDir(dir)
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// configured reads one key of the [core] section of a repository's own config.
// It knows the plain form that git writes; includes are not followed.
func configured(gitDir, key string) string {
	f, err := open(filepath.Join(gitDir, "config"))
	if err != nil {
		return ""
	}
	defer f.Close()
	section, value := "", ""
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "["), "]")
			section = strings.ToLower(strings.TrimSpace(name))
			continue
		}
		name, v, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(name), key) {
			value = strings.Trim(strings.TrimSpace(v), `"`) // the last one wins
		}
	}
	return value
}

const shortHash = 8

// branch reads HEAD. Since git 2.45 a repository may keep its refs in a reftable,
// where HEAD holds a placeholder and the truth is out of our reach: no branch.
func branch(gitDir string) string {
	name := filepath.Join(gitDir, "HEAD")
	if target, err := os.Readlink(name); err == nil {
		return strings.TrimPrefix(target, "refs/heads/") // HEAD of very old repositories
	}
	head := firstLine(name)
	if ref, ok := strings.CutPrefix(head, "ref:"); ok {
		ref = strings.TrimSpace(ref)
		if ref == "refs/heads/.invalid" {
			return ""
		}
		return strings.TrimPrefix(ref, "refs/heads/")
	}
	if isHash(head) {
		return head[:shortHash]
	}
	return ""
}

// readable drops what a terminal would obey or hide. Git lets no control character
// into a branch's name, but HEAD is a file that came with somebody's repository.
func readable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

func isHash(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, c := range s {
		if !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return true
}

// open does not wait for a writer when somebody put a FIFO in the file's place.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// maxLine bounds the files we read a single line of: a path or a ref.
const maxLine = 8 << 10

// firstLine reads the first line of a small file, "" when it cannot.
func firstLine(name string) string {
	f, err := open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(line, "\r")
}

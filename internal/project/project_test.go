package project

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// temp is a temporary folder by its real path.
func temp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// git runs the real git, which knows nothing of the developer's configuration.
func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"HOME="+dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out.String())
	}
}

func mkdir(t testing.TB, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, content string, elem ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elem...), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func at(t testing.TB, dir string) Place {
	t.Helper()
	p, err := At(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// repository makes a repository with one commit on the branch main.
func repository(t testing.TB, elem ...string) string {
	t.Helper()
	dir := mkdir(t, elem...)
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	return dir
}

// shapes makes repositories of every shape in a folder.
func shapes(t *testing.T) (base string) {
	t.Helper()
	base = temp(t)
	app := repository(t, base, "app")
	sub := mkdir(t, app, "internal", "deep")
	git(t, app, "worktree", "add", "-q", "-b", "fix/it", filepath.Join(base, "app-fix"))
	git(t, app, "worktree", "add", "-q", "-b", "inside", filepath.Join(app, ".claude", "worktrees", "one"))
	git(t, app, "worktree", "add", "-q", "--detach", filepath.Join(base, "app-detached"))
	mkdir(t, base, "plain", "folder")

	git(t, base, "clone", "-q", "--bare", app, "srv.git")
	srv := filepath.Join(base, "srv.git")
	git(t, srv, "worktree", "add", "-q", "-b", "side", filepath.Join(base, "srv-side"))

	hidden := mkdir(t, base, "hidden")
	git(t, hidden, "clone", "-q", "--bare", app, ".bare")
	write(t, "gitdir: ./.bare\n", hidden, ".git")
	git(t, hidden, "worktree", "add", "-q", "-b", "hid", filepath.Join(hidden, "hid"))

	lib := repository(t, base, "lib")
	git(t, app, "-c", "protocol.file.allow=always", "submodule", "-q", "add", lib, "vendor/lib")
	module := filepath.Join(app, "vendor", "lib")
	git(t, module, "worktree", "add", "-q", "-b", "modfix", filepath.Join(base, "lib-modfix"))

	separate := mkdir(t, base, "separate")
	git(t, separate, "init", "-q", "-b", "main", "--separate-git-dir", filepath.Join(base, "elsewhere.git"))
	git(t, separate, "commit", "-q", "--allow-empty", "-m", "one")
	git(t, separate, "worktree", "add", "-q", "-b", "sep", filepath.Join(base, "separate-sep"))

	unborn := mkdir(t, base, "unborn")
	git(t, unborn, "init", "-q", "-b", "trunk")
	for link, target := range map[string]string{"link": app, "sublink": sub} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func TestShapes(t *testing.T) {
	base := shapes(t)
	j := func(elem ...string) string { return filepath.Join(append([]string{base}, elem...)...) }
	app, srv, hidden, separate := j("app"), j("srv.git"), j("hidden"), j("separate")
	sub, module, plain, unborn := j("app", "internal", "deep"), j("app", "vendor", "lib"), j("plain", "folder"), j("unborn")
	tests := []struct {
		name, dir, root, worktree, branch, repo string
	}{
		{"checkout", app, app, app, "main", "app"},
		{"sub-directory", sub, app, app, "main", "app"},
		{"linked worktree", j("app-fix"), app, j("app-fix"), "fix/it", "app"},
		{"worktree inside the repository", j("app", ".claude", "worktrees", "one"), app, j("app", ".claude", "worktrees", "one"), "inside", "app"},
		{"no repository", plain, plain, "", "", ""},
		{"bare", srv, srv, "", "main", "srv"},
		{"inside a bare repository", j("srv.git", "refs"), srv, "", "main", "srv"},
		{"worktree of a bare repository", j("srv-side"), srv, j("srv-side"), "side", "srv"},
		{"folder over a hidden bare repository", hidden, hidden, hidden, "main", "hidden"},
		{"worktree of a hidden bare repository", j("hidden", "hid"), hidden, j("hidden", "hid"), "hid", "hidden"},
		{"submodule", module, module, module, "main", "lib"},
		{"worktree of a submodule", j("lib-modfix"), module, j("lib-modfix"), "modfix", "lib"},
		{"separate git directory", separate, j("elsewhere.git"), separate, "main", "elsewhere"},
		{"worktree of one with a separate git directory", j("separate-sep"), j("elsewhere.git"), j("separate-sep"), "sep", "elsewhere"},
		{"no commit yet", unborn, unborn, unborn, "trunk", "unborn"},
		{"inside .git", j("app", ".git", "hooks"), app, app, "main", "app"},
		{"symbolic link to the root", j("link"), app, app, "main", "app"},
		{"symbolic link to a sub-directory", j("sublink"), app, app, "main", "app"},
	}
	for _, tt := range tests {
		got := at(t, tt.dir)
		want := Place{Dir: got.Dir, Root: tt.root, Worktree: tt.worktree, Branch: tt.branch, Repo: tt.repo, IsRepo: tt.repo != ""}
		if got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.name, got, want)
		}
		if resolved, err := filepath.EvalSymlinks(tt.dir); err != nil || got.Dir != resolved {
			t.Errorf("%s: got dir %q, want %q", tt.name, got.Dir, resolved)
		}
	}
	if p := at(t, j("app-detached")); p.Root != app || len(p.Branch) != shortHash {
		t.Errorf("detached: got %+v", p)
	}
}

// No process is started: git may be missing.
func TestWithoutGit(t *testing.T) {
	app := repository(t, temp(t), "app")
	t.Setenv("PATH", "")
	if p := at(t, app); p.Root != app || p.Branch != "main" {
		t.Errorf("got %+v", p)
	}
}

func TestDamagedRepositories(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string)
	}{
		{"empty .git file", func(dir string) { write(t, "", dir, ".git") }},
		{".git file of another kind", func(dir string) { write(t, "hello\n", dir, ".git") }},
		{".git file that leads nowhere", func(dir string) { write(t, "gitdir: ../gone\n", dir, ".git") }},
		{".git file that leads to itself", func(dir string) { write(t, "gitdir: .git\n", dir, ".git") }},
		{"empty .git folder", func(dir string) { mkdir(t, dir, ".git") }},
		{".git is a FIFO", func(dir string) {
			if err := unix.Mkfifo(filepath.Join(dir, ".git"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"huge .git file", func(dir string) { write(t, "gitdir: "+strings.Repeat("x", 1<<20), dir, ".git") }},
	}
	for _, tt := range tests {
		dir := temp(t)
		tt.make(dir)
		if p := at(t, dir); p != (Place{Dir: dir, Root: dir}) {
			t.Errorf("%s: got %+v", tt.name, p)
		}
	}
}

func TestDamagedHead(t *testing.T) {
	for content, want := range map[string]string{
		"":                         "",
		"garbage":                  "",
		"ref: refs/heads/a/b\n":    "a/b",
		"ref: refs/heads/a\r\n":    "a",
		"ref: refs/tags/v1\n":      "refs/tags/v1",
		"ref: refs/heads/.invalid": "", // the placeholder of a reftable
		"ref: refs/heads/\x1b[31mé\u202e\u009bx\n": "[31méx",
		strings.Repeat("0a", 20):                   "0a0a0a0a",
		strings.Repeat("0a", 32):                   "0a0a0a0a",
		strings.Repeat("0A", 20):                   "",
	} {
		app := repository(t, temp(t), "app")
		write(t, content, app, ".git", "HEAD")
		if p := at(t, app); p.Branch != want || p.Root != app {
			t.Errorf("%q: got %+v", content, p)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	dir := temp(t)
	write(t, "x", dir, "file")
	for _, name := range []string{filepath.Join(dir, "gone"), filepath.Join(dir, "file")} {
		if p, err := At(name); err == nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

func FuzzConfigured(f *testing.F) {
	f.Add("[core]\n\tworktree = ../x\n")
	f.Add("[core]\nworktree=\"a\"\n[remote \"core\"]\nworktree = b")
	f.Add("[\n=\n]")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		write(t, content, dir, "config")
		if got := configured(dir, "worktree"); strings.ContainsAny(got, "\n") {
			t.Errorf("got %q", got)
		}
	})
}

func FuzzFollowGitFile(f *testing.F) {
	f.Add("gitdir: ../x/.git\n")
	f.Add("gitdir:")
	f.Add("gitdir: \x00")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		write(t, content, dir, ".git")
		if p, err := At(dir); err != nil || p.IsRepo {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestRepoIdentity(t *testing.T) {
	repo := Place{Dir: "/src/app/sub", Root: "/src/app", Repo: "app", IsRepo: true}
	none := Place{Dir: "/tmp/x", Root: "/tmp/x"}
	named := func(name string) Place { return Place{Dir: "/s/" + name, Root: "/s/" + name, Repo: name, IsRepo: true} }
	tests := []struct {
		name     string
		place    Place
		declared string
		want     string // name and path, or ""
	}{
		{"repository", repo, "", "app /src/app"},
		{"a repository does not change its name", repo, "other", "app /src/app"},
		{"none", none, "", ""},
		{"none, with a name", none, "notes", "notes /tmp/x"},
		{"none, with a path", none, "/src/lib/", "lib /src/lib"},
		{"none, with a relative path", none, "./lib", "lib /tmp/x/lib"},
		{"reserved", named("_x"), "", ""},
		{"reserved name declared", none, "_x", ""},
		{"spaces", named("My Project"), "", "My Project /s/My Project"},
		{"hidden", named(".dotfiles"), "", ".dotfiles /s/.dotfiles"},
		{"control characters", named("a\nb"), "", ""},
		{"not UTF-8", named("a\xff"), "", ""},
		{"the root directory", Place{Dir: "/", Root: "/", Repo: "/", IsRepo: true}, "", ""},
	}
	for _, tt := range tests {
		name, path, ok := RepoIdentity(tt.place, tt.declared)
		got := ""
		if ok {
			got = name + " " + path
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	dir := mkdir(b, repository(b, temp(b), "app"), "a", "b", "c")
	for b.Loop() {
		if _, err := At(dir); err != nil {
			b.Fatal(err)
		}
	}
}

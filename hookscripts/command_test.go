package hookscripts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// shells are those of this machine that a client may take: Claude Code takes
// sh, Codex the person's own.
func shells(t *testing.T) []string {
	var found []string
	for _, name := range []string{"sh", "bash", "dash", "zsh", "ksh", "fish"} {
		if p, err := exec.LookPath(name); err == nil {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatal("no shell")
	}
	return found
}

func TestCommandRunsTheHook(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"plain", "with blank", "quo'te", `dol$lar "q" \b`, `back\\slash's\`, "日本"} {
		for _, home := range []string{"", "/peer mux/h'ome"} {
			w := newWorld(t)
			moved := filepath.Join(w.home, dir)
			if err := os.MkdirAll(w.home, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Dir(w.ServerPath), moved); err != nil {
				t.Fatal(err)
			}
			w.vars["PEERMUX_HOME"] = home
			w.reload(filepath.Join(moved, "peermux"))
			command := w.command(Claude, "FileChanged")
			if !isOurs(command) {
				t.Errorf("not known as ours: %s", command)
			}
			for _, shell := range shells(t) {
				out, code := runShell(t, shell, command)
				if want := home + "|claude|FileChanged|"; out != want || code != 2 {
					t.Errorf("%s -c %s: got %q, exit %d", shell, command, out, code)
				}
			}
			if err := os.Remove(w.HookPath); err != nil {
				t.Fatal(err)
			}
			for _, shell := range shells(t) {
				if out, code := runShell(t, shell, command); out != "" || code != 0 {
					t.Errorf("%s, program gone: got %q, exit %d", shell, out, code)
				}
			}
		}
	}
}

func runShell(t *testing.T, shell, command string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), shell, "-c", command)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b), 0
}

func TestCommandIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	e := Env{Getenv: func(string) string { return "" }, HookPath: "/usr/local/bin/peermux-hook"}
	want := "[ -x /usr/local/bin/peermux-hook ] || exit 0; export GOMAXPROCS=1; exec /usr/local/bin/peermux-hook codex Stop"
	if got := e.command(Codex, "Stop"); got != want {
		t.Errorf("got %q\nwant %q; a change here costs every user Codex's trust", got, want)
	}
}

func TestIsOurs(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"peermux-hook claude Stop":                        true,
		"/usr/bin/peermux-hook codex Stop":                true,
		"'/a b/peermux-hook' claude Stop":                 true,
		`"/a b/peermux-hook" claude Stop`:                 true,
		"env A=1 /x/peermux-hook claude Stop":             true,
		"test -x /x/peermux-hook&&/x/peermux-hook c Stop": true,
		"/opt/peermux-hook":                               true,
		"my-peermux-hook claude Stop":                     false,
		"/x/peermux-hook-wrapper claude Stop":             false,
		"/x/peermux-hook.sh":                              false,
		"peermux hook":                                    false,
		"":                                                false,
	} {
		if got := isOurs(command); got != want {
			t.Errorf("%q: got %v", command, got)
		}
	}
}

func TestStablePathIsTheLinkAPersonKnows(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "Cellar", "1.0", "peermux"), filepath.Join(dir, "bin", "peermux")
	for _, p := range []string{real, link} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(real, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(link))
	for argv0, want := range map[string]string{"peermux": link, link: link, real: real, "/nowhere/peermux": link} {
		if got := StablePath(argv0, real); got != want {
			t.Errorf("%s: got %s, want %s", argv0, got, want)
		}
	}
	t.Setenv("PATH", dir)
	if got := StablePath("something else", real); got != real {
		t.Errorf("got %s, want %s", got, real)
	}
}

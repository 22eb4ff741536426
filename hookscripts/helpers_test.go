package hookscripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// world is a person's home with both clients' folders and our programs.
type world struct {
	Env
	t    *testing.T
	home string
	vars map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(root, "home")}
	bin := filepath.Join(root, "some bin")
	w.vars = map[string]string{"HOME": w.home, "PATH": bin + ":/usr/bin:/bin"}
	for _, name := range []string{"peermux", "peermux-hook"} {
		w.program(name, filepath.Join(bin, name))
	}
	w.reload(filepath.Join(bin, "peermux"))
	return w
}

// reload makes the Env anew, after vars changed or the programs moved.
func (w *world) reload(server string) {
	w.t.Helper()
	e, err := NewEnv(func(k string) string { return w.vars[k] }, time.Now, server)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Env = e
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// tree is every file below the home with its mode and its text or target;
// peermux's own home is left out.
func (w *world) tree() string {
	w.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == w.PeermuxHome {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		b.WriteString(strings.TrimPrefix(path, w.home) + " " + info.Mode().String() + "\n")
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			b.WriteString("-> " + to + "\n")
			return err
		}
		b.WriteString(w.read(path) + "\n")
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

func both(more ...func(*Options)) Options {
	o := Options{Clients: Clients()}
	for _, f := range more {
		f(&o)
	}
	return o
}

func dry(o *Options)     { o.DryRun = true }
func approve(o *Options) { o.Approve = true }

// setUp does what `peermux setup` does, without Codex's trust.
func (w *world) setUp(o Options) []Change {
	w.t.Helper()
	var all []Change
	for _, do := range []func() ([]Change, error){
		func() ([]Change, error) { return RegisterServer(w.t.Context(), w.Env, o) },
		func() ([]Change, error) { return Install(w.t.Context(), w.Env, o) },
		func() ([]Change, error) { return InstallSkills(w.t.Context(), w.Env, o) },
	} {
		changes, err := do()
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, changes...)
	}
	return all
}

func (w *world) takeDown(o Options) []Change {
	w.t.Helper()
	var all []Change
	for _, do := range []func() ([]Change, error){
		func() ([]Change, error) { return Uninstall(w.t.Context(), w.Env, o) },
		func() ([]Change, error) { return UnregisterServer(w.t.Context(), w.Env, o) },
		func() ([]Change, error) { return RemoveSkills(w.t.Context(), w.Env, o) },
	} {
		changes, err := do()
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, changes...)
	}
	return all
}

func wantDid(t *testing.T, changes []Change, did string) {
	t.Helper()
	for _, c := range changes {
		if c.Did != did {
			t.Errorf("%s %s: %s, want %s", c.Client, c.What, c.Did, did)
		}
	}
}

func wantSame(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}

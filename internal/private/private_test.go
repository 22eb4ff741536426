package private_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
)

func TestDirMakesWhatIsMissingAndTightensWhatIsOurs(t *testing.T) {
	top := t.TempDir()
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	loose := filepath.Join(top, "loose")
	if err := os.Mkdir(loose, 0o775); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(top, "a", "b", "c"), loose, loose} {
		if err := private.Dir(dir); err != nil {
			t.Fatal(err)
		}
		mode(t, dir, 0o700)
	}
	mode(t, filepath.Join(top, "a"), 0o700)
	mode(t, top, 0o755) // a parent that was there is none of its business
	if err := private.CheckDir(filepath.Join(top, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckDir: %v", err)
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %v, want %v", path, got, want)
	}
}

func TestRefusals(t *testing.T) {
	top := t.TempDir()
	path := func(name string) string { return filepath.Join(top, name) }
	real := path("real")
	err := errors.Join(
		os.WriteFile(real, []byte("mine"), 0o600),
		os.Symlink(real, path("link")),
		os.Symlink(path("nowhere"), path("dangling")),
		os.Symlink(top, path("dirlink")),
		unix.Mkfifo(path("fifo"), 0o600),
		os.Mkdir(path("dir"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dangling", "fifo", "dir"} {
		_, read := private.ReadFile(path(name), 100)
		_, open := private.Open(path(name), os.O_RDWR|os.O_CREATE)
		_, size := private.Size(path(name))
		_, lock := private.Lock(path(name))
		for i, err := range []error{read, open, size, lock} {
			if !errors.Is(err, private.ErrUnsafe) || !strings.Contains(err.Error(), path(name)) {
				t.Errorf("%s: call %d gave %v, want ErrUnsafe with the path", name, i, err)
			}
		}
	}
	for _, name := range []string{"dirlink", "link", "real"} {
		if err := private.Dir(path(name)); !errors.Is(err, private.ErrUnsafe) {
			t.Errorf("Dir(%s): %v", name, err)
		}
	}
	if _, err := os.Stat(path("nowhere")); err == nil {
		t.Error("a file was made behind a dangling link")
	}
	// What is put in a link's place does not go through the link.
	if err := private.WriteFile(path("link"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(real); err != nil || string(data) != "mine" {
		t.Errorf("behind the link: %q, %v", data, err)
	}
}

func TestForeignOwner(t *testing.T) {
	path := "/etc/hosts" // root's
	if os.Geteuid() == 0 {
		path = filepath.Join(t.TempDir(), "theirs")
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Chown(path, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		f, err := private.Open(path, flag)
		if err == nil {
			f.Close()
			t.Error("opened")
		}
		if flag == os.O_RDONLY && (!errors.Is(err, private.ErrUnsafe) || !strings.Contains(err.Error(), "belongs to user")) {
			t.Errorf("got %v", err)
		}
	}
}

func TestReadFileIsCapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := private.ReadFile(path, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	mode(t, path, 0o600)
	if _, err := private.ReadFile(path, 4); err == nil || errors.Is(err, private.ErrUnsafe) {
		t.Errorf("over the cap: %v", err)
	}
	if _, err := private.ReadFile(path+"x", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// Readers see one content or another, and nothing is left behind.
func TestWriteFileIsAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	contents := []string{strings.Repeat("a", 50_000), strings.Repeat("b", 20)}
	if err := private.WriteFile(path, []byte(contents[0])); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 50 {
				if err := private.WriteFile(path, []byte(contents[i%2])); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		data, err := private.ReadFile(path, 1<<20)
		if err != nil || !bytes.Equal(data, []byte(contents[0])) && !bytes.Equal(data, []byte(contents[1])) {
			t.Fatalf("read %d bytes, %v", len(data), err)
		}
	}
	mode(t, path, 0o600)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := private.WriteFile(filepath.Join(dir, "none", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
}

func TestSweepRemovesTheTempsOfTheDead(t *testing.T) {
	dir := t.TempDir()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone := ".f.tmp-" + strconv.Itoa(dead.Process.Pid) + "-abc"
	mine := filepath.Base(private.TempName(filepath.Join(dir, "f")))
	names := []string{gone, mine, "f", ".hidden", ".f.tmp-", ".f.tmp-x-y", "f.tmp-1-a"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, want := private.IsTemp(name), name == gone || name == mine; got != want {
			t.Errorf("IsTemp(%q) = %v", name, got)
		}
	}
	if err := private.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(dir, name))
		if left := err == nil; left != (name != gone) {
			t.Errorf("%s is left: %v", name, left)
		}
	}
}

func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := private.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan func())
	go func() {
		second, err := private.Lock(path)
		if err != nil {
			t.Error(err)
		}
		got <- second
	}()
	select {
	case <-got:
		t.Fatal("two hold the lock")
	case <-time.After(50 * time.Millisecond):
	}
	unlock()
	second := <-got
	second()
}

// A child that outlives its parent must not keep the parent's lock.
func TestLockIsNotInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := private.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait() // it was killed
	})
	unlock()
	again := make(chan error, 1)
	go func() {
		unlock, err := private.Lock(path)
		if err == nil {
			unlock()
		}
		again <- err
	}()
	select {
	case err := <-again:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the child holds the lock")
	}
}

// TestCheckHome: a folder that was there for something else keeps its mode.
func TestCheckHome(t *testing.T) {
	for _, tt := range []struct {
		holds   string
		mode    os.FileMode
		refused bool
	}{
		{"", 0o755, false},
		{"boxes/", 0o755, false},
		{"locks/", 0o755, false}, // all that setup leaves
		{"locks", 0o755, true},   // as in /proc
		{"wake.toml", 0o755, false},
		{"src/", 0o755, true},
		{"src/", 0o700, false},
	} {
		dir := filepath.Join(t.TempDir(), "home")
		err := os.Mkdir(dir, 0o700)
		if folder, ok := strings.CutSuffix(tt.holds, "/"); ok {
			err = errors.Join(err, os.Mkdir(filepath.Join(dir, folder), 0o700))
		} else if tt.holds != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, tt.holds), nil, 0o600))
		}
		if err := errors.Join(err, os.Chmod(dir, tt.mode)); err != nil {
			t.Fatal(err)
		}
		err = private.CheckHome(dir)
		if errors.Is(err, private.ErrUnsafe) != tt.refused || err != nil && !tt.refused {
			t.Errorf("mode %o with %q: %v", tt.mode, tt.holds, err)
		}
		want := os.FileMode(0o700)
		if tt.refused {
			want = tt.mode
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode %o with %q became %v, %v", tt.mode, tt.holds, info.Mode(), err)
		}
	}
}

// TestStamp: many at once leave the newest, whole, with its time.
func TestStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "word")
	at := func(n int) time.Time { return time.Unix(1_800_000_000+int64(n), 500) }
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			older := func(size int64, last time.Time) bool { return size > 0 && last.After(at(n)) }
			if err := private.Stamp(path, fmt.Appendf(nil, "%02d\n", n), at(n), older); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, last, err := private.ReadDated(path, 10)
	if err != nil || string(data) != "39\n" || !last.Equal(at(39)) {
		t.Errorf("got %q of %v, %v", data, last, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if err := private.Stamp(path, []byte("x"), at(0), func(int64, time.Time) bool { return false }); !errors.Is(err, private.ErrUnsafe) {
		t.Errorf("a symbolic link: got %v", err)
	}
}

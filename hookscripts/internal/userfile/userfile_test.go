package userfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// add returns a change that appends text.
func add(text string) func(Content) (Content, error) {
	return func(c Content) (Content, error) {
		return Content{append([]byte(string(c.Data)), text...), true}, nil
	}
}

func TestEditKeepsModeAndName(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o644, 0o664, 0o755} {
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, "a")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		before, after, err := Edit(path, add("b"))
		if err != nil || string(before.Data) != "a" || string(after.Data) != "ab" {
			t.Fatalf("got %q, %q, %v", before.Data, after.Data, err)
		}
		wantFile(t, path, "ab", mode)
		wantAlone(t, path)
	}
}

func TestEditFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "dotfiles"))
	mkdir(t, filepath.Join(dir, "client"))
	file := filepath.Join(dir, "dotfiles", "real")
	link := filepath.Join(dir, "client", "settings")
	write(t, file, "a")
	symlink(t, "real", filepath.Join(dir, "dotfiles", "second"))
	symlink(t, "../dotfiles/second", link)
	if _, _, err := Edit(link, add("b")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, file, "ab", 0o644)
	if to, err := os.Readlink(link); err != nil || to != "../dotfiles/second" {
		t.Errorf("the link became %q, %v", to, err)
	}
	wantAlone(t, file, "second")
	wantAlone(t, link)

	write(t, file, "gone soon")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Edit(link, add("new")); err != nil {
		t.Fatalf("a link to a file that isn't there: %v", err)
	}
	wantFile(t, file, "new", newMode)

	symlink(t, "loop", filepath.Join(dir, "loop"))
	if _, _, err := Edit(filepath.Join(dir, "loop"), add("x")); err == nil {
		t.Error("no error for a link to itself")
	}
}

func TestEditMakesAndRemoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "f")
	if _, _, err := Edit(path, add("x")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "x", newMode)
	if _, _, err := Edit(path, func(Content) (Content, error) { return Content{}, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestNoChangeDoesNotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Edit(path, func(c Content) (Content, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(path)
	if err != nil || !os.SameFile(was, is) || !was.ModTime().Equal(is.ModTime()) {
		t.Errorf("the file was written again: %v", err)
	}
}

func TestEditAgainWhenAnotherProgramWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	calls := 0
	_, after, err := Edit(path, func(c Content) (Content, error) {
		if calls++; calls == 1 {
			write(t, path, "theirs")
		}
		return add("+ours")(c)
	})
	if err != nil || string(after.Data) != "theirs+ours" || calls != 2 {
		t.Fatalf("got %q after %d calls, %v", after.Data, calls, err)
	}
	wantFile(t, path, "theirs+ours", 0o644)
}

func TestEditGivesUpOnAFileThatNeverRests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	n := 0
	_, _, err := Edit(path, func(c Content) (Content, error) {
		n++
		write(t, path, fmt.Sprint(n))
		return add("+ours")(c)
	})
	if err == nil || !strings.Contains(err.Error(), "keeps changing") {
		t.Fatalf("got %v", err)
	}
	wantFile(t, path, fmt.Sprint(n), 0o644)
	wantAlone(t, path)
}

func TestSweepTakesOnlyOldLeftovers(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "real"))
	path := filepath.Join(dir, "f")
	symlink(t, "real/f", path)
	for _, name := range []string{"f", ".f.peermux-1", ".f.peermux-2", ".f.other-1", ".ff.peermux-1", "f.peermux-1"} {
		write(t, filepath.Join(dir, "real", name), "x")
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"f", ".f.peermux-1", ".f.other-1", ".ff.peermux-1", "f.peermux-1"} {
		if err := os.Chtimes(filepath.Join(dir, "real", name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(path, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	wantAlone(t, filepath.Join(dir, "real", "f"), ".f.peermux-2", ".f.other-1", ".ff.peermux-1", "f.peermux-1")
	if entries, err := os.ReadDir(filepath.Join(dir, "real")); err != nil || len(entries) != 5 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	if err := Sweep(filepath.Join(dir, "none", "f"), time.Now()); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "ro")
	write(t, readOnly, "a")
	if err := os.Chmod(readOnly, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Edit(readOnly, add("b")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only file: %v", err)
	}
	wantFile(t, readOnly, "a", 0o444)

	if _, _, err := Edit(dir, add("b")); err == nil {
		t.Error("a folder was edited")
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Edit(fifo, add("b")); err == nil {
		t.Error("a FIFO was edited")
	}

	failed := errors.New("no")
	if _, _, err := Edit(filepath.Join(dir, "f"), func(Content) (Content, error) { return Content{}, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestLockFolderWaitsForItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	unlock, err := LockFolder(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := LockFolder(short, path, time.Now); err == nil {
		t.Fatal("two holders at once")
	}
	second := make(chan error)
	go func() {
		unlock, err := LockFolder(t.Context(), path, time.Now)
		if err == nil {
			err = unlock()
		}
		second <- err
	}()
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	wantAlone(t, path)
}

func TestLockFolderLeavesADeadHoldersLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	mkdir(t, path+".lock")
	later := func() time.Time { return time.Now().Add(lockStale + time.Second) }
	unlock, err := LockFolder(t.Context(), path, later)
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Errorf("somebody else's lock is gone: %v", err)
	}
}

func TestLockFolderWhereThereIsNoFolder(t *testing.T) {
	unlock, err := LockFolder(t.Context(), filepath.Join(t.TempDir(), "none", "f"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
	}
}

// wantAlone fails when anything but path and others is in its folder.
func wantAlone(t *testing.T, path string, others ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) && !strings.Contains(strings.Join(others, " "), e.Name()) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

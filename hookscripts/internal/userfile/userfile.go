// Package userfile replaces a file that belongs to somebody else: a settings
// file that a person keeps and another program rewrites.
//
// A file is replaced in one step (temporary file beside it, fsync, rename), so
// a crash leaves the old file or the new one, and at most a temporary file
// named ".<name>.peermux-<random>", which Sweep removes. Its mode and owner stay. A symbolic link stays: the
// file it leads to is replaced. The file is read again right before the
// rename; when another program has written it meanwhile, the change is made
// anew on what is there now. A file without the owner's write bit is refused,
// although a rename could replace it.
package userfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	maxSize  = 64 << 20 // no settings file is larger; reading one that is would hurt
	attempts = 20       // how often another program may get in between
	newMode  = 0o600    // of a file that wasn't there
	newDir   = 0o700
)

// Content is what a file holds, or that there is none.
type Content struct {
	Data   []byte
	Exists bool
}

// Equal reports whether two contents are the same bytes.
func (c Content) Equal(d Content) bool {
	return c.Exists == d.Exists && bytes.Equal(c.Data, d.Data)
}

// ErrReadOnly says that the file may not be written, by its mode or its file
// system.
var ErrReadOnly = errors.New("the file is read-only")

// Read returns what path holds.
func Read(path string) (Content, error) {
	c, _, err := read(path)
	return c, err
}

func read(path string) (Content, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Content{}, nil, nil
	}
	if err != nil {
		return Content{}, nil, err
	}
	if !info.Mode().IsRegular() {
		return Content{}, nil, fmt.Errorf("%s is not a plain file", path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Content{}, nil, nil // removed since
	}
	if err != nil {
		return Content{}, nil, err
	}
	defer f.Close() // opened for reading: there is nothing that closing could lose
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("%s is larger than %d MiB", path, maxSize>>20)
	}
	return Content{data, true}, info, err
}

// Edit makes path hold what change returns for what it holds. It returns both.
// change may be called more than once, and must not change its argument.
func Edit(path string, change func(Content) (Content, error)) (before, after Content, err error) {
	target, err := resolve(path)
	if err != nil {
		return before, after, err
	}
	for range attempts {
		var info fs.FileInfo
		if before, info, err = read(target); err != nil {
			return before, after, err
		}
		if after, err = change(before); err != nil || after.Equal(before) {
			return before, after, err
		}
		done, err := replace(target, info, before, after)
		if done || err != nil {
			return before, after, err
		}
	}
	return before, after, fmt.Errorf("%s keeps changing; close the programs that write it, and try again", path)
}

// Writable returns the error with which Edit would refuse to change path for its
// mode.
func Writable(path string) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	_, info, err := read(target)
	if err != nil {
		return err
	}
	return writable(target, info)
}

func writable(target string, info fs.FileInfo) error {
	if info != nil && info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: %w", target, ErrReadOnly)
	}
	return nil
}

// replace puts after in the place of before; it does nothing and returns
// false when target no longer holds before.
func replace(target string, info fs.FileInfo, before, after Content) (done bool, err error) {
	if err := writable(target, info); err != nil {
		return false, err
	}
	if !after.Exists {
		now, _, err := read(target)
		if err != nil || !now.Equal(before) {
			return false, err
		}
		return true, explain(os.Remove(target))
	}
	mode := fs.FileMode(newMode)
	if info != nil {
		mode = info.Mode().Perm()
	} else if err := os.MkdirAll(filepath.Dir(target), newDir); err != nil {
		return false, explain(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), tempName(target)+"*")
	if err != nil {
		return false, explain(err)
	}
	defer func() {
		if !done {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	// The slow part, with the fsync, comes before the last look at the file, so
	// that only a rename is left after it.
	if err := errors.Join(fill(tmp, after.Data, mode, info), tmp.Close()); err != nil {
		return false, err
	}
	now, _, err := read(target)
	if err != nil || !now.Equal(before) {
		return false, err
	}
	if err := os.Rename(tmp.Name(), target); err != nil {
		return false, explain(err)
	}
	return true, syncDir(filepath.Dir(target))
}

func tempName(target string) string { return "." + filepath.Base(target) + ".peermux-" }

// Sweep removes the temporary files of path that a crash left behind: those
// last written before a time.
func Sweep(path string, before time.Time) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempName(target)) {
			continue
		}
		if info, err := e.Info(); err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(target), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func fill(f *os.File, data []byte, mode fs.FileMode, old fs.FileInfo) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := keepOwner(f, old); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Sync()
}

// keepOwner gives the new file the owner and group of the old one: they differ
// when root changes the settings of somebody else.
func keepOwner(f *os.File, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, ok2 := now.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// syncDir makes the rename survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: %v", ErrReadOnly, err)
	}
	return err
}

// resolve follows the symbolic links of path to the file they lead to, which
// need not exist.
func resolve(path string) (string, error) {
	for range 40 { // as many as the kernel follows
		to, err := os.Readlink(path)
		if err != nil {
			if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
				return filepath.Join(dir, filepath.Base(path)), nil
			}
			return path, nil // the folder is made later
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

const (
	lockStale = 10 * time.Second // proper-lockfile's own limit, which Claude uses
	lockPoll  = 20 * time.Millisecond
)

// LockFolder takes the lock "<path>.lock", a folder, which Claude Code 2.1
// makes while it changes ~/.claude.json (proper-lockfile). A holder renews the
// folder's time every few seconds; one older than ten seconds belongs to
// nobody. It is left there for Claude to clear, and path is free all the same.
func LockFolder(ctx context.Context, path string, now func() time.Time) (unlock func() error, err error) {
	if resolved, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(resolved, filepath.Base(path))
	}
	lock := path + ".lock"
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := os.Mkdir(lock, newDir)
		if err == nil {
			return func() error { return os.Remove(lock) }, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return func() error { return nil }, nil // no folder, so nobody writes there
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, explain(err)
		}
		if info, err := os.Stat(lock); err == nil && now().Sub(info.ModTime()) > lockStale {
			return func() error { return nil }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another program holds %s; try again", lock)
		case <-tick.C:
		}
	}
}

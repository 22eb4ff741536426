// Package private reads and writes files that belong to this user alone.
//
// Folders are 0700 and files 0600, both owned by the effective user. A folder or
// file of ours that others may look into is tightened; one that somebody else
// owns, a symbolic link, and anything that is not a plain file are refused with
// [ErrUnsafe] and left untouched. The check is done on the open descriptor, so
// that nothing can be swapped in between check and use.
//
// [WriteFile] replaces a file by rename: readers see the old content or the new
// content, never a mixture. A crash leaves at most a file named
// ".<name>.tmp-<pid>-<random>" behind, which no reader takes for content
// ([IsTemp]) and [Sweep] removes.
//
// [Lock] is a kernel lock (flock): it ends with its holder, so it can neither be
// stale nor be stolen.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// ErrUnsafe says that a path exists but may not be trusted: a foreign owner, a
// symbolic link, or not the kind of file it ought to be.
var ErrUnsafe = errors.New("not safe to use")

func unsafePath(path, why, do string) error {
	return fmt.Errorf("%s: %w: %s; %s", path, ErrUnsafe, why, do)
}

// Dir makes the folder path, with its missing parents, or checks the one that is
// there. Parents that exist are none of its business and are not looked at.
func Dir(path string) error {
	err := CheckDir(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(path, dirMode); errors.Is(err, fs.ErrNotExist) {
		if parent := filepath.Dir(path); parent != path {
			if err := Dir(parent); err != nil {
				return err
			}
		}
		if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	} else if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return CheckDir(path)
}

// CheckDir checks a folder without creating it; the error is fs.ErrNotExist when
// there is none. One system call when all is well.
func CheckDir(path string) error {
	there, err := checkDir(path)
	if err == nil && !there {
		return &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
	}
	return err
}

// CheckDirIfAny is CheckDir for a folder that need not be there.
func CheckDirIfAny(path string) error {
	_, err := checkDir(path)
	return err
}

func checkDir(path string) (there bool, err error) {
	var st unix.Stat_t
	switch err := ignoringEINTR(func() error { return unix.Lstat(path, &st) }); err {
	case nil:
	case unix.ENOENT:
		return false, nil
	default:
		return false, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return true, unsafePath(path, "it is a symbolic link", "remove it, or point PEERMUX_HOME at the real folder")
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return true, unsafePath(path, "it is not a folder", "move it away")
	}
	if err := checkOwner(path, &st); err != nil {
		return true, err
	}
	if st.Mode&0o077 != 0 {
		return true, os.Chmod(path, dirMode)
	}
	return true, nil
}

// CheckHome is CheckDir for the peermux home, whose path a person sets. A folder
// that is open to others and has other things in it was there for those: it is
// refused, not closed.
func CheckHome(path string) error {
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Lstat(path, &st) })
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&0o077 == 0 {
		return checkOwner(path, &st)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return CheckDir(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	ours := func(e fs.DirEntry) bool {
		if e.IsDir() { // /proc has a file named locks
			return slices.Contains([]string{"boxes", "sessions", "drops", "gateway", "locks"}, e.Name())
		}
		return e.Name() == "groups.json" || e.Name() == "wake.toml"
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, ours) {
		return unsafePath(path, "others may enter it, and what it holds is not peermux's", "point PEERMUX_HOME at a folder of its own")
	}
	return CheckDir(path)
}

func checkOwner(path string, st *unix.Stat_t) error {
	if me := os.Geteuid(); int(st.Uid) != me {
		return unsafePath(path, fmt.Sprintf("it belongs to user %d, and this is user %d", st.Uid, me),
			"run peermux as the owner, or give it back with chown")
	}
	return nil
}

// Size is the size in bytes of a plain file of ours, found with one system call;
// the error is fs.ErrNotExist when there is none.
func Size(path string) (int64, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Lstat(path, &st) }); err != nil {
		return 0, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return st.Size, checkFile(path, &st)
}

func checkFile(path string, st *unix.Stat_t) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return checkOwner(path, st)
	case unix.S_IFLNK:
		return unsafePath(path, "it is a symbolic link", "remove it")
	}
	return unsafePath(path, "it is not a plain file", "move it away")
}

// Open opens a plain file of ours with the given os.O_ flags, 0600 when it is
// created. It never follows a symbolic link in the last element and never blocks
// on a planted FIFO.
func Open(path string, flag int) (*os.File, error) {
	fd, _, err := open(path, flag)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// open gives a descriptor on which O_NONBLOCK is still set; it matters to FIFOs
// only, and this is none.
func open(path string, flag int) (fd int, st unix.Stat_t, err error) {
	flags := flag | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	err = ignoringEINTR(func() (err error) {
		fd, err = unix.Open(path, flags, fileMode)
		return err
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK): // EMLINK: FreeBSD's word for it
		return -1, st, unsafePath(path, "it is a symbolic link", "remove it")
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return -1, st, unsafePath(path, "it is not a plain file", "move it away")
	case err != nil:
		return -1, st, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	err = ignoringEINTR(func() error { return unix.Fstat(fd, &st) })
	if err == nil {
		err = checkFile(path, &st)
	}
	if err == nil && st.Mode&0o077 != 0 {
		err = unix.Fchmod(fd, fileMode)
	}
	if err != nil {
		return -1, st, errors.Join(err, unix.Close(fd))
	}
	return fd, st, nil
}

// ReadFile reads a plain file of ours. A file of more than max bytes is an error,
// not a cut.
func ReadFile(path string, max int64) ([]byte, error) {
	data, _, err := ReadDated(path, max)
	return data, err
}

// ReadDated is ReadFile, and tells when the file was last written. A listing reads
// hundreds of small files: it takes four or five system calls for each.
func ReadDated(path string, max int64) (data []byte, at time.Time, err error) {
	fd, st, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, at, err
	}
	defer unix.Close(fd) // opened for reading: there is nothing that closing could lose
	if st.Size <= max {
		data, err = readFrom(fd, path, st.Size, max)
	}
	if err != nil {
		return nil, at, err
	}
	if st.Size > max || int64(len(data)) > max {
		return nil, at, fmt.Errorf("%s: more than %d bytes, which is no file of peermux; move it away", path, max)
	}
	return data, time.Unix(st.Mtim.Unix()), nil
}

// readFrom reads to the end, but at most one byte more than max. A file that grows
// meanwhile has more than its size.
func readFrom(fd int, path string, size, max int64) ([]byte, error) {
	buf, n := make([]byte, size+1), 0
	for {
		var got int
		err := ignoringEINTR(func() (err error) {
			got, err = unix.Read(fd, buf[n:])
			return err
		})
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n += got; got == 0 || int64(n) > max {
			return buf[:n], nil
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, min(int64(n), max-int64(n)+1))...)
		}
	}
}

// WriteFile puts data at path in one step. It does not fsync: use it for what can
// be found out again, not for mail.
func WriteFile(path string, data []byte) error {
	tmp := TempName(path)
	f, err := Open(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// Stamp writes data over the file at path, which is created when it is missing, cuts
// off what is longer, and gives it the time at, all under the file's lock. It does nothing when
// stays says that what is there, so long and of that time, is to stay.
func Stamp(path string, data []byte, at time.Time, stays func(size int64, last time.Time) bool) (err error) {
	fd, st, err := open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }() // which gives the lock back
	if err := flock(fd, path); err != nil {
		return err
	}
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	if stays(st.Size, time.Unix(st.Mtim.Unix())) {
		return nil
	}
	n := 0
	err = ignoringEINTR(func() (err error) {
		n, err = unix.Pwrite(fd, data, 0)
		return err
	})
	if err == nil && n < len(data) {
		err = unix.ENOSPC
	}
	if err == nil && st.Size > int64(n) {
		err = ignoringEINTR(func() error { return unix.Ftruncate(fd, int64(n)) })
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return os.Chtimes(path, at, at)
}

// Lock takes the exclusive kernel lock on the file at path, which is created when
// it is missing, and waits for as long as another open of the file holds it.
func Lock(path string) (unlock func(), err error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := Flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil // closing the only descriptor gives the lock back
}

// Flock takes the exclusive kernel lock on an open file. The lock belongs to this
// open file, so two goroutines that opened it separately exclude each other too.
// The descriptor is close-on-exec: a child never inherits the lock.
func Flock(f *os.File) error { return flock(int(f.Fd()), f.Name()) }

func flock(fd int, path string) error {
	if err := ignoringEINTR(func() error { return unix.Flock(fd, unix.LOCK_EX) }); err != nil {
		return fmt.Errorf("%s: lock: %w; peermux needs a file system with flock", path, err)
	}
	return nil
}

// Sync makes what was written to f survive a power cut. On macOS Go's Sync asks
// the drive as well (F_FULLFSYNC), which fsync alone does not.
func Sync(f *os.File) error { return f.Sync() }

// SyncDir makes the names in a folder (a new file, a rename) survive a power cut.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

package private

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TempName is a name beside path that nobody else uses.
func TempName(path string) string {
	var random [6]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	dir, name := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.tmp-%d-%s", name, os.Getpid(), hex.EncodeToString(random[:])))
}

// IsTemp reports whether name is one of TempName's and so never content.
func IsTemp(name string) bool {
	_, ok := tempPID(name)
	return ok
}

func tempPID(name string) (pid int, ok bool) {
	if !strings.HasPrefix(name, ".") {
		return 0, false
	}
	i := strings.LastIndex(name, ".tmp-")
	if i < 1 {
		return 0, false
	}
	digits, _, ok := strings.Cut(name[i+len(".tmp-"):], "-")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(digits)
	return pid, err == nil
}

// Sweep removes the temporary files in dir whose writers are gone.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		pid, ok := tempPID(e.Name())
		if !ok || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

package wake

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckFile returns what is wrong with $PEERMUX_HOME/wake.toml. A wrong file is as
// good as none: none of what the person set in it counts. Unlike a wake, which makes
// the file the user's alone, it leaves the mode as it is.
func CheckFile(home string) error {
	path := filepath.Join(home, "wake.toml")
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return fmt.Errorf("%s is no file of at most %d bytes", path, maxConfig)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := parseConfig(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

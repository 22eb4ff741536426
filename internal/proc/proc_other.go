//go:build !linux && !darwin

package proc

import (
	"errors"
	"time"
)

func stat(int) (Info, error) { return Info{}, errors.ErrUnsupported }

// TTYDevice is not known on this system.
func TTYDevice(string) (int64, error) { return 0, errors.ErrUnsupported }

func startsAfter(string, string) bool { return true }

func startedAt(ID, time.Time) (time.Time, bool) { return time.Time{}, false }

func bootID() string { return "" }

func environ(int) []string { return nil }

func args(int) []string { return nil }

func exe(int) string { return "" }

func cwd(int) string { return "" }

func files(int) ([]string, error) { return nil, errors.ErrUnsupported }

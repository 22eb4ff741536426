//go:build !linux && !darwin

package transcript

import "time"

// BirthTime reports false: the creation time is read on Linux and macOS only.
func BirthTime(string) (time.Time, bool) { return time.Time{}, false }

package transcript

import (
	"time"

	"golang.org/x/sys/unix"
)

// BirthTime returns when the file was created, and false when it cannot be told.
func BirthTime(path string) (time.Time, bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return time.Time{}, false
	}
	return time.Unix(st.Btim.Sec, st.Btim.Nsec), true
}

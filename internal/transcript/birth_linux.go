package transcript

import (
	"time"

	"golang.org/x/sys/unix"
)

// BirthTime returns when the file was created, and false when the file system
// does not record it (statx without STATX_BTIME: NFS, old kernels).
func BirthTime(path string) (time.Time, bool) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st); err != nil {
		return time.Time{}, false
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, false
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), true
}

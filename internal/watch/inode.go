package watch

import (
	"io/fs"
	"syscall"
)

// inode tells a replaced file from the one it replaced.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

package gateway

import "syscall"

func setLimit(l *syscall.Rlimit, size uint64) { l.Cur = int64(size) }

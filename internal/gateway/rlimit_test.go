//go:build !freebsd

package gateway

import "syscall"

func setLimit(l *syscall.Rlimit, size uint64) { l.Cur = size }

//go:build !freebsd

package faults

import "golang.org/x/sys/unix"

func setLimit(l *unix.Rlimit, size int64) { l.Cur = uint64(size) }

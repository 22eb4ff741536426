//go:build !linux

package faults

// flood has no file system to fill: TestDiskFullAtEveryByte stands for it here.
func (w *worker) flood() error { return nil }

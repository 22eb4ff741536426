//go:build !linux

package watch

// exitNotice has nothing to offer here; Process looks again and again instead.
func exitNotice(int) (wait func() bool, quit func(), ok bool) { return nil, nil, false }

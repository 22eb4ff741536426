//go:build !linux

package proc

import "fmt"

// startToken is a start time in the form of this system.
func startToken(n int) string { return fmt.Sprintf("%d.000000", n) }

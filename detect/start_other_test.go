//go:build !linux

package detect

import (
	"fmt"
	"testing"
	"time"
)

func startOf(t *testing.T, at time.Time) string {
	t.Helper()
	return fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
}

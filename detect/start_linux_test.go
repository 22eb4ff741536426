package detect

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startOf is the start time that the kernel would record for a process that was
// started at the given moment.
func startOf(t *testing.T, at time.Time) string {
	t.Helper()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		t.Fatal(err)
	}
	ticks := (time.Duration(boot.Nano()) - time.Since(at)) / (10 * time.Millisecond)
	return strconv.FormatInt(int64(ticks), 10)
}

package watch_test

import (
	"os/exec"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/watch"
)

func sleeper(t *testing.T) (*exec.Cmd, proc.ID) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The process may be gone already; that is what the tests do.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, info.ID
}

func TestProcessEnds(t *testing.T) {
	t.Parallel()
	cmd, id := sleeper(t)
	gone, stop := watch.Process(id)
	defer stop()
	select {
	case <-gone:
		t.Fatal("gone while it runs")
	case <-time.After(600 * time.Millisecond):
	}
	// Killed and not reaped: a zombie is gone as well.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	mustTell(t, "kill", gone)
}

func TestProcessThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, id := sleeper(t)
	for _, tt := range []proc.ID{
		{PID: id.PID, Start: "1"}, // the pid of another process
		{PID: 1 << 30, Start: "1"},
		{},
	} {
		gone, stop := watch.Process(tt)
		mustTell(t, "a process that is not there", gone)
		stop()
	}
}

func TestProcessStop(t *testing.T) {
	t.Parallel()
	cmd, id := sleeper(t)
	gone, stop := watch.Process(id)
	stop()
	stop()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the sleeper ended by itself")
	}
	select {
	case <-gone:
		t.Fatal("told after stop")
	case <-time.After(600 * time.Millisecond):
	}
}

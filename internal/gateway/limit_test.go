package gateway

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/detect"
	"peermux/registry"
)

// limitVar says that this process may limit itself.
const limitVar = "PEERMUX_TEST_LIMITED"

// apart runs the calling test in a process of its own.
func apart(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), limitVar+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v: %s", err, out)
	}
}

// limited runs act while no file may grow beyond size bytes.
func limited(was syscall.Rlimit, size uint64, act func() error) error {
	now := was
	setLimit(&now, size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	err := act()
	return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
}

// ignoreXFSZ lets a write beyond the limit fail instead of ending the process.
func ignoreXFSZ(t *testing.T) {
	t.Helper()
	full := make(chan os.Signal, 1)
	signal.Notify(full, syscall.SIGXFSZ)
	t.Cleanup(func() { signal.Stop(full) })
}

func (h *house) status(word string, since time.Time) detect.Status {
	if word == registry.Waiting {
		return detect.Status{Word: word, Since: since, WaitingFor: "permission prompt"}
	}
	return detect.Status{Word: word, Since: h.now}
}

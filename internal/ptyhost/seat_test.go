package ptyhost

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"peermux/internal/proc"
)

// seat is a person's terminal with a host on it.
type seat struct {
	t      *testing.T
	home   string
	master *os.File // what the person's terminal program holds
	slave  *os.File // the person's terminal
	host   *exec.Cmd
	ended  chan struct{} // closed when the host has ended
	mu     sync.Mutex
	out    bytes.Buffer
}

// sit starts a host of the command on a new terminal.
func sit(t *testing.T, command ...string) *seat {
	t.Helper()
	home, err := os.MkdirTemp("", "pmx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	s := &seat{t: t, home: home}
	if s.master, s.slave, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: 90, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.host = exec.Command(self, command...)
	s.host.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PEERMUX_HOME=" + home, "TERM=xterm", "PEERMUX_PTYHOST_TEST=host", "PS1=$ "}
	s.host.Stdin, s.host.Stdout, s.host.Stderr = s.slave, s.slave, s.slave
	s.host.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.host.Start(); err != nil {
		t.Fatal(err)
	}
	s.attend()
	s.until("the program has started", func() bool { return s.file("started") != "" })
	return s
}

// attend reads the terminal and waits for the host, which dies with the test.
func (s *seat) attend() {
	s.ended = make(chan struct{})
	go func() {
		_ = s.host.Wait() // its ProcessState says how it ended
		close(s.ended)
	}()
	go s.collect()
	s.t.Cleanup(func() {
		if err := s.host.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			s.t.Error(err)
		}
		<-s.ended
		s.slave.Close()
		s.master.Close()
	})
}

func (s *seat) collect() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.out.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *seat) file(name string) string {
	data, err := os.ReadFile(filepath.Join(s.home, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// started gives the program's pid and the socket.
func (s *seat) started() (int, string) {
	word, socket, _ := strings.Cut(s.file("started"), " ")
	pid, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return pid, socket
}

func (s *seat) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *seat) typ(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			s.t.Fatalf("not seen in 30 s: %s\noutput: %q", what, s.output())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (s *seat) shows(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(s.output(), text) })
}

// exit waits for the host and gives its exit code.
func (s *seat) exit() int {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.host.ProcessState.ExitCode()
	case <-time.After(60 * time.Second):
		s.t.Fatalf("the host is still there after a minute\noutput: %.2000q", s.output())
		return 0
	}
}

func (s *seat) modes() unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.slave.Fd()), getTermios)
	if err != nil {
		s.t.Fatal(err)
	}
	return *modes
}

func raw(m unix.Termios) bool { return m.Lflag&unix.ICANON == 0 && m.Lflag&unix.ECHO == 0 }

func state(pid int) byte {
	info, err := proc.Stat(pid)
	if err != nil {
		return 0
	}
	return info.State
}

// shell is a seat with an interactive shell and no host; programs started in it
// are hosts.
func shell(t *testing.T) *seat {
	t.Helper()
	s := &seat{t: t, home: t.TempDir()}
	var err error
	if s.master, s.slave, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	s.host = exec.Command("bash", "--norc", "--noprofile", "-i")
	s.host.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "PEERMUX_HOME=" + s.home, "TERM=xterm", "PEERMUX_PTYHOST_TEST=host", "PS1=$ "}
	s.host.Stdin, s.host.Stdout, s.host.Stderr = s.slave, s.slave, s.slave
	s.host.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.host.Start(); err != nil {
		t.Fatal(err)
	}
	s.attend()
	s.shows("$ ")
	return s
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.PPID
}

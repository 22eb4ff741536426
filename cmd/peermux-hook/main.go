// Peermux-hook is what Claude Code and Codex run on their hook events:
//
//	peermux-hook <client> <event> < payload.json
//	peermux-hook version
//
// It shows waiting mail to the session and reports what the session does. It
// starts in a few milliseconds and exits 0 whatever happens; only Claude Code's
// FileChanged exits 2, when there is mail. See package hookrun. "version" prints
// the number of the format in which it reads and shows mail, for doctor to
// compare with the server's.
package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"peermux/hookscripts/hookrun"
	"peermux/internal/frame"
)

// Limits of one run. A client waits for its hook, so these are for things that
// hang; an ordinary run takes a few milliseconds.
const (
	stdinLimit = time.Second
	limit      = 3 * time.Second
)

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Printf("peermux-hook format %d\n", frame.Version)
		return 0
	}
	if len(os.Args) != 3 {
		return 0 // whatever a client or an older installer passes, it must not fail
	}
	start := time.Now()
	text := waking{output: output(unix.Stderr)}
	go watch(start.Add(limit), &text)
	return hookrun.Run(hookrun.Call{
		Client: os.Args[1],
		Event:  os.Args[2],
		Stdin:  input{fd: unix.Stdin, until: start.Add(stdinLimit)},
		Stdout: output(unix.Stdout),
		Stderr: &text,
		Env:    os.Getenv,
		Now:    time.Now,
		PID:    os.Getpid(),
	})
}

// watch ends a run that hangs. A Go timer would start the runtime's poller at every
// run; with one processor this goroutine starts only when the other one waits in the
// kernel, and then waits there too.
func watch(end time.Time, text *waking) {
	for wait(nil, end) == nil {
	}
	if text.out.Load() {
		os.Exit(hookrun.Wakes)
	}
	os.Exit(0)
}

// wait waits until a descriptor is ready, or for some milliseconds at the most; the
// error is os.ErrDeadlineExceeded at the end of the time.
func wait(fds []unix.PollFd, end time.Time) error {
	left := time.Until(end)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	_, err := unix.Poll(fds, int(left/time.Millisecond)+1)
	if err == unix.EINTR {
		return nil
	}
	return err
}

// input reads from a file descriptor until a moment, without that poller too.
type input struct {
	fd    int
	until time.Time
}

func (in input) Read(p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(in.fd), Events: unix.POLLIN}}
	for {
		if err := wait(fds, in.until); err != nil {
			return 0, err
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(in.fd, p)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err == nil && n == 0:
			return 0, io.EOF
		default:
			return n, err
		}
	}
}

// output writes to a file descriptor. A client that has gone gives an error here;
// written through os.Stdout it would end the program by SIGPIPE before the mail is
// given back.
type output int

func (d output) Write(p []byte) (int, error) {
	if d.unread() {
		return 0, os.ErrClosed
	}
	done := 0
	for done < len(p) {
		n, err := unix.Write(int(d), p[done:])
		switch err {
		case nil:
			done += n
		case unix.EINTR:
		case unix.EAGAIN: // a pipe that its owner made non-blocking, and full
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(d), Events: unix.POLLOUT}}, -1); err != nil && err != unix.EINTR {
				return done, err
			}
		default:
			return done, err
		}
	}
	return done, nil
}

// waking is the text of a FileChanged hook. Once it is out it may be recorded as shown,
// and Claude Code drops it unless the run ends as one that wakes.
type waking struct {
	output
	out atomic.Bool
}

func (w *waking) Write(p []byte) (int, error) {
	n, err := w.output.Write(p)
	w.out.Store(err == nil)
	return n, err
}

// unread reports whether the descriptor is the null device. Go's runtime opens that
// where a client has closed one, and what is written there nobody reads.
func (d output) unread() bool {
	var st, null unix.Stat_t
	return unix.Fstat(int(d), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR &&
		unix.Stat(os.DevNull, &null) == nil && st.Rdev == null.Rdev
}

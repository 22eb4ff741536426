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
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"peermux/hookscripts/hookrun"
	"peermux/internal/frame"
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
	ctx, cancel := context.WithTimeout(context.Background(), hookrun.Limit)
	defer cancel()
	return hookrun.Run(ctx, hookrun.Call{
		Client: os.Args[1],
		Event:  os.Args[2],
		Stdin:  os.Stdin,
		Stdout: descriptor(unix.Stdout),
		Stderr: descriptor(unix.Stderr),
		Env:    os.Getenv,
		Now:    time.Now,
		PID:    os.Getpid(),
	})
}

// descriptor writes to a file descriptor. A client that has gone gives an error
// here; written through os.Stdout it would end the program by SIGPIPE before the
// mail is given back.
type descriptor int

func (d descriptor) Write(p []byte) (int, error) {
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

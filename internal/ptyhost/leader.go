package ptyhost

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Files that the leader inherits beside stdin, stdout and stderr.
const (
	linkFile  = 3
	outerFile = 4
)

// Lead is the leader of the inner session: it starts the command as the foreground
// job of the terminal on its stdin, tells the host what becomes of it, and returns
// when it has ended, or when the host has. It is called in a process that Run
// started, as Options.Leader says.
func Lead(command []string) error {
	outer := os.NewFile(outerFile, "outer terminal")
	l, err := openLink(os.NewFile(linkFile, "host"))
	if err != nil {
		return errors.New("this command is started by peermux run, not by hand")
	}
	unix.CloseOnExec(outerFile)
	saved, err := term.GetState(int(outer.Fd()))
	if err != nil {
		return err
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, unix.SIGHUP) // the inner terminal is closed when the host dies
	orders := make(chan notice)
	go l.receive(orders)

	// The host makes the person's terminal raw only now that its modes are kept.
	l.send(notice{Ready: true})
	if _, ok := <-orders; !ok {
		return nil
	}
	pid, err := startProgram(command)
	if err != nil {
		l.send(notice{Failed: err.Error(), Exited: true, Code: exitCode(err)})
		return nil
	}
	// The terminal's signals are the program's business; the leader outlives them
	// to tell how it ended. Not before the start: the program would inherit it.
	signal.Ignore(unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGTERM)
	l.send(notice{Started: pid})
	ended := make(chan notice, 1)
	go watchProgram(pid, l, ended)

	for {
		select {
		case n := <-ended:
			l.send(n)
			return nil
		case n, ok := <-orders:
			switch {
			case !ok:
				abandon(outer, saved, pid)
				return nil
			case n.Hangup:
				hangUp(pid)
				return nil
			}
			obey(n, pid)
		case <-hangup:
			abandon(outer, saved, pid)
			return nil
		}
	}
}

// startProgram runs the command in a process group of its own, in the foreground.
func startProgram(command []string) (pid int, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// exitCode is what a shell says when a command cannot be run.
func exitCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// watchProgram tells the host when the program stops, and ended how it ended.
func watchProgram(pid int, l *link, ended chan<- notice) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			ended <- notice{Exited: true, Code: 1, Failed: "wait for the program: " + err.Error()}
			return
		case status.Stopped():
			l.send(notice{Stopped: true})
		case status.Signaled():
			ended <- notice{Exited: true, Code: 128 + int(status.Signal())}
			return
		case status.Exited():
			ended <- notice{Exited: true, Code: status.ExitStatus()}
			return
		}
	}
}

// obey does what the host asks for. A program that is gone needs nothing more.
func obey(n notice, pid int) {
	switch {
	case n.Continue:
		// The program may have given the terminal away while it was stopped.
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, pid)
		_ = unix.Kill(-pid, unix.SIGCONT)
	case n.Signal != 0:
		_ = unix.Kill(pid, unix.Signal(n.Signal))
	}
}

// afterCrash undoes what full-screen programs switch on, since their own goodbye
// went to a terminal that is gone: alternate screen, hidden cursor, paste markers,
// mouse and focus reports, the kitty keyboard, attributes.
const afterCrash = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1000;1002;1003;1004;1006l\x1b[<u\x1b[0m\r\n"

// abandon cleans up after a host that died: the person's terminal gets its modes
// back (it is not our controlling terminal, so no SIGTTOU stops us), and the
// program is told that its terminal is gone.
func abandon(outer *os.File, saved *term.State, pid int) {
	_, _ = outer.WriteString(afterCrash)
	_ = term.Restore(int(outer.Fd()), saved) // it may be closed as well
	hangUp(pid)
}

// hangUp tells the program that its terminal is gone. The kernel tells it again, and
// takes the terminal away, when the leader ends.
func hangUp(pid int) {
	_ = unix.Kill(-pid, unix.SIGHUP)  // it may have ended
	_ = unix.Kill(-pid, unix.SIGCONT) // a stopped one would not notice
}

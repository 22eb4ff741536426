// Package ptyhost runs a program on a pseudo-terminal of its own, between the
// person's terminal and the program, so that a client can be woken where there is
// no tmux ("peermux run -- CMD").
//
// # Contract
//
// The host is transparent: bytes pass unchanged both ways, the window size
// follows, Ctrl-Z and fg work, and the exit code is the program's (128+n after
// signal n). It writes nothing of its own to the terminal. Beside the bytes it
// keeps a model of the screen and answers on a control socket: what is on the
// screen, paste the wake line, press Enter. The socket types nothing else, and
// only while nobody has pressed a key since the asker looked.
//
// # Processes
//
//	host     copies bytes, keeps the model, serves the socket; in the shell's job
//	leader   leads the session on the inner terminal, and starts the program
//	program
//
// The leader is what makes job control work: without a parent in its own session
// the program's process group would be orphaned, and the kernel would not let
// Ctrl-Z stop it. When the host dies in any way, kill -9 included, the leader
// puts the person's terminal back into the state it had, and the program gets
// SIGHUP, as when a terminal window is closed.
//
// # Files
//
// The socket hosts/<pid>.sock (0600, in a 0700 folder) is removed at the end; one
// that a killed host left behind is removed by the next host. Where the path
// would be too long for a socket, a private folder under /tmp takes its place.
// The program finds the path in PEERMUX_PTY_HOST.
package ptyhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"peermux/internal/proc"
)

// SocketVariable is how programs under a host learn of it.
const SocketVariable = "PEERMUX_PTY_HOST"

// ErrNoTerminal: stdin or stdout is not a terminal, so there is nothing to host.
var ErrNoTerminal = errors.New("not on a terminal")

// Options say what is hosted and how.
type Options struct {
	Home    string   // of peermux
	Command []string // the program and its arguments
	Env     []string // of the program; the socket is added
	// Leader is the command line that calls [Lead]; the program's is appended.
	Leader []string
	In     *os.File // the person's terminal
	Out    *os.File
	// Started is told the program's process id, and may register it.
	Started func(pid int, socket string)
	// Ended is called before Run returns.
	Ended func()
}

// host is a running host.
type host struct {
	o      Options
	master *os.File
	tty    int64 // device number of the inner terminal
	link   *link // to the leader
	screen *shown
	saved  *term.State // of the person's terminal

	// keys orders everything that goes to the program: what the person types, and
	// what a waker asks for.
	keys  sync.Mutex
	typed uint64 // reads from the person so far

	mu      sync.Mutex
	program int // pid, 0 before the start
	ended   bool
}

// Run hosts the program until it ends, and returns its exit code. What is sent to
// the host as a signal reaches the program.
func Run(o Options) (code int, err error) {
	if !term.IsTerminal(int(o.In.Fd())) || !term.IsTerminal(int(o.Out.Fd())) {
		return 0, ErrNoTerminal
	}
	socket, listener, err := listen(o.Home)
	if err != nil {
		return 0, err
	}
	defer os.Remove(socket)
	defer listener.Close()

	h := &host{o: o}
	slave, err := h.open()
	if err != nil {
		return 0, err
	}
	defer h.master.Close()
	h.screen = newShown(80, 24)
	h.resize()

	leader, err := h.start(slave, socket)
	if err != nil {
		return 0, err
	}
	if h.saved, err = term.GetState(int(o.In.Fd())); err != nil {
		return 0, errors.Join(err, leader.Process.Kill(), ignoreExit(leader.Wait()))
	}
	defer h.restore()
	go h.serve(listener)
	return h.run(leader, socket)
}

// open makes the inner terminal, with the modes and the size of the outer one.
func (h *host) open() (slave *os.File, err error) {
	modes, err := unix.IoctlGetTermios(int(h.o.In.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	if h.master, slave, err = pty.Open(); err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	// On systems without device numbers a waker cannot prove the terminal.
	if h.tty, err = proc.TTYDevice(slave.Name()); errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		err = unix.IoctlSetTermios(int(slave.Fd()), setTermios, modes)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the pseudo-terminal: %w", err), slave.Close(), h.master.Close())
	}
	return slave, nil
}

// start brings up the leader on the inner terminal. It gets our end of the link as
// file 3 and the person's terminal as file 4.
func (h *host) start(slave *os.File, socket string) (*exec.Cmd, error) {
	defer slave.Close() // the leader has its own; ours would keep the terminal open
	mine, theirs, err := newLink()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	line := append(append([]string{}, h.o.Leader...), h.o.Command...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(append([]string{}, h.o.Env...), SocketVariable+"="+socket)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.ExtraFiles = []*os.File{theirs, h.o.In}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, mine.Close())
	}
	h.link = mine
	return cmd, nil
}

// run copies until the program has ended and all of its output is out.
func (h *host) run(leader *exec.Cmd, socket string) (int, error) {
	defer h.link.Close()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGCONT, unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	defer signal.Stop(signals)

	output := make(chan error, 1)
	go func() { output <- h.copyOutput() }()
	go h.copyInput()
	news := make(chan notice, 8)
	go h.link.receive(news)

	// A leader that goes without a word was hung up with its terminal.
	code, failure := 128+int(unix.SIGHUP), error(nil)
	var unstoppable <-chan time.Time
	for news != nil {
		select {
		case s := <-signals:
			unstoppable = nil
			h.handle(s)
		case <-unstoppable:
			unstoppable = nil
			h.resume()
		case n, ok := <-news:
			switch {
			case !ok:
				news = nil // the leader is gone
			case n.Ready:
				h.resume()
			case n.Started != 0:
				h.begin(n.Started, socket)
			case n.Stopped:
				unstoppable = h.suspend()
			case n.Exited:
				code = n.Code
				if n.Failed != "" {
					failure = errors.New(n.Failed)
				}
			}
		}
	}
	h.end()
	err := h.drained(output)
	return code, errors.Join(failure, ignoreExit(leader.Wait()), err)
}

// ignoreExit: the leader's own exit code says nothing that it has not told.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func (h *host) begin(pid int, socket string) {
	h.mu.Lock()
	h.program = pid
	h.mu.Unlock()
	if h.o.Started != nil {
		h.o.Started(pid, socket)
	}
}

func (h *host) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	if h.o.Ended != nil {
		h.o.Ended()
	}
}

// state is the program's pid and whether it has ended.
func (h *host) state() (pid int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.program, h.ended
}

// handle passes on what was sent to the host instead of the program.
func (h *host) handle(s os.Signal) {
	switch s {
	case unix.SIGWINCH:
		h.resize()
	case unix.SIGCONT:
		h.resume()
	case unix.SIGHUP:
		// The person's terminal is gone. When the leader goes, the kernel takes the
		// program's away as well, as it would without a host.
		h.link.send(notice{Hangup: true})
	default:
		h.signal(s.(unix.Signal))
	}
}

// signal sends s to the program's foreground process group.
func (h *host) signal(s unix.Signal) {
	group, err := unix.IoctlGetInt(int(h.master.Fd()), unix.TIOCGPGRP)
	if err == nil && group > 1 && unix.Kill(-group, s) == nil {
		return
	}
	h.link.send(notice{Signal: int(s)})
}

package ptyhost

import (
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// resize passes the size of the person's window on; the kernel tells the program.
func (h *host) resize() {
	size, err := unix.IoctlGetWinsize(int(h.o.In.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return // the window is closing; SIGHUP follows
	}
	if size.Col == 0 || size.Row == 0 {
		size.Col, size.Row = 80, 24 // a terminal that does not say
	}
	h.screen.resize(int(size.Col), int(size.Row))
	// It fails once the program has closed its terminal, and then nobody cares.
	_ = unix.IoctlSetWinsize(int(h.master.Fd()), unix.TIOCSWINSZ, size)
}

// restore gives the terminal back its modes.
func (h *host) restore() {
	// Nothing can be said on a terminal that is gone, which is how this fails.
	_ = term.Restore(int(h.o.In.Fd()), h.saved)
}

// suspend does to the host's job what Ctrl-Z did to the program's: the shell gets
// its terminal back, and both go on when it says so. The kernel does not stop a
// job that no shell could continue; then the returned channel says to go on.
func (h *host) suspend() (unstoppable <-chan time.Time) {
	h.restore()
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return time.After(0)
	}
	return time.After(stopWithin)
}

// stopWithin is long for a signal to ourselves. While we are stopped no time
// passes for the timer's reader, and SIGCONT comes first.
const stopWithin = 200 * time.Millisecond

// resume takes the terminal and lets the program begin or go on.
func (h *host) resume() {
	if _, err := term.MakeRaw(int(h.o.In.Fd())); err != nil {
		h.handle(unix.SIGHUP) // the terminal is gone
		return
	}
	h.resize()
	h.link.send(notice{Continue: true})
}

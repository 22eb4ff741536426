package ptyhost

import (
	"io"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"peermux/internal/screen"
)

// chunk is how much is passed on at once. Linux gives at most 4 KiB per read of a
// terminal, so several reads fill it.
const chunk = 64 << 10

// copyOutput passes the program's output on until the inner terminal is closed.
func (h *host) copyOutput() error {
	defer h.screen.close()
	conn, err := h.master.SyscallConn()
	if err != nil {
		return err
	}
	for {
		buf := h.screen.buffer()
		n, rerr := drain(conn, buf)
		if n > 0 {
			if _, err := h.o.Out.Write(buf[:n]); err != nil {
				return nil // the person's terminal is gone; SIGHUP follows
			}
			h.screen.show(buf[:n])
		}
		// Linux says EIO when the last process has closed the terminal.
		if rerr == io.EOF || rerr == unix.EIO {
			return nil
		}
		if rerr != nil {
			return rerr
		}
	}
}

// drain waits for output and then takes all that is there, up to the size of buf.
func drain(conn syscall.RawConn, buf []byte) (n int, err error) {
	var inner error
	err = conn.Read(func(fd uintptr) bool {
		for n < len(buf) {
			got, err := unix.Read(int(fd), buf[n:])
			switch {
			case err == unix.EINTR:
			case err == unix.EAGAIN:
				return n > 0
			case err != nil:
				inner = err
				return true
			case got == 0:
				inner = io.EOF
				return true
			default:
				n += got
			}
		}
		return true
	})
	if err != nil {
		return n, io.EOF // it only fails when the master was closed
	}
	return n, inner
}

// copyInput passes the person's keys on. It ends with the process: a read of a
// terminal cannot be called off.
func (h *host) copyInput() {
	buf := make([]byte, chunk)
	for {
		n, err := h.o.In.Read(buf)
		if n > 0 {
			h.keys.Lock()
			h.typed++
			_, werr := h.master.Write(buf[:n])
			h.keys.Unlock()
			if werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// shown is the screen model, fed by a goroutine of its own so that a flood of
// output costs the person's terminal no time.
type shown struct {
	feed chan piece
	free chan []byte
	stop chan struct{}
	mu   sync.Mutex
	m    *screen.Model
}

// piece is some output, or a request to say when everything before it is in.
type piece struct {
	data    []byte
	reached chan<- struct{}
}

// depth is how many chunks may wait for the model; then the program has to wait.
const depth = 64

func newShown(width, height int) *shown {
	s := &shown{
		feed: make(chan piece, depth), free: make(chan []byte, depth+2), stop: make(chan struct{}),
		m: screen.NewModel(width, height),
	}
	go s.run()
	return s
}

func (s *shown) run() {
	for {
		select {
		case <-s.stop:
			return
		case p := <-s.feed:
			s.take(p)
		}
	}
}

func (s *shown) take(p piece) {
	if p.reached != nil {
		close(p.reached)
		return
	}
	s.mu.Lock()
	_, _ = s.m.Write(p.data) // a model takes anything
	s.mu.Unlock()
	select {
	case s.free <- p.data[:cap(p.data)]:
	default:
	}
}

// buffer is a chunk to read into.
func (s *shown) buffer() []byte {
	select {
	case b := <-s.free:
		return b
	default:
		return make([]byte, chunk)
	}
}

// show takes over a chunk from buffer.
func (s *shown) show(data []byte) { s.feed <- piece{data: data} }

func (s *shown) close() { close(s.stop) }

func (s *shown) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Resize(width, height)
}

// look is the screen with everything that was passed on so far.
func (s *shown) look() (now screen.Screen, pasteMode bool) {
	reached := make(chan struct{})
	select {
	case s.feed <- piece{reached: reached}:
		select {
		case <-reached:
		case <-s.stop:
		}
	case <-s.stop:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m.Screen(), s.m.PasteMode()
}

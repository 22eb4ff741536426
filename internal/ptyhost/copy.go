package ptyhost

import (
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/screen"
)

// chunk is how much is read at once. Linux gives at most 4 KiB from a terminal.
const chunk = 16 << 10

// copyOutput passes the program's output on until the inner terminal is closed.
// Its reads block a thread: under a flood that costs half of what waiting for the
// poller does.
func (h *host) copyOutput() error {
	buf := make([]byte, chunk)
	for {
		n, err := h.master.Read(buf)
		if n > 0 {
			if _, err := h.o.Out.Write(buf[:n]); err != nil {
				return nil // the person's terminal is gone; SIGHUP follows
			}
			h.screen.show(buf[:n])
		}
		// Linux says EIO when the last process has closed the terminal.
		if errors.Is(err, io.EOF) || errors.Is(err, unix.EIO) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// drained waits for the end of the output after the program has ended. A process
// that it left behind may keep the terminal open for ever; then all that is there
// is what counts.
func (h *host) drained(output <-chan error) error {
	for {
		before := h.screen.count()
		select {
		case err := <-output:
			return err
		case <-time.After(drainQuiet):
			if h.screen.count() == before {
				return nil
			}
		}
	}
}

// drainQuiet is long for bytes that the kernel already has.
const drainQuiet = 200 * time.Millisecond

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
	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte // not in the model yet
	taken   uint64 // bytes that the model has, or is about to have
	given   uint64 // bytes that were passed on
	busy    bool   // the model is taking some now
	m       *screen.Model
}

// backlog is how far the model may be behind; then the program has to wait.
const backlog = 1 << 20

func newShown(width, height int) *shown {
	s := &shown{m: screen.NewModel(width, height)}
	s.changed = sync.NewCond(&s.mu)
	go s.run()
	return s
}

// run feeds the model for the rest of the process's life.
func (s *shown) run() {
	var spare []byte
	s.mu.Lock()
	for {
		for len(s.waiting) == 0 {
			s.changed.Wait()
		}
		data := s.waiting
		s.waiting, s.busy = spare[:0], true
		s.mu.Unlock()
		_, _ = s.m.Write(data) // a model takes anything
		s.mu.Lock()
		s.taken += uint64(len(data))
		spare, s.busy = data, false
		s.changed.Broadcast()
	}
}

// show gives some output to the model.
func (s *shown) show(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > backlog {
		s.changed.Wait()
	}
	s.waiting = append(s.waiting, data...)
	s.given += uint64(len(data))
	s.changed.Broadcast()
}

// count is how many bytes were passed on so far.
func (s *shown) count() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// idle waits, with the lock held, until nobody writes into the model.
func (s *shown) idle() {
	for s.busy {
		s.changed.Wait()
	}
}

func (s *shown) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle()
	s.m.Resize(width, height)
}

// look is the screen with everything that was passed on so far.
func (s *shown) look() (now screen.Screen, pasteMode bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for upTo := s.given; s.taken < upTo; {
		s.changed.Wait()
	}
	s.idle()
	return s.m.Screen(), s.m.PasteMode()
}

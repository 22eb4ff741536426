package mcpserver

import (
	"io"
	"sync"
)

// writer is the only one who writes to the client. Lines leave in the order
// they were put in, so a progress notification that a call sent before it
// returned is out before its result.
type writer struct {
	out io.Writer

	mu     sync.Mutex
	queue  []outgoing
	filled chan struct{} // holds a token while the queue may have lines
	ended  bool          // run has returned: nothing is written any more
	failed chan struct{} // closed at the first write error
	err    error
}

// outgoing is one line. wanted is asked right before it is written: a result
// whose call was cancelled meanwhile is not. done gets true when the line is
// out as a whole; it must have room for it.
type outgoing struct {
	line   []byte
	wanted func() bool
	done   chan<- bool
}

func newWriter(out io.Writer) *writer {
	return &writer{out: out, filled: make(chan struct{}, 1), failed: make(chan struct{})}
}

func (w *writer) put(o outgoing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		if o.done != nil {
			o.done <- false
		}
		return
	}
	w.queue = append(w.queue, o)
	select {
	case w.filled <- struct{}{}:
	default:
	}
}

// run writes until stop is closed and the queue is empty.
func (w *writer) run(stop <-chan struct{}) {
	for {
		w.flush()
		select {
		case <-w.filled:
		case <-stop:
			for !w.end() {
				w.flush()
			}
			return
		}
	}
}

// end closes the queue if it is empty.
func (w *writer) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = len(w.queue) == 0
	return w.ended
}

func (w *writer) flush() {
	for {
		w.mu.Lock()
		lines := w.queue
		w.queue = nil
		w.mu.Unlock()
		if len(lines) == 0 {
			return
		}
		for _, o := range lines {
			ok := w.write(o)
			if o.done != nil {
				o.done <- ok
			}
		}
	}
}

func (w *writer) write(o outgoing) bool {
	if w.err != nil || o.wanted != nil && !o.wanted() {
		return false
	}
	// One write a line: a client that reads between two writes would see
	// half a message only if the kernel splits it.
	if _, err := w.out.Write(append(o.line, '\n')); err != nil {
		w.err = err
		close(w.failed)
		return false
	}
	return true
}

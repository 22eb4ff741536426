package watch

import (
	"sync"
	"time"

	"peermux/internal/proc"
)

// processEvery is the pace where the kernel cannot tell of a process's end.
const processEvery = 250 * time.Millisecond

// Process returns a channel that is closed when the process has ended; a
// process that is not alive, or whose pid another one has by now, has ended
// already. stop ends the wait and leaves the channel open.
//
// On Linux a pidfd tells, at no cost while nothing happens; where that is
// refused or unknown, the process is looked at four times a second.
func Process(id proc.ID) (gone <-chan struct{}, stop func()) {
	ended := make(chan struct{})
	if wait, quit, ok := exitNotice(id.PID); ok {
		// The pidfd is open: from here on the pid cannot pass to another
		// process unnoticed, so this check holds.
		if proc.Alive(id) {
			go func() {
				if wait() {
					close(ended)
				}
			}()
			return ended, sync.OnceFunc(quit)
		}
		quit()
	}
	if !proc.Alive(id) {
		close(ended)
		return ended, func() {}
	}
	halt := make(chan struct{})
	go pollProcess(id, ended, halt)
	return ended, sync.OnceFunc(func() { close(halt) })
}

func pollProcess(id proc.ID, ended chan<- struct{}, halt <-chan struct{}) {
	tick := time.NewTicker(processEvery)
	defer tick.Stop()
	for {
		select {
		case <-halt:
			return
		case <-tick.C:
			if !proc.Alive(id) {
				close(ended)
				return
			}
		}
	}
}

package switchboard

import (
	"sync"

	"peermux/mailbox"
)

// hearing shares among all waits of this process one reading of each journal that
// they wait on: of a line that is written, only those hear whom it concerns.
type hearing struct {
	mu    sync.Mutex
	boxes map[string]*listener
}

// ear is one who waits for lines about a message.
type ear struct {
	id      string // of the message: lines about it, and answers to it
	session string // plain messages of this session, too; "" is none
	// hear is called with each line, and with every line about a move of the box.
	// It must not block.
	hear func(mailbox.Line)
}

func (e *ear) concerns(l mailbox.Line) bool {
	return l.ID == e.id || l.ReplyTo == e.id || l.T == mailbox.LineMoved ||
		e.session != "" && l.T == mailbox.LineMessage && l.Kind == mailbox.KindNote && l.From.SessionID == e.session
}

// listener reads one box for its ears.
type listener struct {
	follower *mailbox.Follower
	ears     map[*ear]bool
	ended    chan struct{}
	stop     func()
}

// listen makes e hear what is added to a box from now on.
func (b *Board) listen(key string, e *ear) (stop func()) {
	h := &b.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.boxes[key]
	if l == nil {
		follower, err := b.Store.Follow(key)
		if err != nil {
			return func() {} // whoever waits looks now and then anyway
		}
		events, unwatch := b.Watch.File(mailbox.JournalPath(b.Home, key))
		l = &listener{follower: follower, ears: map[*ear]bool{}, ended: make(chan struct{}), stop: unwatch}
		if h.boxes == nil {
			h.boxes = map[string]*listener{}
		}
		h.boxes[key] = l
		go h.run(l, events)
	}
	l.ears[e] = true
	return func() { h.leave(key, l, e) }
}

func (h *hearing) leave(key string, l *listener, e *ear) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(l.ears, e)
	if len(l.ears) > 0 || h.boxes[key] != l {
		return
	}
	delete(h.boxes, key)
	l.stop()
	close(l.ended)
}

func (h *hearing) run(l *listener, events <-chan struct{}) {
	for {
		select {
		case <-events:
		case <-l.ended:
			return
		}
		lines, err := l.follower.Next()
		if err != nil {
			continue // read with the next event; those who wait look now and then
		}
		h.mu.Lock()
		for _, line := range lines {
			for e := range l.ears {
				if e.concerns(line) {
					e.hear(line)
				}
			}
		}
		h.mu.Unlock()
	}
}

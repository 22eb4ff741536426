package switchboard

import (
	"path/filepath"
	"sync"
	"time"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// vigil is the wait for the answers to one ask call. One goroutine runs it.
// Watchers only leave marks and kick it; what it finds out it reads from the
// files.
type vigil struct {
	board   *Board
	actor   Actor
	request AskRequest
	timeout time.Duration
	begun   time.Time

	inquiries []*inquiry
	notes     []string
	claims    deliveries
	box       string // the asker's, as it is called now
	stops     []func()
	ended     chan struct{} // closed when the wait is over
	kicks     chan struct{}
	wakes     sync.WaitGroup

	mu    sync.Mutex
	moved bool // mark: the asker's box moved
}

// inquiry is one question of a vigil.
type inquiry struct {
	target string
	dest   dest
	id     string
	since  time.Time
	gone   <-chan struct{} // the peer's client has ended
	left   <-chan struct{} // the peer's MCP server has ended

	marks // guarded by vigil.mu
	wake  *WakeInfo

	facts   detect.StatusFacts
	status  detect.Status // as it was at the last look
	shownAt time.Time
	heard   bool          // the peer may have sent a plain message
	note    *mailbox.Item // plain message of the peer that came meanwhile
	noteAt  time.Time
	lost    time.Time // since when no server stands for the peer
	again   time.Time // when to judge it again although nothing is marked
	check   time.Time // when to read everything again

	over   bool
	answer string // id of the message that answers it
	unread bool   // the answer was only heard of; with several targets it never is
	reply  *Answer
	ended  string // verdict that ended it without an answer
	state  string
	err    *Error
	report string // last progress
}

// marks are what watchers have noticed since the last look.
type marks struct {
	came    string    // id of an answer in the asker's box
	noted   bool      // a plain message of the peer may be there
	shown   time.Time // when the peer was shown the question
	strayed bool      // the question went along with its box
	stirred bool      // the peer's status, process or wake changed
	due     bool      // it is time to read everything
}

func (m marks) any() bool { return m != marks{} }

func newVigil(b *Board, a Actor, r AskRequest, timeout time.Duration) *vigil {
	return &vigil{
		board: b, actor: a, request: r, timeout: timeout, begun: b.Now(), box: b.Store.Resolve(a.Box),
		kicks: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// mark notes something about a question and wakes the vigil.
func (v *vigil) mark(set func()) {
	v.mu.Lock()
	set()
	v.mu.Unlock()
	select {
	case v.kicks <- struct{}{}:
	default:
	}
}

// hearOwn listens in the asker's box for the answer to a question.
func (v *vigil) hearOwn(q *inquiry) {
	v.stops = append(v.stops, v.board.listen(v.box, &ear{id: q.id, session: q.dest.party.SessionID, hear: func(l mailbox.Line) {
		v.mark(func() {
			switch {
			case l.T == mailbox.LineMoved:
				v.moved = true
			case l.T == mailbox.LineMessage && l.ReplyTo == q.id:
				q.came = l.ID
			case l.T == mailbox.LineMessage:
				q.noted = true
			}
		})
	}}))
}

// hearTarget listens in the target's box for what becomes of a question.
func (v *vigil) hearTarget(q *inquiry) {
	v.stops = append(v.stops, v.board.listen(q.dest.key, &ear{id: q.id, hear: func(l mailbox.Line) {
		switch l.T {
		case mailbox.LineMoved:
			v.mark(func() { q.strayed = true })
		case mailbox.LineShown:
			v.mark(func() { q.shown = l.At })
		}
	}}))
}

// follow watches the session that was asked, as it is now: it may go on under
// another id or behind another server.
func (v *vigil) follow(q *inquiry, e registry.Entry) {
	q.dest.entry, q.facts = &e, v.board.statusFacts(e)
	home, key := v.board.Home, q.dest.key
	files := []string{filepath.Join(home, "status", key), filepath.Join(home, "wake", key+".json")}
	if e.Client.Kind == registry.Claude {
		files = append(files, v.board.ClaudeSessionFile(e))
	}
	for _, file := range files {
		events, stop := v.board.Watch.File(file)
		v.stops = append(v.stops, stop)
		go v.stir(q, events)
	}
	q.left, q.gone = v.attend(q, e.ID()), nil
	if e.Client.PID != 0 {
		q.gone = v.attend(q, e.Client.ID())
	}
}

// attend watches a process and returns a channel that is closed when it has
// ended.
func (v *vigil) attend(q *inquiry, id proc.ID) <-chan struct{} {
	gone, stop := watch.Process(id)
	v.stops = append(v.stops, stop)
	go func() {
		select {
		case <-gone:
			v.mark(func() { q.stirred = true })
		case <-v.ended:
		}
	}()
	return gone
}

func (v *vigil) stir(q *inquiry, events <-chan struct{}) {
	for {
		select {
		case <-events:
			v.mark(func() { q.stirred = true })
		case <-v.ended:
			return
		}
	}
}

func (v *vigil) close() {
	close(v.ended)
	for _, stop := range v.stops {
		stop()
	}
	if v.actor.Kind != registry.ToSession {
		// A command ends with its process, and with it a wake that has begun.
		v.wakes.Wait()
	}
}

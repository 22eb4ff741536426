package switchboard

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// vigil is the wait for the answers to one ask call. One goroutine runs it; the
// watchers only kick it, so everything it finds out it reads from the files.
type vigil struct {
	board   *Board
	actor   Actor
	request AskRequest
	timeout time.Duration
	begun   time.Time

	inquiries []*inquiry
	notes     []string
	claims    deliveries
	kicks     chan struct{}
	ended     chan struct{} // closed by close: the forwarders end
	stops     []func()
	wakes     sync.WaitGroup
	ownBox    string // the box that is being watched
	ownStamp  int64  // its size and time when it was last read

	mu sync.Mutex // guards what the wakes write: inquiry.wake
}

// inquiry is one question of a vigil.
type inquiry struct {
	target string
	dest   dest
	id     string
	since  time.Time
	gone   <-chan struct{} // the peer's client has ended
	left   <-chan struct{} // the peer's MCP server has ended
	wake   *WakeInfo

	shownAt time.Time
	note    *mailbox.Item // plain message of the peer that came meanwhile
	noteAt  time.Time
	lost    time.Time // since when no process stands for the peer

	over   bool
	reply  *Answer
	ended  string // verdict that ended it early
	state  string
	err    *Error
	report string // last progress
}

func newVigil(b *Board, a Actor, r AskRequest, timeout time.Duration) *vigil {
	v := &vigil{
		board: b, actor: a, request: r, timeout: timeout, begun: b.Now(),
		kicks: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	v.watchOwn()
	return v
}

// box is the asker's box as it is called now.
func (v *vigil) box() string { return v.ownBox }

// watchOwn follows the asker's box, which moves when its session gets a new id.
func (v *vigil) watchOwn() {
	box := v.board.Store.Resolve(v.actor.Box)
	if box == v.ownBox {
		return
	}
	v.ownBox, v.ownStamp = box, 0
	v.forward(v.board.Watch.File(mailbox.JournalPath(v.board.Home, box)))
}

// watchTarget watches everything that can tell of a question's fate.
func (v *vigil) watchTarget(q *inquiry) {
	if q.dest.entry != nil {
		v.follow(q, *q.dest.entry)
		return
	}
	v.forward(v.board.Watch.File(mailbox.JournalPath(v.board.Home, q.dest.key)))
}

// follow watches the files and the processes of the session that was asked, as it
// is now: it may go on under another id or behind another server.
func (v *vigil) follow(q *inquiry, e registry.Entry) {
	q.dest.entry = &e
	home, key := v.board.Home, q.dest.key
	files := []string{
		mailbox.JournalPath(home, key), filepath.Join(home, "status", key), filepath.Join(home, "wake", key+".json"),
	}
	if e.Client.Kind == registry.Claude {
		files = append(files, v.board.ClaudeSessionFile(e))
	}
	for _, file := range files {
		v.forward(v.board.Watch.File(file))
	}
	q.left, q.gone = v.forwardEnd(watch.Process(e.ID())), nil
	if e.Client.PID != 0 {
		q.gone = v.forwardEnd(watch.Process(e.Client.ID()))
	}
}

// forward turns file events into kicks.
func (v *vigil) forward(events <-chan struct{}, stop func()) {
	v.stops = append(v.stops, stop)
	go func() {
		for {
			select {
			case <-events:
				v.kick()
			case <-v.ended:
				return
			}
		}
	}()
}

// forwardEnd kicks once when a process ends and returns a channel that stays
// readable from then on.
func (v *vigil) forwardEnd(gone <-chan struct{}, stop func()) <-chan struct{} {
	v.stops = append(v.stops, stop)
	go func() {
		select {
		case <-gone:
			v.kick()
		case <-v.ended:
		}
	}()
	return gone
}

func (v *vigil) kick() {
	select {
	case v.kicks <- struct{}{}:
	default:
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

// Pauses of the wait.
const (
	// reportEvery is how often a progress that did not change is sent again.
	reportEvery = 10 * time.Second
	// lookAgain is the safety net under the file events.
	lookAgain = time.Second
)

// wait returns when every question is answered or given up. Its only error is
// that of a cancelled ctx.
func (v *vigil) wait(ctx context.Context) error {
	deadline := time.NewTimer(v.timeout - v.board.Now().Sub(v.begun))
	defer deadline.Stop()
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		next := v.look()
		if v.over() {
			return nil
		}
		again.Reset(next)
		select {
		case <-ctx.Done():
			v.cancel()
			return ctx.Err()
		case <-deadline.C:
			v.giveUp()
			return nil
		case <-v.kicks:
		case <-again.C:
		}
	}
}

func (v *vigil) over() bool {
	for _, q := range v.inquiries {
		if !q.over {
			return false
		}
	}
	return true
}

// look reads what has changed and returns when to look again at the latest.
func (v *vigil) look() time.Duration {
	v.watchOwn()
	changed := v.ownChanged()
	next := reportEvery
	for _, q := range v.inquiries {
		if q.over {
			continue
		}
		if changed {
			v.lookForReply(q)
		}
		if q.over {
			continue
		}
		verdict, again := judge(v.observe(q, changed))
		if again > 0 {
			next = min(next, again)
		}
		if verdict != goesOn {
			v.end(q, verdict)
			continue
		}
		v.tell(q)
	}
	return next
}

// ownChanged reports whether the asker's journal is another one than at the last
// look. 50 questions in flight all hear of every line in it.
func (v *vigil) ownChanged() bool {
	info, err := os.Stat(mailbox.JournalPath(v.board.Home, v.ownBox))
	if err != nil {
		return true
	}
	stamp := info.ModTime().UnixNano() ^ info.Size()<<40
	if stamp == v.ownStamp {
		return false
	}
	v.ownStamp = stamp
	return true
}

// lookForReply takes the answer if it is there.
func (v *vigil) lookForReply(q *inquiry) {
	b := v.board
	if may, err := b.Store.HasReplyTo(v.ownBox, q.id); err == nil && !may {
		return
	}
	claim, err := b.Store.Claim(v.ownBox, mailbox.ClaimOptions{
		Reader: v.actor.reader(), Via: viaAsk, OnlyReplyTo: q.id,
		PID: v.actor.Process.PID, Start: v.actor.Process.Start, Limit: 1,
	})
	if err != nil || len(claim.Messages) == 0 {
		// A storage error here is looked at again with the next change; the
		// answer stays in the box.
		return
	}
	v.take(q, claim)
}

// take ends a question with the message in the claim.
func (v *vigil) take(q *inquiry, claim *mailbox.Claim) {
	it := claim.Messages[0]
	v.claims = append(v.claims, claim)
	q.reply, q.over, q.state = answerOf(it), true, askAnswered
	q.reply.Uncorrelated = it.ReplyTo != q.id
	v.record(q, askAnswered, it.ID)
}

// record writes how a question ended. From then on its answers are ordinary mail.
func (v *vigil) record(q *inquiry, how, replyID string) {
	if err := v.board.Store.AskEnded(v.ownBox, q.id, how, replyID); err != nil {
		v.notes = append(v.notes, "the question stays listed as open until this server ends: "+err.Error())
	}
}

// cancel ends the wait without a result. What was taken is put back.
func (v *vigil) cancel() {
	for _, q := range v.inquiries {
		if !q.over {
			q.over = true
			v.record(q, askCancelled, "")
		}
	}
	if err := v.claims.Release(); err != nil {
		return // it is shown again when the claim has run out
	}
}

// giveUp ends what is still open at the deadline. It is recorded first and looked
// for once more then: an answer that comes between the two is taken here, and one
// that comes later is mail.
func (v *vigil) giveUp() {
	for _, q := range v.inquiries {
		if q.over {
			continue
		}
		v.record(q, askTimedOut, "")
		v.watchOwn()
		v.lookForReply(q)
		if q.over {
			continue
		}
		q.over, q.ended = true, timedOut
		q.state = v.stateOf(q)
	}
}

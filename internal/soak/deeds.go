package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// act is what the model does: one tool call after the other.
func (w *worker) act() {
	ctx := context.Background()
	for n := 1; !w.quiet.Load(); n++ {
		body := fmt.Sprintf("%s says %d %s", w.Name, n, strings.Repeat("something long ", rand.IntN(60)))
		switch dice := rand.IntN(100); {
		case dice < 40:
			w.send(ctx, switchboard.SendRequest{Target: w.peer(), Body: body})
		case dice < 55:
			w.send(ctx, switchboard.SendRequest{Target: w.peer(), Body: body, Task: true})
		case dice < 70:
			w.ask(ctx, body)
		case dice < 76:
			w.broadcast(ctx, body)
		case dice < 82:
			w.clear()
		case dice < 92:
			w.read()
		default:
			w.closeOne(ctx)
		}
		w.pause(120 * time.Millisecond)
	}
}

// failed notes an error that no session should meet. Refusals are counted: with peers
// that die and talk at once they have to come.
func (w *worker) failed(what string, err error) bool {
	if err == nil {
		return false
	}
	e, ok := errors.AsType[*switchboard.Error](err)
	if ok {
		switch e.Code {
		case switchboard.CodeRateLimited, switchboard.CodeUnknownTarget, switchboard.CodePeerGone,
			switchboard.CodeWouldDeadlock, switchboard.CodeAlreadyClosed:
			w.say("refused " + e.Code)
			return true
		}
		what += ": " + e.Code
	}
	w.say(strings.ReplaceAll(fmt.Sprintf("fail %s: %v", what, err), "\n", " "))
	return true
}

func (w *worker) send(ctx context.Context, r switchboard.SendRequest) {
	if res, err := w.board.Send(ctx, w.actor(), r); !w.failed("send", err) {
		w.say("ack " + res.MessageID + " " + r.Target)
	}
}

func (w *worker) broadcast(ctx context.Context, body string) {
	scope := []string{switchboard.ScopeProject, switchboard.ScopeGlobal}[rand.IntN(2)]
	res, err := w.board.Broadcast(ctx, w.actor(), switchboard.BroadcastRequest{Body: body, Scope: scope})
	if !w.failed("broadcast", err) {
		w.say("ack " + res.MessageID + " *")
	}
}

func (w *worker) ask(ctx context.Context, body string) {
	target := w.peer()
	res, delivery, err := w.board.Ask(ctx, w.actor(), switchboard.AskRequest{
		Target: target, Body: body, Timeout: 20*time.Millisecond + rand.N(400*time.Millisecond),
	})
	var ids []string
	if !w.failed("ask", err) {
		w.say("ack " + res.MessageID + " " + target)
		if res.Reply != nil {
			ids = append(ids, res.Reply.MessageID)
		}
	} else if e := switchboard.AsError(err); e.Code == switchboard.CodeWouldDeadlock {
		if question, ok := e.Details["question"].(switchboard.Mail); ok {
			ids = append(ids, question.MessageID)
		}
	}
	if delivery != nil {
		w.show(ids, delivery)
	}
}

// show puts mail in front of the model, which is to write it into the log, and then
// records that. Death may come in between.
func (w *worker) show(ids []string, d switchboard.Delivery) {
	w.say(each("out ", ids)...)
	if !w.failed("record as shown", d.Shown()) {
		w.say(each("rec ", ids)...)
	}
}

func each(word string, ids []string) []string {
	var lines []string
	for _, id := range ids {
		lines = append(lines, word+id)
	}
	return lines
}

// read is the read_my_messages tool. It returns how many messages it showed.
func (w *worker) read() int {
	res, delivery, err := w.board.Read(context.Background(), w.actor(), switchboard.ReadRequest{Via: "read_my_messages"})
	if w.failed("read", err) {
		return 0
	}
	var ids []string
	for _, m := range res.Messages {
		ids = append(ids, m.MessageID)
	}
	w.show(ids, delivery)
	return len(ids)
}

// closeOne takes up one of the open tasks or questions.
func (w *worker) closeOne(ctx context.Context) {
	res, err := w.board.OpenWork(ctx, w.actor())
	if w.failed("open work", err) || len(res.Work) == 0 {
		return
	}
	w.takeUp(res.Work[rand.IntN(len(res.Work))])
}

// takeUp settles what the list of open work, which has its text, put in front of the
// model. Such mail is not shown again once it is settled.
func (w *worker) takeUp(one switchboard.Work) {
	w.say("saw " + one.MessageID)
	w.settle(one.MessageID, one.Kind, one.From.Name)
}

// settle answers a question or closes a task of the session from.
func (w *worker) settle(id, kind, from string) {
	ctx, a, body := context.Background(), w.actor(), "from "+w.Name+" about "+id
	if kind == string(mailbox.KindAsk) {
		if res, err := w.board.Reply(ctx, a, switchboard.ReplyRequest{MessageID: id, Body: body}); !w.failed("reply", err) {
			w.say("ack " + res.MessageID + " " + from)
		}
		return
	}
	end := w.board.CompleteWork
	if rand.IntN(3) == 0 {
		end = w.board.BlockWork
	}
	if res, err := end(ctx, a, switchboard.CloseRequest{MessageID: id, Body: body}); !w.failed("close", err) {
		w.say("ack " + res.ResultID + " " + from)
	}
}

// clear goes on under a new session id, as /clear does.
func (w *worker) clear() {
	e := w.current()
	next := newSession(w.Name)
	w.say("session " + next)
	if w.failed("move", w.board.Store.Move(e.Box, mailbox.SessionKey(next))) {
		return
	}
	w.say("cleared " + next)
	e.SessionID, e.Box = next, mailbox.SessionKey(next)
	e, err := w.board.Register(e, "")
	if w.failed("register", err) {
		return
	}
	w.mu.Lock()
	w.entry = e
	w.mu.Unlock()
}

// hook shows mail the way the hooks do, beside the tool calls, and lets the model
// react to some of it.
func (w *worker) hook() {
	for !w.quiet.Load() {
		w.pause(80 * time.Millisecond)
		e := w.current()
		key := w.board.Store.Resolve(e.Box)
		claim, err := w.board.Store.Claim(key, mailbox.ClaimOptions{Reader: e.SessionID, Via: "PostToolUse", Limit: 1 + rand.IntN(5)})
		if w.failed("claim", err) {
			continue
		}
		for _, it := range w.put(claim) {
			if it.Kind == mailbox.KindAsk && rand.IntN(5) > 0 || it.Kind == mailbox.KindTask && rand.IntN(2) == 0 {
				w.settle(it.ID, string(it.Kind), it.From.Name)
			}
		}
		for _, feed := range []string{mailbox.FeedProject(e.Project), mailbox.FeedGlobal} {
			claim, err := w.board.Store.FeedNew(feed, w.board.Store.Resolve(e.Box), mailbox.FeedOptions{
				Self: e.SessionID, Via: "PostToolUse", Limit: 1 + rand.IntN(5),
			})
			if !w.failed("claim of a feed", err) {
				w.put(claim)
			}
		}
	}
}

// put shows a claim, or now and then gives it back, as a hook does whose output
// could not be written.
func (w *worker) put(claim *mailbox.Claim) []mailbox.Item {
	if rand.IntN(10) == 0 {
		w.failed("release", claim.Release())
		return nil
	}
	var ids []string
	for _, it := range claim.Messages {
		ids = append(ids, it.ID)
	}
	if len(ids) > 0 {
		w.show(ids, claim)
	}
	return claim.Messages
}

// health says what the process holds: descriptors, goroutines, bytes in use.
func (w *worker) health() {
	h, err := measure()
	if !w.failed("measure", err) {
		w.say(fmt.Sprintf("health %d %d %d", h.files, h.routines, h.bytes))
	}
}

type health struct {
	files, routines int
	bytes           uint64
}

func measure() (health, error) {
	fds, err := os.ReadDir("/dev/fd")
	if err != nil {
		return health{}, err
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return health{len(fds), runtime.NumGoroutine(), mem.HeapInuse}, nil
}

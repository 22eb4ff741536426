package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// How long calls that are under way get when the server has to end.
const (
	// graceEOF: the client closed our stdin but may still read, as a shell
	// does in `printf … | peermux mcp`.
	graceEOF = 2 * time.Second
	// graceCancel: for calls to record how they ended. Claude Code sends
	// SIGKILL 3 s after SIGINT, and peers expect us gone within a second of
	// our client's end.
	graceCancel = 500 * time.Millisecond
)

// errClientGone ends the loop when the client's process has ended.
var errClientGone = errors.New("the client's process has ended")

// loop speaks JSON-RPC on stdio around mcp-go's message handler. mcp-go's own
// stdio loop runs calls in a pool that blocked asks exhaust, loses
// cancellations that follow their call closely, answers cancelled calls and
// writes progress after the result (mcp-go v1.2.1).
type loop struct {
	mcp     *server.MCPServer
	session *clientSession
	out     *writer
	// initialized is called once, when the answer to initialize is on its way.
	initialized func()
	greeted     bool

	mu    sync.Mutex
	calls map[string]*call // by raw request id
	group sync.WaitGroup
}

// call is one request on its way. A request is answered or cancelled, never
// both: whoever sets settled first decides.
type call struct {
	cancel   context.CancelFunc
	settled  atomic.Bool
	progress json.RawMessage // token, nil when the client wants none
	out      *writer

	mu    sync.Mutex
	after []commitment
	steps int
}

// commitment is what depends on whether the result reached the client.
type commitment interface {
	Shown() error
	Release() error
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// commit makes d wait for the result line: Shown when it is out completely,
// Release when it is not.
func (c *call) commit(d commitment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = append(c.after, d)
}

// report sends a progress notification if the client asked for them.
func (c *call) report(message string) {
	if c == nil || c.progress == nil {
		return
	}
	c.mu.Lock()
	c.steps++
	step := c.steps
	c.mu.Unlock()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION,
		"method":  "notifications/progress",
		"params":  map[string]any{"progressToken": c.progress, "progress": step, "message": message},
	})
	if err != nil {
		return // the token came from valid JSON and the rest is ours
	}
	c.out.put(outgoing{line: line, wanted: func() bool { return !c.settled.Load() }})
}

// run serves lines until the input ends, ctx ends, the client dies or a write
// fails. Only a failed write is an error.
func (l *loop) run(ctx context.Context, lines <-chan []byte, clientGone <-chan struct{}) error {
	callsCtx, cancelAll := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelAll()
	callsCtx = l.mcp.WithContext(callsCtx, l.session)

	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { l.out.run(stop) })
	writing.Go(func() { l.forward(stop) })

	why := l.serve(ctx, callsCtx, lines, clientGone)
	l.finish(why, cancelAll, clientGone)
	close(stop)
	// A client that does not read could block the last line for ever.
	within(graceCancel, writing.Wait)
	if errors.Is(why, context.Canceled) || errors.Is(why, errClientGone) {
		return nil
	}
	return why
}

// within waits for f to return, for d at most.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

func (l *loop) serve(ctx, callsCtx context.Context, lines <-chan []byte, clientGone <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clientGone:
			return errClientGone
		case <-l.out.failed:
			return fmt.Errorf("writing to the client: %v", l.out.err)
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			l.take(callsCtx, line)
		}
	}
}

// finish gives the calls under way their grace and then cancels them. It
// returns although a call may ignore its context.
func (l *loop) finish(why error, cancelAll context.CancelFunc, clientGone <-chan struct{}) {
	idle := make(chan struct{})
	go func() {
		l.group.Wait()
		close(idle)
	}()
	if why == nil {
		select {
		case <-idle:
			return
		case <-clientGone:
		case <-l.out.failed:
		case <-time.After(graceEOF):
		}
	}
	cancelAll()
	within(graceCancel, l.group.Wait)
}

// take handles one line. Everything that must keep its order happens before it
// returns: initialize, notifications, and the registration of a request.
func (l *loop) take(ctx context.Context, line []byte) {
	h, err := parseHeader(line)
	switch {
	case errors.Is(err, errNotObject):
		l.reply(mcp.NewJSONRPCError(mcp.NewRequestId(nil), mcp.INVALID_REQUEST, err.Error(), nil), nil)
	case err != nil:
		l.reply(mcp.NewJSONRPCError(mcp.NewRequestId(nil), mcp.PARSE_ERROR,
			"not a JSON-RPC message: "+err.Error(), nil), nil)
	case h.answer():
	case h.Method == "server/discover":
		// Protocol 2026-07-28, which Claude Code 2.1.328 asks for first: it has no
		// handshake, so we would never learn who our client is. Refused, the
		// client goes on with initialize in the same process.
		l.reply(mcp.NewJSONRPCError(mcp.NewRequestId(h.ID), mcp.METHOD_NOT_FOUND, "peermux speaks protocol 2025-11-25: use initialize", nil), nil)
	case h.Method == "notifications/cancelled":
		l.cancel(rawKey(h.Params.RequestID))
	case h.key() == "" || h.Method == "initialize":
		if resp := l.handle(ctx, h, line); resp != nil {
			l.reply(resp, nil)
		}
		l.greet()
	default:
		l.start(ctx, h, line)
	}
}

// greet notices that the handshake is done.
func (l *loop) greet() {
	if !l.greeted && l.session.Initialized() {
		l.greeted = true
		l.initialized()
	}
}

func (l *loop) start(ctx context.Context, h header, line []byte) {
	ctx, cancel := context.WithCancel(ctx)
	c := &call{cancel: cancel, progress: h.Params.Meta.ProgressToken, out: l.out}
	if !l.enter(h.key(), c) {
		cancel()
		l.reply(mcp.NewJSONRPCError(mcp.NewRequestId(h.ID), mcp.INVALID_REQUEST,
			"a request with this id is still under way", nil), nil)
		return
	}
	ctx = context.WithValue(ctx, callKey{}, c)
	l.group.Go(func() {
		defer cancel()
		out := l.reply(l.handle(ctx, h, line), c)
		l.exit(h.key(), c)
		c.finish(out)
	})
}

// enter registers a call, unless one with its id is under way. One whose answer
// is being written may be replaced: the client has perhaps read it already.
func (l *loop) enter(key string, c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.calls[key]; other != nil && !other.settled.Load() {
		return false
	}
	l.calls[key] = c
	return true
}

func (l *loop) exit(key string, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[key] == c {
		delete(l.calls, key)
	}
}

// handle is mcp-go's handler with a panic turned into an answer.
func (l *loop) handle(ctx context.Context, h header, line []byte) (resp mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			resp = mcp.NewJSONRPCError(mcp.NewRequestId(h.ID), mcp.INTERNAL_ERROR,
				fmt.Sprintf("peermux failed on %s: %v", h.Method, r), nil)
		}
	}()
	return withID(l.mcp.HandleMessage(ctx, line), h.ID)
}

// withID gives a response the id as the client wrote it: mcp-go reads ids as
// float64.
func withID(resp mcp.JSONRPCMessage, id json.RawMessage) mcp.JSONRPCMessage {
	switch r := resp.(type) {
	case mcp.JSONRPCResponse:
		r.ID = mcp.NewRequestId(id)
		return r
	case mcp.JSONRPCError:
		if r.ID.Value() != nil {
			r.ID = mcp.NewRequestId(id)
		}
		return r
	}
	return resp
}

// cancel ends a call; from here on no answer to it is written.
func (l *loop) cancel(key string) {
	l.mu.Lock()
	c := l.calls[key]
	l.mu.Unlock()
	if c != nil && c.settled.CompareAndSwap(false, true) {
		c.cancel()
	}
}

// reply writes a response and reports whether it is out. c is nil for what
// nobody can cancel.
func (l *loop) reply(resp mcp.JSONRPCMessage, c *call) bool {
	line, err := json.Marshal(resp)
	if err != nil {
		line = []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the result cannot be written as JSON"}}`)
	}
	if c == nil {
		l.out.put(outgoing{line: line})
		return true
	}
	done := make(chan bool, 1)
	l.out.put(outgoing{line: line, done: done, wanted: func() bool { return c.settled.CompareAndSwap(false, true) }})
	return <-done
}

// finish tells everything that hung on this call how it went. An error here
// costs at most a message that is shown a second time, marked as such.
func (c *call) finish(out bool) {
	c.mu.Lock()
	after := c.after
	c.mu.Unlock()
	for _, d := range after {
		if out {
			_ = d.Shown()
		} else {
			_ = d.Release()
		}
	}
}

// forward passes on what mcp-go itself wants to tell the client.
func (l *loop) forward(stop <-chan struct{}) {
	for {
		select {
		case n := <-l.session.notifications:
			if line, err := json.Marshal(n); err == nil {
				l.out.put(outgoing{line: line})
			}
		case <-stop:
			return
		}
	}
}

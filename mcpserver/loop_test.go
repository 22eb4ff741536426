package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Five blocked calls, or fifty, hold up nobody.
func TestCallsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"ask": sleeps(time.Hour), "send": instant})
		for i := range 50 {
			w.call(i, "ask")
		}
		begun := time.Now()
		w.call(100, "send")
		if got := w.result(100); got != "here" || time.Since(begun) != 0 {
			t.Errorf("got %q after %v", got, time.Since(begun))
		}
		w.stop()
		if err := w.wait(); err != nil {
			t.Error(err)
		}
	})
}

// A cancellation right behind its call reaches it, and nothing is answered.
func TestCancelRightAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Int32
		w := newWire(t, map[string]handler{"send": instant, "ask": func(ctx context.Context) (string, error) {
			<-ctx.Done()
			cancelled.Add(1)
			return "", ctx.Err()
		}})
		for i := range 50 {
			w.call(i, "ask")
			w.cancel(i)
		}
		synctest.Wait()
		if n := cancelled.Load(); n != 50 {
			t.Errorf("%d calls were cancelled", n)
		}
		w.silent()
		w.cancel(7)    // again
		w.cancel(1234) // never was
		w.call(200, "send")
		w.result(200)
		w.cancel(200) // too late
		w.silent()
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

// An id is what the client wrote: 1 and "1" are two requests, and a cancellation
// reaches the one that it names.
func TestIDsKeepTheirType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"ask": sleeps(time.Second)})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
		w.send(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"ask"}}`)
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`)
		if line := w.next(); !strings.Contains(line, `"id":1,`) || !strings.Contains(line, "slept") {
			t.Errorf("got %s", line)
		}
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if line := w.next(); !strings.Contains(line, "still under way") {
			t.Errorf("a second request with the same id: %s", line)
		}
		// Beyond what a float64 can hold.
		w.send(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
		if line := w.next(); !strings.Contains(line, `"id":9007199254740993`) {
			t.Errorf("got %s", line)
		}
		w.stop()
		if err := w.wait(); err != nil {
			t.Error(err)
		}
	})
}

// Progress is on the wire before the result of its call, every time.
func TestProgressBeforeResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"ask": func(ctx context.Context) (string, error) {
			callOf(ctx).report("one")
			callOf(ctx).report("two")
			return "done", nil
		}})
		for i := range 300 {
			w.call(i, "ask")
			for step, text := range []string{"one", "two"} {
				var n struct {
					Method string
					Params struct {
						ProgressToken string
						Progress      int
						Message       string
					}
				}
				line := w.next()
				if err := json.Unmarshal([]byte(line), &n); err != nil || n.Method != "notifications/progress" || n.Params.Message != text ||
					n.Params.ProgressToken != fmt.Sprint("p", i) || n.Params.Progress != step+1 {
					t.Fatalf("call %d: got %s", i, line)
				}
			}
			w.result(i)
		}
		w.send(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ask"}}`)
		if line := w.next(); strings.Contains(line, "progress") {
			t.Errorf("progress without a token: %s", line)
		}
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

// Input that is no message is answered and passed over.
func TestMalformedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"send": instant})
		for _, tt := range []struct {
			line string
			code int // 0: no answer
		}{
			{`{"jsonrpc":"2.0","id":1,"method":`, mcp.PARSE_ERROR},
			{`not json at all`, mcp.PARSE_ERROR},
			{`[1,2,3]`, mcp.INVALID_REQUEST},
			{`"text"`, mcp.INVALID_REQUEST},
			{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, mcp.INVALID_REQUEST},
			{`{"id":1,"method":"ping"}`, mcp.INVALID_REQUEST},
			{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, mcp.METHOD_NOT_FOUND},
			{`{"jsonrpc":"2.0","id":1,"method":7}`, mcp.PARSE_ERROR},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, mcp.INVALID_REQUEST},
			{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, mcp.INVALID_PARAMS},
			{`{"jsonrpc":"2.0","id":9,"result":{}}`, 0},
			{`{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}`, 0},
			{`{"jsonrpc":"2.0","method":"notifications/unknown"}`, 0},
			{`   `, 0},
		} {
			w.send(tt.line)
			if tt.code == 0 {
				w.silent()
				continue
			}
			var r struct{ Error struct{ Code int } }
			if line := w.next(); json.Unmarshal([]byte(line), &r) != nil || r.Error.Code != tt.code {
				t.Errorf("%s: got %s, want code %d", tt.line, line, tt.code)
			}
		}
		w.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"send","arguments":{"x":"` + strings.Repeat("y", 2<<20) + `"}}}`)
		w.result(5)
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

func TestPanicInATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"send": instant, "boom": func(context.Context) (string, error) { panic("boom") }})
		w.call(1, "boom")
		if line := w.next(); !strings.Contains(line, "-32603") || !strings.Contains(line, `"id":1`) {
			t.Errorf("got %s", line)
		}
		w.call(2, "send")
		w.result(2)
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

// The end of input lets calls finish that need not long, and cancels the others.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Bool
		w := newWire(t, map[string]handler{
			"short": sleeps(graceEOF - time.Millisecond),
			"long": func(ctx context.Context) (string, error) {
				<-ctx.Done()
				cancelled.Store(true)
				return "", ctx.Err()
			},
		})
		w.call(1, "short")
		w.call(2, "long")
		begun := time.Now()
		w.in.Close()
		w.result(1)
		if err := w.wait(); err != nil || !cancelled.Load() {
			t.Errorf("ended with %v, cancelled %v", err, cancelled.Load())
		}
		if took := time.Since(begun); took < graceEOF || took > graceEOF+2*graceCancel {
			t.Errorf("it took %v", took)
		}
	})
}

// A handler that ignores its context does not hold up the end.
func TestStubbornCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		w := newWire(t, map[string]handler{"stubborn": func(context.Context) (string, error) { <-free; return "", nil }})
		w.call(1, "stubborn")
		synctest.Wait()
		begun := time.Now()
		w.stop()
		if err := w.wait(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 2*graceCancel {
			t.Errorf("it took %v", took)
		}
		close(free)
	})
}

// The client's end cancels at once: there is nobody to answer.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, map[string]handler{"ask": sleeps(time.Hour)})
		w.call(1, "ask")
		synctest.Wait()
		begun := time.Now()
		close(w.gone)
		if err := w.wait(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took >= time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// What a result shows counts as shown when the line is out, not before.
func TestDeliveryFollowsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receipts{}
		reads := func(ctx context.Context) (string, error) { callOf(ctx).commit(r); return "mail", nil }
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		slow := newGate(outR)
		w := newWireOn(t, map[string]handler{"read": reads, "ask": func(ctx context.Context) (string, error) {
			callOf(ctx).commit(r)
			<-ctx.Done()
			return "", ctx.Err()
		}}, inR, inW, slow, outW)
		w.call(1, "read")
		r.are(t, 0, 0) // the client does not read yet
		slow.open()
		w.result(1)
		r.are(t, 1, 0)
		w.call(2, "ask")
		w.cancel(2)
		r.are(t, 1, 1)
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

// A result that is cancelled while it waits to be written is not written.
func TestCancelWhileTheWriterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receipts{}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		slow := newGate(outR)
		w := newWireOn(t, map[string]handler{"read": func(ctx context.Context) (string, error) {
			callOf(ctx).commit(r)
			return "mail", nil
		}}, inR, inW, slow, outW)
		w.call(1, "read") // blocks the writer
		synctest.Wait()
		w.call(2, "read")
		synctest.Wait()
		w.cancel(2)
		synctest.Wait()
		slow.open()
		w.result(1)
		w.silent()
		r.are(t, 1, 1)
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}

// A write that fails half way ends the server and gives the mail back.
func TestWriteFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receipts{}
		inR, inW := io.Pipe()
		w := newWireOn(t, map[string]handler{"read": func(ctx context.Context) (string, error) {
			callOf(ctx).commit(r)
			return "mail", nil
		}, "ask": sleeps(time.Hour)}, inR, inW, strings.NewReader(""), &failing{left: 20})
		w.call(1, "ask")
		w.call(2, "read")
		if err := w.wait(); err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("ended with %v", err)
		}
		r.are(t, 0, 1)
	})
}

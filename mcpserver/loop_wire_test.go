package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// wire is a loop with a client at its other end, inside a synctest bubble.
type wire struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	gone  chan struct{}
	stop  context.CancelFunc
	ended chan error
	mcp   *server.MCPServer
}

type handler func(ctx context.Context) (string, error)

// newWire starts a loop whose tools are the given functions.
func newWire(t *testing.T, tools map[string]handler) *wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	return newWireOn(t, tools, inR, inW, outR, outW)
}

func newWireOn(t *testing.T, tools map[string]handler, inR *io.PipeReader, inW *io.PipeWriter, outR io.Reader, outW io.Writer) *wire {
	t.Helper()
	w := &wire{t: t, in: inW, lines: make(chan string, 1000), gone: make(chan struct{}), ended: make(chan error, 1)}
	w.mcp = server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	for name, run := range tools {
		w.mcp.AddTool(mcp.NewTool(name), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := run(ctx)
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(text), nil
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	t.Cleanup(func() {
		stop()
		inW.Close()
		if c, ok := outR.(io.Closer); ok {
			c.Close()
		}
	})
	session := newClientSession()
	if err := w.mcp.RegisterSession(ctx, session); err != nil {
		t.Fatal(err)
	}
	lines := make(chan []byte)
	stopReading := make(chan struct{})
	go readLines(inR, lines, stopReading)
	l := &loop{mcp: w.mcp, session: session, out: newWriter(outW), calls: map[string]*call{}, initialized: func() {}}
	go func() {
		err := l.run(ctx, lines, w.gone)
		close(stopReading)
		if c, ok := outW.(io.Closer); ok {
			c.Close()
		}
		inR.Close()
		w.ended <- err
	}()
	go func() {
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				w.lines <- strings.TrimSpace(line)
			}
			if err != nil {
				close(w.lines)
				return
			}
		}
	}()
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) call(id int, tool string) {
	w.t.Helper()
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":"p%d"}}}`, id, tool, id))
}

func (w *wire) cancel(id int) {
	w.t.Helper()
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
}

func (w *wire) next() string {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatal("the output has ended")
		}
		return line
	case <-time.After(time.Minute):
		w.t.Fatal("nothing came")
		return ""
	}
}

// result waits for the answer to a request and returns its text.
func (w *wire) result(id int) string {
	w.t.Helper()
	line := w.next()
	var r struct {
		ID     int
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.ID != id || r.Error != nil || len(r.Result.Content) != 1 {
		w.t.Fatalf("got %s, want the result of %d", line, id)
	}
	return r.Result.Content[0].Text
}

// silent fails the test when anything else is written.
func (w *wire) silent() {
	w.t.Helper()
	synctest.Wait()
	select {
	case line, ok := <-w.lines:
		if ok {
			w.t.Fatalf("unexpected line %s", line)
		}
	default:
	}
}

// finish ends the loop and waits for it.
func (w *wire) finish() error {
	w.t.Helper()
	w.in.Close()
	return w.wait()
}

func (w *wire) wait() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(time.Minute):
		w.t.Fatal("the loop does not end")
		return nil
	}
}

func sleeps(d time.Duration) handler {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return "slept", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func instant(context.Context) (string, error) { return "here", nil }

// receipts records how deliveries ended.
type receipts struct {
	mu              sync.Mutex
	shown, released int
}

func (r *receipts) Shown() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown++
	return nil
}

func (r *receipts) Release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released++
	return nil
}

func (r *receipts) are(t *testing.T, shown, released int) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown != shown || r.released != released {
		t.Errorf("%d shown and %d released, want %d and %d", r.shown, r.released, shown, released)
	}
}

// gate is a reader that waits until it is opened.
type gate struct {
	io.Reader
	opened chan struct{}
}

func newGate(r io.Reader) *gate { return &gate{r, make(chan struct{})} }

func (g *gate) open() { close(g.opened) }

func (g *gate) Read(p []byte) (int, error) {
	<-g.opened
	return g.Reader.Read(p)
}

// failing is a client that has closed its end after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n := f.left
		f.left = 0
		return n, errors.New("broken pipe")
	}
	f.left -= len(p)
	return len(p), nil
}

// Package mcpserver is the MCP server that a coding agent's client starts as
// `peermux mcp`: one process for each client process, on stdin and stdout.
//
// # Contract
//
// It answers initialize before it reads any file. Tool calls run side by side,
// each in its own goroutine, so a blocked ask holds up nothing. A progress
// notification leaves before the result of its call. A cancelled call gets no
// answer. What a call shows is recorded as shown only after its result has been
// written completely, and given back when it was cancelled or could not be
// written. Results are the structs of switchboard, as structured content and as
// the same JSON in text; refusals are results with isError, not JSON-RPC errors.
//
// # Life
//
// The server registers its session (sessions/<pid>.json) after initialize, when a
// client process is alive above it, and looks who it is again on every call, on
// changes of the client's own session file, and at +1 s, +5 s, +30 s and +5 min.
// A client's health check starts and stops it within a second; such a server
// never becomes visible. It takes up wakes that were held back for its own
// session. It ends at the end of input, at SIGINT, SIGTERM and SIGHUP, within a
// second of its client's end, and when stdout is closed. Its entry is removed
// then; if it is killed, readers of the registry remove it.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"peermux/internal/gateway"
	"peermux/internal/proc"
	"peermux/internal/switchboard"
)

// Options of a server. The fields from UserHome on default to what the process
// itself has.
type Options struct {
	Home    string // of peermux
	Version string
	In      io.Reader
	Out     io.Writer
	Env     func(string) string
	Now     func() time.Time

	UserHome string      // of the user
	Self     proc.Info   // this process
	Parents  []proc.Info // its ancestors, the parent first
	Dir      string      // working directory
}

// Server is one MCP server. It runs once.
type Server struct {
	options  Options
	board    *switchboard.Board
	identity *identity
	session  *clientSession
	mcp      *server.MCPServer
}

// New prepares a server; Run does all the work.
func New(o Options) *Server { return &Server{options: o, session: newClientSession()} }

// build makes the parts. It reads nothing but who this process is.
func (s *Server) build() error {
	if err := s.options.complete(); err != nil {
		return err
	}
	o := s.options
	var err error
	if s.board, err = switchboard.Open(switchboard.Place{Home: o.Home, UserHome: o.UserHome, Env: o.Env, Now: o.Now}); err != nil {
		return err
	}
	s.identity = newIdentity(s)
	s.mcp = server.NewMCPServer("peermux", o.Version,
		server.WithTitle("peermux"), server.WithInstructions(instructions), server.WithToolCapabilities(false))
	return register(s.mcp, s)
}

func (o *Options) complete() error {
	if o.UserHome == "" {
		o.UserHome = o.Env("HOME")
	}
	if o.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("the working directory is gone: %w", err)
		}
		o.Dir = dir
	}
	if o.Self.PID != 0 {
		return nil
	}
	var err error
	if o.Self, err = proc.Self(); err != nil {
		return err
	}
	// A parent that has just ended leaves none: the server then ends with its input.
	if o.Parents, err = proc.Ancestors(o.Self.PID); errors.Is(err, proc.ErrGone) {
		return nil
	}
	return err
}

// Run serves the client until one side ends. Its errors are a home that cannot be
// used, and a failure to write to the client.
func (s *Server) Run(ctx context.Context) error {
	if err := s.build(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A write to a closed stdout has to be an error and not the end of the
	// process: deliveries are given back first. Notify rather than Ignore, so
	// that programs we start do not inherit it.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	if err := s.mcp.RegisterSession(ctx, s.session); err != nil {
		return err
	}
	lines := make(chan []byte)
	stopReading := make(chan struct{})
	defer close(stopReading)
	go readLines(s.options.In, lines, stopReading)

	life, end := context.WithCancel(ctx)
	defer end()
	l := &loop{
		mcp: s.mcp, session: s.session, out: newWriter(s.options.Out), calls: map[string]*call{},
		initialized: func() {
			s.identity.begin(life)
			go s.serveApps(life)
		},
	}
	err := l.run(ctx, lines, s.identity.clientGone(life))
	end()
	s.identity.leave()
	gateway.Leave(s.doors())
	s.board.Watch.Close()
	return err
}

// clientInfo is what the client says of itself in the handshake.
func (s *Server) clientInfo() mcp.Implementation { return s.session.GetClientInfo() }

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// Names of rows that others are compared with.
const (
	floorGo     = "an empty Go program"
	floorShell  = "an empty Go program through sh"
	floor16     = "16 empty Go programs through sh at once"
	floorSync   = "write and fsync 200 bytes"
	floorTmux   = "one tmux call"
	hookOne     = "1 hook, nothing to show"
	serverStart = "server start to initialize answer"
	serverIdle  = "server resident after initialize"
	sendAll     = "peermux send, whole process"
	sessionID   = "99999999-2222-4333-8444-555555555555"
	hookFormat  = `{"session_id":%q,"transcript_path":"","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
)

func (l *lab) floorRows(context.Context) ([]row, error) {
	f, err := os.Create(l.path("sync"))
	if err != nil {
		return nil, err
	}
	n := l.rounds(200)
	shell := func(ctx context.Context) error {
		_, err := command(ctx, nil, "", "/bin/sh", "-c", hookCommand(l.path("hello")))
		return err
	}
	line := []byte(strings.Repeat("x", 199) + "\n")
	return []row{
		{"floor", "/bin/true", "ms", n, "", func(ctx context.Context) (float64, error) { return command(ctx, nil, "", "/bin/true") }},
		{"floor", floorGo, "ms", n, "", func(ctx context.Context) (float64, error) { return command(ctx, nil, "", l.path("hello")) }},
		{"floor", floorShell, "ms", n, floorGo, func(ctx context.Context) (float64, error) {
			return timed(func() error { return shell(ctx) })
		}},
		{"floor", floor16, "ms", l.rounds(40), floorShell, func(ctx context.Context) (float64, error) {
			return timed(func() error { return at16(func() error { return shell(ctx) }) })
		}},
		{"floor", floorSync, "ms", n, "", func(context.Context) (float64, error) {
			return timed(func() error {
				if _, err := f.Write(line); err != nil {
					return err
				}
				return f.Sync()
			})
		}},
	}, nil
}

// hookRows measure the whole process as a client starts it, through sh.
func (l *lab) hookRows(context.Context) ([]row, error) {
	b, err := l.board("hooks")
	if err != nil {
		return nil, err
	}
	box := mailbox.SessionKey(sessionID)
	env := append(l.env(b.Home), "CLAUDE_CODE_ENTRYPOINT=cli")
	hook := hookCommand(l.path("peermux-hook")) + " claude PreToolUse"
	once := func(ctx context.Context) (float64, error) {
		return command(ctx, env, fmt.Sprintf(hookFormat, sessionID), "/bin/sh", "-c", hook)
	}
	hooks := func(name string, rounds, mail int) row {
		return row{"hook, whole process through sh", name, "ms", l.rounds(rounds), floorShell, func(ctx context.Context) (float64, error) {
			if err := fill(b, box, mail); err != nil {
				return 0, err
			}
			ms, err := once(ctx)
			return ms, errors.Join(err, drain(b, box))
		}}
	}
	return []row{
		hooks(hookOne, 200, 0), hooks("1 hook, 1 message", 100, 1), hooks("1 hook, 50 messages", 40, 50),
		{"hook, whole process through sh", "16 hooks at once, nothing to show", "ms", l.rounds(40), floor16, func(ctx context.Context) (float64, error) {
			return timed(func() error { return at16(func() error { _, err := once(ctx); return err }) })
		}},
	}, nil
}

// hookCommand is how the installer has a program run.
func hookCommand(program string) string {
	return "[ -x " + program + " ] || exit 0; export GOMAXPROCS=1; exec " + program
}

func at16(f func() error) error {
	errs := make(chan error, 16)
	for range 16 {
		go func() { errs <- f() }()
	}
	var first error
	for range 16 {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// server is an MCP server on pipes.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	mu  sync.Mutex
}

func startServer(ctx context.Context, env []string, argv ...string) (*server, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &server{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// call writes a request and reads lines until its answer.
func (s *server) call(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		return err
	}
	for {
		answer, err := s.out.ReadString('\n')
		if err != nil {
			return err
		}
		var m struct {
			ID     any             `json:"id"`
			Method string          `json:"method"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(answer), &m); err != nil {
			return err
		}
		if m.ID == nil || m.Method != "" {
			continue // a notification
		}
		if m.Error != nil {
			return fmt.Errorf("server: %s", m.Error)
		}
		return nil
	}
}

func (s *server) stop() error {
	if err := s.in.Close(); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// resident is the server's memory in MB, as Linux counts it.
func (s *server) resident() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("resident memory is read from /proc: %w", err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS for %d", s.cmd.Process.Pid)
}

func (l *lab) serverRows(context.Context) ([]row, error) {
	env := l.env(l.path("server"))
	start := func(ctx context.Context) (*server, float64, error) {
		var s *server
		ms, err := timed(func() (err error) {
			if s, err = startServer(ctx, env, l.path("peermux"), "mcp"); err != nil {
				return err
			}
			return s.call(initialize)
		})
		return s, ms, err
	}
	after := func(calls int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			s, _, err := start(ctx)
			if err != nil {
				return 0, err
			}
			if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				return 0, err
			}
			for i := range calls {
				if err := s.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_project_sessions","arguments":{}}}`, i+2)); err != nil {
					return 0, err
				}
			}
			mb, err := s.resident()
			if stop := s.stop(); err == nil {
				err = stop
			}
			return mb, err
		}
	}
	return []row{
		{"MCP server", serverStart, "ms", l.rounds(80), floorGo, func(ctx context.Context) (float64, error) {
			s, ms, err := start(ctx)
			if err != nil {
				return 0, err
			}
			return ms, s.stop()
		}},
		{"MCP server", serverIdle, "MB", l.rounds(16), "", after(0)},
		{"MCP server", "server resident after 1,000 calls", "MB", l.rounds(8), "", after(1000)},
	}, nil
}

func (l *lab) mailRows(context.Context) ([]row, error) {
	p, err := l.place("mail", 1)
	if err != nil {
		return nil, err
	}
	target, reader := p.sessions[0], p.peer()
	send := func(ctx context.Context) (float64, error) {
		return timed(func() error {
			_, err := p.Send(ctx, p.me, switchboard.SendRequest{Target: target.Name, Body: "parser.go is ready", Wake: wakeOff})
			return err
		})
	}
	read := func(n int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			if err := drain(p.Board, reader.Box); err != nil {
				return 0, err
			}
			if err := fill(p.Board, target.Box, n); err != nil {
				return 0, err
			}
			return timed(func() error { return readOnce(ctx, p.Board, reader, n) })
		}
	}
	return []row{
		{"mail", "send, durable (one fsync)", "ms", l.rounds(200), floorSync, send},
		{"mail", sendAll, "ms", l.rounds(40), floorGo, func(ctx context.Context) (float64, error) {
			return command(ctx, l.env(p.Home), "", l.path("peermux"), "send", "user", "--from", "ci", "parser.go is ready")
		}},
		{"mail", "read 1 and record it as shown", "ms", l.rounds(100), "", read(1)},
		{"mail", "read 100 and record them as shown", "ms", l.rounds(40), "", read(100)},
	}, nil
}

const wakeOff = "off"

func readOnce(ctx context.Context, b *switchboard.Board, a switchboard.Actor, want int) error {
	res, d, err := b.Read(ctx, a, switchboard.ReadRequest{Limit: 200, Via: "bench"})
	if err != nil {
		return err
	}
	if want > 0 && res.Count != want {
		return fmt.Errorf("read %d messages, want %d", res.Count, want)
	}
	return d.Shown()
}

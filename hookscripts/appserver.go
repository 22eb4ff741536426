package hookscripts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	appServerLimit = 30 * time.Second // a first start may unpack and migrate
	appServerGrace = 2 * time.Second  // from the end of its stdin to a kill
)

// appServer is one `codex app-server`, spoken to in JSON lines. It is a
// process of its own and no part of Codex's shared daemon.
type appServer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
	id     int
	closed bool
}

// startAppServer starts Codex and greets it.
func startAppServer(ctx context.Context, e Env) (*appServer, error) {
	codex, err := e.lookPath("codex")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, codex, "app-server")
	cmd.Env = append(cmd.Environ(), "CODEX_HOME="+e.CodexHome)
	// The npm package starts the program from a node script: the whole group
	// has to go.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = appServerGrace
	s := &appServer{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = s.stderr
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	hello := map[string]any{
		"clientInfo":   map[string]string{"name": "peermux", "title": "peermux", "version": "0"},
		"capabilities": map[string]bool{"experimentalApi": true},
	}
	if err := s.call("initialize", hello, nil); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.write(map[string]any{"jsonrpc": "2.0", "method": "initialized"}); err != nil {
		return nil, s.failed("initialized", err)
	}
	return s, nil
}

func (s *appServer) write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = s.in.Write(append(line, '\n'))
	return err
}

// call sends a request and waits for its answer; notifications are passed
// over. The context of the start ends it.
func (s *appServer) call(method string, params, result any) error {
	s.id++
	if err := s.write(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params}); err != nil {
		return s.failed(method, err)
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return s.failed(method, err)
		}
		var m struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil || *m.ID != s.id || m.Method != "" {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("codex app-server: %s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return s.failed(method, err)
		}
		return nil
	}
}

// failed ends the server, which is of no use any more, and says why with what
// it said itself.
func (s *appServer) failed(method string, err error) error {
	// Closing can only fail as the server just did.
	_ = s.close()
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		err = errors.New("it ended without an answer")
	}
	if said := s.stderr.String(); said != "" {
		return fmt.Errorf("codex app-server: %s: %w (it said: %s)", method, err, said)
	}
	return fmt.Errorf("codex app-server: %s: %w", method, err)
}

// close ends the server: by the end of its stdin, and by force when it stays.
// Its stderr is complete then.
func (s *appServer) close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.in.Close()
	force := time.AfterFunc(appServerGrace, func() {
		// It may have ended meanwhile; then there is nothing to kill.
		_ = s.cmd.Cancel()
	})
	defer force.Stop()
	// How it exits says nothing about the answers that came before.
	_ = s.cmd.Wait()
	return err
}

// tail keeps the last bytes that were written to it.
type tail struct{ b []byte }

const tailSize = 500

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > tailSize {
		t.b = bytes.Clone(t.b[len(t.b)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.Join(strings.Fields(string(t.b)), " ") }

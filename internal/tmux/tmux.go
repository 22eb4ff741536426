// Package tmux is the only door to tmux: one function runs it, with a deadline,
// text on stdin and stderr kept, and turns its messages into sentinel errors.
//
// # Contract
//
// Panes are named by their id ("%5") on one socket, never by a session or
// window name (a name means whichever pane is active). An id alone is no
// identity, since ids start from 0 again with each server; Pane carries the
// server's and the pane's process ids, and the calls that send keys check both
// inside the server, in the same step that sends them.
//
// Nothing here sends anything but a bracketed paste and a single Enter, and
// never both in one command list: tmux would hand them to the program in one
// read, and the Enter would become part of the paste (tmux 3.3a).
//
// A call that was cut off may or may not have reached the server; callers look
// at the screen afterwards and never assume. A crash leaves at most one named
// paste buffer behind ("peermux-<pane number>"), which the next paste to that
// pane overwrites and deletes.
package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Sentinels for what callers branch on.
var (
	// ErrNoServer: no tmux server answers on the socket, or tmux is not installed.
	ErrNoServer = errors.New("no tmux server is running")
	// ErrNoPane: the server runs, but has no such pane.
	ErrNoPane = errors.New("no such tmux pane")
	// ErrTimeout: tmux did not answer before the deadline. What it was asked to
	// do may still have happened.
	ErrTimeout = errors.New("tmux did not answer in time")
	// ErrChanged: the pane is dead, in a mode (copy mode, a menu), or no longer
	// the one that was looked at. Nothing was sent.
	ErrChanged = errors.New("the tmux pane has changed or is in a mode")
)

// DefaultTimeout bounds one tmux call; a healthy one takes about 3 ms.
const DefaultTimeout = 3 * time.Second

// Runner runs tmux against one socket. The zero value uses the default server.
// It holds no state and is safe for concurrent use.
type Runner struct {
	Socket  string        // absolute path of the server's socket; "" is tmux's own choice
	Bin     string        // tmux program; "" looks up "tmux" on PATH
	Env     []string      // environment of the tmux process; nil inherits ours
	Timeout time.Duration // per call; 0 is DefaultTimeout
}

// Run runs one tmux command (or several joined by ";" arguments) with stdin as
// its input and returns its output. A non-zero exit is an error that carries
// tmux's own words; an exit status of 0 proves nothing about the effect.
func (r *Runner) Run(ctx context.Context, stdin string, args ...string) (string, error) {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// -u: without it a server call under LC_ALL=C gives "_" for each non-ASCII
	// character, and the prompt glyphs are gone.
	full := []string{"-u"}
	if r.Socket != "" {
		full = append(full, "-S", r.Socket)
	}
	full = append(full, args...)

	bin := r.Bin
	if bin == "" {
		bin = "tmux"
	}
	cmd := exec.CommandContext(ctx, bin, full...)
	cmd.Env = r.Env
	cmd.WaitDelay = 100 * time.Millisecond // a killed wrapper may leave a child holding our pipes
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	return "", r.explain(ctx, args, err, stderr.String())
}

// explain turns a failed run into a sentinel where tmux's words allow it. It is
// the one place that reads tmux's error text.
func (r *Runner) explain(ctx context.Context, args []string, err error, stderr string) error {
	command := "tmux"
	if len(args) > 0 {
		command = "tmux " + args[0]
	}
	said := strings.TrimSpace(stderr)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", command, ErrTimeout)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", command, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: tmux is not installed: %w", command, ErrNoServer)
	case strings.Contains(said, "no server running"),
		strings.Contains(said, "error connecting to"),
		strings.Contains(said, "server exited"),
		strings.Contains(said, "lost server"):
		return fmt.Errorf("%s: %s: %w", command, said, ErrNoServer)
	case strings.Contains(said, "can't find pane"),
		strings.Contains(said, "can't find window"),
		strings.Contains(said, "can't find session"):
		return fmt.Errorf("%s: %s: %w", command, said, ErrNoPane)
	case said != "":
		return fmt.Errorf("%s: %s (%v)", command, said, err)
	}
	return fmt.Errorf("%s: %v", command, err)
}

// nonce is a separator that no title, name or folder can hold: tmux puts other
// people's free text between our fields.
func nonce() string { return "|" + rand.Text() + "|" }

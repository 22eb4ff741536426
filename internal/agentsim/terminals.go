package agentsim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"peermux/internal/proc"
	"peermux/internal/tmux"
)

// The size of an agent's terminal, in cells.
const (
	termCols = 120
	termRows = 30
)

// ownPTY is a terminal with nothing around it.
type ownPTY struct {
	cmd    *exec.Cmd
	master *os.File
	ended  chan struct{}

	mu   sync.Mutex
	last []byte // the end of what was drawn
}

func startOnPTY(o Options, words []string, config string) (*ownPTY, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = o.Dir, append(append([]string{}, o.Env...), config)
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: termCols, Rows: termRows})
	if err != nil {
		return nil, err
	}
	p := &ownPTY{cmd: cmd, master: master, ended: make(chan struct{})}
	go p.drain()
	return p, nil
}

// drain keeps the program from blocking on a full terminal.
func (p *ownPTY) drain() {
	defer close(p.ended)
	buf := make([]byte, 32<<10)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.last = append(p.last, buf[:n]...)
		p.last = p.last[max(0, len(p.last)-64<<10):]
		p.mu.Unlock()
		if err != nil {
			// EIO: the program has ended. Its exit code is its own tests' matter.
			_ = p.cmd.Wait()
			return
		}
	}
}

func (p *ownPTY) write(_ context.Context, keys string) error {
	_, err := p.master.WriteString(keys)
	return err
}

func (p *ownPTY) paste(ctx context.Context, text string) error {
	return p.write(ctx, pasteStart+text+pasteEnd)
}

func (p *ownPTY) gone() <-chan struct{} { return p.ended }

// screen gives the last drawing with its control sequences made visible.
func (p *ownPTY) screen(context.Context) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, last, ok := cutLast(string(p.last), "\x1b[2J")
	if !ok {
		last = string(p.last)
	}
	return strings.ReplaceAll(last, "\x1b", "\n")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (p *ownPTY) kill() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.ended
	if closing := p.master.Close(); !errors.Is(closing, os.ErrClosed) {
		err = errors.Join(err, closing)
	}
	return err
}

// tmuxPane is a terminal in a tmux session of its own, which ends with its
// program.
type tmuxPane struct {
	run   *tmux.Runner
	id    string
	agent proc.ID
	ended chan struct{}
}

func startInTmux(ctx context.Context, o Options, words []string, config string) (*tmuxPane, error) {
	// -f: the person's own tmux.conf must not change what a demo or a test does.
	args := []string{"-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "-s", o.Name,
		"-x", fmt.Sprint(termCols), "-y", fmt.Sprint(termRows), "-c", o.Dir, "-e", config, "--"}
	out, err := o.Tmux.Run(ctx, "", append(args, words...)...)
	if err != nil {
		return nil, err
	}
	t := &tmuxPane{run: o.Tmux, ended: make(chan struct{})}
	var pid int
	if _, err := fmt.Sscan(out, &t.id, &pid); err != nil {
		return nil, fmt.Errorf("tmux new-session said %q: %w", out, err)
	}
	info, err := proc.Stat(pid)
	if err != nil {
		return nil, fmt.Errorf("%s ended at once: %w", o.Name, err)
	}
	t.agent = info.ID
	go t.watch()
	return t, nil
}

// watch notices the end of the program; it is tmux's child, not ours.
func (t *tmuxPane) watch() {
	defer close(t.ended)
	for proc.Alive(t.agent) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (t *tmuxPane) write(ctx context.Context, keys string) error {
	args := []string{"send-keys", "-t", t.id, "-l", "--", keys}
	switch keys {
	case "\r":
		args = []string{"send-keys", "-t", t.id, "Enter"}
	case "\x1b":
		args = []string{"send-keys", "-t", t.id, "Escape"}
	case "\x03":
		args = []string{"send-keys", "-t", t.id, "C-c"}
	}
	_, err := t.run.Run(ctx, "", args...)
	return err
}

// paste goes by a buffer and not by the wake's own door, which takes one short
// line only.
func (t *tmuxPane) paste(ctx context.Context, text string) error {
	buffer := "person-" + strings.TrimPrefix(t.id, "%")
	if _, err := t.run.Run(ctx, text, "load-buffer", "-b", buffer, "-"); err != nil {
		return err
	}
	_, err := t.run.Run(ctx, "", "paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", t.id)
	return err
}

func (t *tmuxPane) gone() <-chan struct{} { return t.ended }

func (t *tmuxPane) screen(ctx context.Context) string {
	out, err := t.run.Capture(ctx, t.id, tmux.CaptureOptions{})
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(out, "\n ")
}

func (t *tmuxPane) kill() error {
	if !proc.Alive(t.agent) {
		return nil
	}
	if err := syscall.Kill(t.agent.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	<-t.ended
	return nil
}

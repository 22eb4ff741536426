package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/GianlucaP106/gotmux/gotmux"
)

// SessionOptions describe a session to start.
type SessionOptions struct {
	Name          string
	Dir           string // working directory of the command
	Width, Height int    // of the detached session; 0 is tmux's default
	Env           []string
	Command       []string // program and arguments, run without a shell; empty: the user's shell
}

// NewSession starts a detached session and returns its only pane. Sessions are
// made through gotmux, which runs the tmux on PATH with our own environment: Bin
// and Env of the Runner do not count here.
func (r *Runner) NewSession(ctx context.Context, o SessionOptions) (Pane, error) {
	if err := checkSessionName(o.Name); err != nil {
		return Pane{}, err
	}
	if strings.Contains(o.Dir, librarySeparator) {
		return Pane{}, fmt.Errorf("tmux session %s: the folder's name may not hold %q", o.Name, librarySeparator)
	}
	err := r.library(ctx, func(t *gotmux.Tmux) error {
		_, err := t.NewSession(&gotmux.SessionOptions{Name: o.Name, StartDirectory: o.Dir, Width: o.Width, Height: o.Height})
		return err
	})
	if err != nil {
		return Pane{}, fmt.Errorf("tmux session %s: %w", o.Name, err)
	}
	p, err := r.onlyPane(ctx, o.Name)
	if err != nil || len(o.Command) == 0 {
		return p, err
	}
	// gotmux would quote a command into one word, which starts nothing and still
	// succeeds (v0.5.0); so the command replaces the shell.
	args := []string{"respawn-pane", "-k", "-t", p.ID, "-c", o.Dir}
	for _, kv := range o.Env {
		args = append(args, "-e", kv)
	}
	if _, err := r.Run(ctx, "", append(append(args, "--"), o.Command...)...); err != nil {
		return Pane{}, errors.Join(err, r.KillSession(ctx, o.Name))
	}
	return r.Pane(ctx, p.ID)
}

// HasSession reports whether a session with exactly this name runs.
func (r *Runner) HasSession(ctx context.Context, name string) (bool, error) {
	if err := checkSessionName(name); err != nil {
		return false, err
	}
	has := false
	err := r.library(ctx, func(t *gotmux.Tmux) error {
		has = t.HasSession("=" + name) // without "=" any session that starts so would do
		return nil
	})
	return has, err
}

// KillSession ends a session and everything in it.
func (r *Runner) KillSession(ctx context.Context, name string) error {
	if err := checkSessionName(name); err != nil {
		return err
	}
	_, err := r.Run(ctx, "", "kill-session", "-t", "="+name)
	return err
}

func (r *Runner) onlyPane(ctx context.Context, session string) (Pane, error) {
	sep := nonce()
	out, err := r.Run(ctx, "", "list-panes", "-t", "="+session+":", "-F", paneFormat(sep))
	if err != nil {
		return Pane{}, err
	}
	panes, _, err := parsePanes(out, sep)
	if err != nil {
		return Pane{}, err
	}
	if len(panes) != 1 {
		return Pane{}, fmt.Errorf("tmux session %s has %d panes, not one", session, len(panes))
	}
	return panes[0], nil
}

// librarySeparator is what gotmux joins fields with; it panics when a name holds it.
const librarySeparator = "-:-"

// checkSessionName allows what tmux keeps as it is and gotmux can parse.
func checkSessionName(name string) error {
	bad := strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(":.=@$%", c) })
	if name == "" || bad || strings.Contains(name, librarySeparator) || strings.HasPrefix(name, "-") {
		return fmt.Errorf("tmux session name %q: use letters, digits, - and _", name)
	}
	return nil
}

// library makes one call of gotmux, which knows no deadline and panics on what it
// cannot parse (v0.5.0). A call that hangs is left behind until its tmux ends.
func (r *Runner) library(ctx context.Context, call func(*gotmux.Tmux) error) error {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if !gotmux.IsInstalled() {
		return fmt.Errorf("tmux is not installed: %w", ErrNoServer)
	}
	t := &gotmux.Tmux{}
	if r.Socket != "" {
		t.Socket = &gotmux.Socket{Path: r.Socket} // gotmux.NewTmux wants a running server
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("gotmux: %v", p)
			}
		}()
		done <- call(t)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("gotmux: %w", ErrTimeout)
	}
}

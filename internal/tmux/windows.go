package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NewWindow adds a window to a session, without switching to it, and returns its
// pane.
func (r *Runner) NewWindow(ctx context.Context, session string, o SessionOptions) (Pane, error) {
	if err := checkSessionName(session); err != nil {
		return Pane{}, err
	}
	return r.grow(ctx, o, "new-window", "-d", "-n", o.Name, "-t", "="+session+":")
}

// SplitWindow adds a pane beside another one and returns it.
func (r *Runner) SplitWindow(ctx context.Context, pane string, o SessionOptions) (Pane, error) {
	return r.grow(ctx, o, "split-window", "-d", "-t", pane)
}

// grow runs a command that makes a pane and finds the pane by its printed id.
func (r *Runner) grow(ctx context.Context, o SessionOptions, command ...string) (Pane, error) {
	if err := checkSessionName(o.Name); err != nil {
		return Pane{}, err
	}
	args := append(command, "-P", "-F", "#{pane_id}", "-c", o.Dir)
	for _, kv := range o.Env {
		args = append(args, "-e", kv)
	}
	if len(o.Command) > 0 {
		args = append(append(args, "--"), o.Command...)
	}
	id, err := r.Run(ctx, "", args...)
	if err != nil {
		return Pane{}, err
	}
	return r.Pane(ctx, strings.TrimSpace(id))
}

// Layouts are the arrangements that tmux knows by name (3.3a).
func Layouts() []string {
	return []string{"even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"}
}

// SelectLayout arranges the panes of the window that a pane is in.
func (r *Runner) SelectLayout(ctx context.Context, pane, layout string) error {
	if !slices.Contains(Layouts(), layout) {
		return fmt.Errorf("layout %q: must be one of %s", layout, strings.Join(Layouts(), ", "))
	}
	_, err := r.Run(ctx, "", "select-layout", "-t", pane, layout)
	return err
}

// KillPane ends a pane and what runs in it. A pane that is gone is no error.
func (r *Runner) KillPane(ctx context.Context, id string) error {
	_, err := r.Run(ctx, "", "kill-pane", "-t", id)
	if errors.Is(err, ErrNoPane) || errors.Is(err, ErrNoServer) {
		return nil
	}
	return err
}

// RenameWindow names the window that a pane is in.
func (r *Runner) RenameWindow(ctx context.Context, pane, name string) error {
	_, err := r.Run(ctx, "", "rename-window", "-t", pane, "--", name)
	return err
}

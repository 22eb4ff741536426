package wake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/internal/screen"
	"peermux/internal/tmux"
)

// findWithin bounds the search for a pane; a healthy tmux takes 3 ms a server.
const findWithin = 4 * time.Second

// findPane finds the tmux pane that is the client's at this moment; a remembered
// pane id may be somebody else's by now.
func (a *attempt) findPane(ctx context.Context) (t terminal, route, why string) {
	client, why := detect.Terminal(a.entry)
	if why != "" {
		return nil, routeTmux, why
	}
	// Each server is asked within a deadline; there may be many, and a tmux that
	// hangs does so for all of them.
	within, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	found, why := detect.Pane(within, a.entry, &tmux.Runner{})
	if found == nil {
		return nil, routeTmux, why
	}
	return &paneTerminal{
		runner: &tmux.Runner{Socket: found.Socket},
		pane:   tmux.Pane{ID: found.Pane, Socket: found.Socket, ServerPID: found.ServerPID},
		client: client.PID,
	}, routeTmux, why
}

// paneTerminal is a client's tmux pane.
type paneTerminal struct {
	runner *tmux.Runner
	// pane is what was proven: an id is unique in one server's life. Its process is
	// known from the first look on; "respawn-pane" would change it.
	pane   tmux.Pane
	client int
}

func (p *paneTerminal) Name() string {
	return lockName("pane", p.pane.Socket+p.pane.ID)
}

func (p *paneTerminal) Look(ctx context.Context) (view, error) {
	now, text, err := p.runner.Look(ctx, p.pane.ID)
	if err != nil {
		return view{}, err
	}
	if p.pane.PID == 0 {
		p.pane.PID = now.PID
	}
	if now.PID != p.pane.PID || now.ServerPID != p.pane.ServerPID {
		return view{}, errors.New("the pane belongs to another process now")
	}
	return view{Dead: now.Dead, InMode: now.InMode, Screen: screen.Screen{
		Lines:   screen.Parse(text),
		CursorX: now.CursorX, CursorY: now.CursorY,
		Width: now.Width, Height: now.Height,
		Title: now.Title, Alternate: now.AlternateOn,
	}}, nil
}

func (p *paneTerminal) Paste(ctx context.Context, text string) error {
	return refused(p.runner.PasteInto(ctx, p.pane, text))
}

func (p *paneTerminal) Enter(ctx context.Context) error {
	return refused(p.runner.EnterInto(ctx, p.pane))
}

// Foreground: a stopped client (Ctrl-Z) shares its pane with a shell that would
// run what we type.
func (p *paneTerminal) Foreground() bool { return inForeground(p.client) }

func inForeground(pid int) bool {
	info, err := proc.Stat(pid)
	return err == nil && info.State != 'T' && info.TPGID == info.PGrp
}

// refused marks the errors after which certainly nothing was sent.
func refused(err error) error {
	if errors.Is(err, tmux.ErrChanged) || errors.Is(err, tmux.ErrNoPane) || errors.Is(err, tmux.ErrNoServer) {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	return err
}

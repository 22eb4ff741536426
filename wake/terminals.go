package wake

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"peermux/internal/proc"
	"peermux/internal/screen"
	"peermux/internal/tmux"
)

// pane types into the tmux pane that is proven to be the client's at this moment;
// a remembered pane id may be somebody else's by now.
func (a *attempt) pane(ctx context.Context) (Result, bool) {
	p, why := a.findPane(ctx)
	if p == nil {
		return Result{Outcome: NoRoute, Reason: why}, false
	}
	name := fmt.Sprintf("pane-%x", sha256.Sum256([]byte(p.pane.Socket+p.pane.ID)))
	return a.typeInto(ctx, name, routeTmux, p), true
}

// findPane looks through the known sockets for the pane whose process is an
// ancestor of the client's and whose terminal is the client's own. $TMUX_PANE is
// not asked: editors and daemons inherit it.
func (a *attempt) findPane(ctx context.Context) (*paneTerminal, string) {
	client, err := proc.Stat(a.entry.Client.PID)
	if err != nil {
		return nil, err.Error()
	}
	chain, err := proc.Ancestors(client.PID)
	if err != nil {
		return nil, err.Error()
	}
	above := map[int]bool{client.PID: true}
	for _, p := range chain {
		above[p.PID] = true
	}
	for _, socket := range a.sockets() {
		runner := &tmux.Runner{Socket: socket}
		panes, err := runner.Panes(ctx)
		if err != nil {
			continue // that server is gone or hangs; the others may know the pane
		}
		for _, p := range panes {
			if tty, err := proc.TTYDevice(p.TTY); above[p.PID] && err == nil && tty == client.TTY {
				return &paneTerminal{runner: runner, pane: p, client: client.PID}, ""
			}
		}
	}
	return nil, "no tmux pane is proven to be its terminal"
}

// sockets lists where its tmux server may listen, the likeliest first.
func (a *attempt) sockets() []string {
	var list []string
	if a.entry.Tmux != nil {
		list = append(list, a.entry.Tmux.Socket)
	}
	return append(list, tmux.Sockets(a.clientEnv(a.entry))...)
}

// paneTerminal is a client's tmux pane.
type paneTerminal struct {
	runner *tmux.Runner
	pane   tmux.Pane // as it was proven; later looks must agree with it
	client int
}

func (p *paneTerminal) Look(ctx context.Context) (view, error) {
	now, text, err := p.runner.Look(ctx, p.pane.ID)
	if err != nil {
		return view{}, err
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

package wake

import (
	"context"
	"errors"
	"fmt"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/internal/ptyhost"
)

// findHost finds the PTY host whose inner terminal is the client's. The socket
// comes from the client's own environment or from its entry; the host's answer
// and the kernel prove that it is the right one.
func (a *attempt) findHost(ctx context.Context) (t terminal, route, why string) {
	client, why := detect.Terminal(a.entry)
	if why != "" {
		return nil, routeHost, why
	}
	socket := proc.Env(client.PID, ptyhost.SocketVariable)[ptyhost.SocketVariable]
	if socket == "" && a.entry.Host != nil {
		socket = a.entry.Host.Socket
	}
	if socket == "" {
		return nil, routeHost, "it does not run under peermux run"
	}
	host := ptyhost.Client{Socket: socket}
	look, err := host.Look(ctx)
	if err != nil {
		return nil, routeHost, err.Error()
	}
	if look.TTY == 0 || look.TTY != client.TTY {
		return nil, routeHost, "the PTY host of its environment has another terminal"
	}
	return &hostTerminal{host: host, client: client.PID}, routeHost,
		fmt.Sprintf("the host's terminal is that of the client %d", client.PID)
}

// hostTerminal is a terminal that peermux hosts itself.
type hostTerminal struct {
	host   ptyhost.Client
	client int    // the process that draws on the terminal
	typed  uint64 // the person's keys up to the last look
}

func (h *hostTerminal) Name() string {
	return lockName("host", h.host.Socket)
}

func (h *hostTerminal) Look(ctx context.Context) (view, error) {
	look, err := h.host.Look(ctx)
	if err != nil {
		return view{}, err
	}
	h.typed = look.Typed
	return view{Dead: look.Ended, Screen: look.Screen}, nil
}

// Paste ignores the text: a host pastes the wake line and nothing else.
func (h *hostTerminal) Paste(ctx context.Context, _ string) error {
	return refusedByHost(h.host.Paste(ctx, h.typed))
}

func (h *hostTerminal) Enter(ctx context.Context) error {
	return refusedByHost(h.host.Enter(ctx, h.typed))
}

func (h *hostTerminal) Foreground() bool { return inForeground(h.client) }

func refusedByHost(err error) error {
	if errors.Is(err, ptyhost.ErrRefused) {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	return err
}

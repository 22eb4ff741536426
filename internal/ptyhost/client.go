package ptyhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
)

// ErrRefused: the host sent nothing, because the person has typed or the program
// has ended.
var ErrRefused = errors.New("the PTY host refused")

// Client asks one host.
type Client struct{ Socket string }

// Look is the terminal at this moment, with all output in the model.
func (c Client) Look(ctx context.Context) (Look, error) {
	a, err := c.ask(ctx, request{Op: opLook})
	if err != nil {
		return Look{}, err
	}
	if a.Look == nil {
		return Look{}, errors.New("the PTY host gave no screen")
	}
	return *a.Look, nil
}

// Paste puts the wake line into the program, Enter presses Enter. Both are refused
// when the person has typed since the look whose count is given.
func (c Client) Paste(ctx context.Context, typed uint64) error {
	_, err := c.ask(ctx, request{Op: opPaste, Typed: typed})
	return err
}

// Enter presses Enter, see Paste.
func (c Client) Enter(ctx context.Context, typed uint64) error {
	_, err := c.ask(ctx, request{Op: opEnter, Typed: typed})
	return err
}

// maxAnswer bounds a screen on its way.
const maxAnswer = 16 << 20

func (c Client) ask(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return answer{}, fmt.Errorf("PTY host: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return answer{}, fmt.Errorf("PTY host: %w", err)
	}
	var a answer
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return answer{}, fmt.Errorf("PTY host: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("PTY host: %w", err)
	}
	switch {
	case a.Refused != "":
		return answer{}, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	case a.Error != "":
		return answer{}, fmt.Errorf("PTY host: %s", a.Error)
	}
	return a, nil
}

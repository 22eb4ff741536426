package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Pane is one pane as the server describes it at one moment.
type Pane struct {
	ID        string // "%5": unique within one server's life only
	PID       int    // the process tmux started in the pane
	ServerPID int
	Socket    string // absolute path of the server's socket
	TTY       string // "/dev/pts/3"

	Session, Window, Title, CWD, Command string // free text, not to be trusted or printed raw

	Dead   bool // the process has ended and remain-on-exit keeps the pane
	InMode bool // copy mode, choose mode, clock: keys go to tmux, not to the program
	Active bool // the active pane of its window

	CursorX, CursorY int // of the program's screen, from 0
	Width, Height    int
	AlternateOn      bool
	SessionCreated   int64 // Unix seconds
}

// paneFields are the format variables, in the order parsePane reads them.
// pane_dead_signal and the like are left out: tmux 3.2 does not know them.
var paneFields = [...]string{
	"pane_id", "pane_pid", "pid", "socket_path", "pane_tty",
	"session_name", "window_name", "pane_title", "pane_current_path", "pane_current_command",
	"pane_dead", "pane_in_mode", "pane_active",
	"cursor_x", "cursor_y", "pane_width", "pane_height", "alternate_on", "session_created",
}

// paneFormat joins the fields by sep and ends a record with it, so that a record
// may hold newlines.
func paneFormat(sep string) string {
	var b strings.Builder
	for _, f := range paneFields {
		b.WriteString("#{" + f + "}" + sep)
	}
	return b.String()
}

// parsePanes reads records made by paneFormat and returns what follows the last.
// A record that does not parse ends the list: nothing after it can be trusted.
func parsePanes(out, sep string) (panes []Pane, rest string, err error) {
	for strings.HasPrefix(out, "%") {
		parts := strings.SplitN(out, sep, len(paneFields)+1)
		if len(parts) != len(paneFields)+1 {
			break
		}
		p, err := parsePane(parts[:len(paneFields)])
		if err != nil {
			return nil, "", err
		}
		panes = append(panes, p)
		out = strings.TrimPrefix(parts[len(paneFields)], "\n")
	}
	return panes, out, nil
}

func parsePane(f []string) (Pane, error) {
	p := Pane{
		ID: f[0], Socket: f[3], TTY: f[4],
		Session: f[5], Window: f[6], Title: f[7], CWD: f[8], Command: f[9],
		Dead: on(f[10]), InMode: on(f[11]), Active: on(f[12]), AlternateOn: on(f[17]),
	}
	numbers := []struct {
		to   *int
		text string
	}{
		{&p.PID, f[1]}, {&p.ServerPID, f[2]}, {&p.CursorX, f[13]}, {&p.CursorY, f[14]},
		{&p.Width, f[15]}, {&p.Height, f[16]},
	}
	for _, n := range numbers {
		v, err := strconv.Atoi(n.text)
		if err != nil {
			return Pane{}, fmt.Errorf("tmux pane %q: %q is not a number", p.ID, n.text)
		}
		*n.to = v
	}
	created, err := strconv.ParseInt(f[18], 10, 64)
	if err != nil {
		return Pane{}, fmt.Errorf("tmux pane %q: session_created %q is not a number", p.ID, f[18])
	}
	p.SessionCreated = created
	return p, nil
}

// on reads a tmux flag; a mode count above 1 (nested modes) is on as well.
func on(s string) bool { return s != "" && s != "0" }

// Panes lists every pane of the server. A pane shown in several sessions comes
// once for each.
func (r *Runner) Panes(ctx context.Context) ([]Pane, error) {
	sep := nonce()
	out, err := r.Run(ctx, "", "list-panes", "-a", "-F", paneFormat(sep))
	if err != nil {
		return nil, err
	}
	panes, rest, err := parsePanes(out, sep)
	if err != nil {
		return nil, err
	}
	if rest != "" {
		return nil, fmt.Errorf("tmux list-panes: cannot read %.80q", rest)
	}
	return panes, nil
}

// Pane is the pane with this id, or ErrNoPane.
func (r *Runner) Pane(ctx context.Context, id string) (Pane, error) {
	p, _, err := r.look(ctx, id, nil)
	return p, err
}

// Look gives a pane and its visible screen with attributes (SGR sequences), both
// from one tmux process and so of one moment.
func (r *Runner) Look(ctx context.Context, id string) (Pane, string, error) {
	return r.look(ctx, id, []string{";", "capture-pane", "-p", "-e", "-t", id})
}

func (r *Runner) look(ctx context.Context, id string, then []string) (Pane, string, error) {
	if err := checkID(id); err != nil {
		return Pane{}, "", err
	}
	sep := nonce()
	// list-panes says "can't find pane"; display-message would print nothing and
	// exit 0 (tmux 3.3a). It lists the whole window, which is harmless.
	args := append([]string{"list-panes", "-t", id, "-F", paneFormat(sep)}, then...)
	out, err := r.Run(ctx, "", args...)
	if err != nil {
		return Pane{}, "", err
	}
	panes, rest, err := parsePanes(out, sep)
	if err != nil {
		return Pane{}, "", err
	}
	for _, p := range panes {
		if p.ID == id {
			return p, rest, nil
		}
	}
	return Pane{}, "", fmt.Errorf("tmux pane %s: %w", id, ErrNoPane)
}

// checkID refuses anything but a bare pane id: "name:%1" is a window name to
// tmux, and a session name is whichever pane is active.
func checkID(id string) error {
	digits, ok := strings.CutPrefix(id, "%")
	if _, err := strconv.ParseUint(digits, 10, 31); !ok || err != nil {
		return fmt.Errorf("tmux pane id %q: want %%NUMBER: %w", id, ErrNoPane)
	}
	return nil
}

// CaptureOptions says what of a pane is captured.
type CaptureOptions struct {
	Escapes bool // keep colours and attributes as SGR sequences
	Lines   int  // that many lines of history above the visible screen; 0: none
}

// Capture gives the text of a pane.
func (r *Runner) Capture(ctx context.Context, id string, o CaptureOptions) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	args := []string{"capture-pane", "-p", "-t", id}
	if o.Escapes {
		args = append(args, "-e")
	}
	if o.Lines > 0 {
		args = append(args, "-S", strconv.Itoa(-o.Lines))
	}
	return r.Run(ctx, "", args...)
}

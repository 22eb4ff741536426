package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Paste puts one line of text into a pane as a bracketed paste, without Enter.
// It fails with ErrChanged, and sends nothing, when the pane is dead or in a mode.
func (r *Runner) Paste(ctx context.Context, id, text string) error {
	return r.PasteInto(ctx, Pane{ID: id}, text)
}

// Enter presses Enter in a pane, under the same conditions as Paste.
func (r *Runner) Enter(ctx context.Context, id string) error {
	return r.EnterInto(ctx, Pane{ID: id})
}

// PasteInto is Paste for a pane that was looked at before: the server itself
// checks, in the step that pastes, that it is still that pane (server pid and
// pane pid, where known), alive and in no mode.
func (r *Runner) PasteInto(ctx context.Context, p Pane, text string) error {
	if err := checkID(p.ID); err != nil {
		return err
	}
	if err := checkText(text); err != nil {
		return err
	}
	buffer := "peermux-" + p.ID[1:]
	return r.guarded(ctx, p, action{
		stdin:  text,
		before: []string{"load-buffer", "-b", buffer, "-", ";"},
		// -p: tmux's own paste markers, if the program asked for them; markers of our
		// own would be shown as text by tmux 3.7. -d: the buffer is gone afterwards.
		do:        "paste-buffer -p -r -d -b " + buffer + " -t " + p.ID,
		otherwise: "delete-buffer -b " + buffer + " ; ",
	})
}

// EnterInto is Enter for a pane that was looked at before.
func (r *Runner) EnterInto(ctx context.Context, p Pane) error {
	if err := checkID(p.ID); err != nil {
		return err
	}
	return r.guarded(ctx, p, action{do: "send-keys -t " + p.ID + " Enter"})
}

// action is what the server shall do to a pane if it is still the same.
type action struct {
	stdin     string
	before    []string // commands that come first in any case
	do        string
	otherwise string // instead of do
}

const (
	saidDone    = "peermux-done"
	saidChanged = "peermux-changed"
)

// guarded has the server do something if, at that moment, the pane is still p and
// takes keys. The check and the action are one step of the server, so a person who
// starts copy mode in between cannot be overtaken.
func (r *Runner) guarded(ctx context.Context, p Pane, a action) error {
	args := append(a.before, "if-shell", "-F", "-t", p.ID, condition(p),
		a.do+" ; display-message -p "+saidDone,
		a.otherwise+"display-message -p "+saidChanged)
	out, err := r.Run(ctx, a.stdin, args...)
	if err != nil {
		return err
	}
	switch strings.TrimSpace(out) {
	case saidDone:
		return nil
	case saidChanged:
		return fmt.Errorf("tmux pane %s: %w", p.ID, ErrChanged)
	}
	return fmt.Errorf("tmux pane %s: unexpected answer %.80q", p.ID, out)
}

func condition(p Pane) string {
	cond := "#{?#{||:#{pane_dead},#{pane_in_mode}},0,1}"
	if p.PID != 0 {
		cond = "#{&&:#{==:#{pane_pid}," + strconv.Itoa(p.PID) + "}," + cond + "}"
	}
	if p.ServerPID != 0 {
		cond = "#{&&:#{==:#{pid}," + strconv.Itoa(p.ServerPID) + "}," + cond + "}"
	}
	return cond
}

// maxText keeps a paste within one read of any terminal program: lines are cut
// at 1024 bytes in macOS's canonical mode.
const maxText = 200

// checkText refuses what could press a key, end the paste, or open a menu.
func checkText(text string) error {
	if text == "" || len(text) > maxText {
		return fmt.Errorf("text to paste has %d bytes: want 1 to %d", len(text), maxText)
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return fmt.Errorf("text to paste holds %U: want printable ASCII only", c)
		}
	}
	return nil
}

package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// painter puts screens on a terminal, of each only the lines that differ from what
// is there, and at once. Bubbletea's renderer, which is left out for it, looks for a
// change at every frame: 30 of them a second cost 0.6 % of a core while nothing
// happens, and the first screen waits for the first of them (v2.1.1).
type painter struct {
	in    *os.File // the keyboard, whose keys come raw
	out   io.Writer
	lines []string    // as they stand on the terminal
	state *term.State // of the terminal before us
}

// enter takes the terminal over.
func (p *painter) enter() (err error) {
	p.lines = nil
	if p.state, err = term.MakeRaw(int(p.in.Fd())); err != nil {
		return err
	}
	_, err = io.WriteString(p.out, ansi.SetModeAltScreenSaveCursor+ansi.HideCursor+ansi.SetModeBracketedPaste+ansi.SetWindowTitle("peermux"))
	return err
}

// leave gives it back as it was.
func (p *painter) leave() error {
	_, err := io.WriteString(p.out, ansi.ResetModeBracketedPaste+ansi.ShowCursor+ansi.ResetModeAltScreenSaveCursor)
	return errors.Join(err, term.Restore(int(p.in.Fd()), p.state))
}

// size is the terminal's, in cells.
func (p *painter) size() (width, height int) {
	width, height, err := term.GetSize(int(p.in.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24 // as a terminal without a size is taken for
	}
	return width, height
}

// follow sends the size whenever it changes, until ctx ends.
func (p *painter) follow(ctx context.Context, send func(tea.Msg)) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for {
		// Also the first time: it may have changed since it was asked for.
		width, height := p.size()
		send(tea.WindowSizeMsg{Width: width, Height: height})
		select {
		case <-ctx.Done():
			return
		case <-resized:
		}
	}
}

// clear forgets what stands there: after a resize that is anybody's guess.
func (p *painter) clear() { p.lines = nil }

func (p *painter) paint(lines []string) error {
	var b strings.Builder
	if p.lines == nil {
		b.WriteString(ansi.EraseEntireScreen)
	}
	for i, l := range lines {
		if i < len(p.lines) && p.lines[i] == l {
			continue
		}
		// Erased first: behind a line that fills the row, the cursor is still on its
		// last cell.
		b.WriteString(ansi.CursorPosition(1, i+1) + ansi.ResetStyle + ansi.EraseEntireLine + l)
	}
	p.lines = lines
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(p.out, b.String()+ansi.ResetStyle)
	return err
}

// away is a command that has the terminal for a while, as bubbletea's Exec wants it.
type away struct {
	*painter
	cmd *exec.Cmd
}

func (a away) Run() error {
	if err := a.leave(); err != nil {
		return err
	}
	err := a.cmd.Run()
	return errors.Join(err, a.enter())
}

func (a away) SetStdin(r io.Reader)  { a.cmd.Stdin = r }
func (a away) SetStdout(w io.Writer) { a.cmd.Stdout = w }
func (a away) SetStderr(w io.Writer) { a.cmd.Stderr = w }

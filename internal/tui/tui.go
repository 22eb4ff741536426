// Package tui is the live screen of `peermux top`: the sessions with what each
// does and whom it waits for, the conversation between them as it happens, and
// what the selected session is doing.
//
// Looking changes nothing: sessions are peeked at, mail is shown without being
// recorded as read, and only a key that says so (send, ask, wake, mark, close)
// acts. The screen follows file events; a slow tick only keeps the ages honest.
// All text of others is cleaned before it reaches the terminal.
//
// The model is bubbletea's: Update holds all state, commands do the work that
// takes time and answer with messages.
package tui

import (
	"context"
	"errors"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"peermux/internal/switchboard"
)

// Options of the screen.
type Options struct {
	Board *switchboard.Board
	Actor switchboard.Actor // the person at the keyboard
	Scope string            // project, group or global at the start
	Strip bool              // only the sessions, for a pane of a few lines
	Now   func() time.Time
	// Environ is the environment of the terminal: TERM, NO_COLOR, TMUX.
	Environ []string
}

// Run shows the screen until the person leaves it or ctx ends.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, o)
	// Four bits of colour are all we use. Left to itself colorprofile runs tmux to
	// ask for more.
	m.terminal = &painter{in: os.Stdin, out: &colorprofile.Writer{Forward: os.Stdout, Profile: colorprofile.Env(o.Environ)}}
	if err := m.terminal.enter(); err != nil {
		return err
	}
	width, height := m.terminal.size()
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithEnvironment(o.Environ), tea.WithWindowSize(width, height),
		tea.WithoutSignalHandler(), tea.WithoutRenderer(), tea.WithFPS(1))
	go follow(ctx, o.Board, p.Send)
	go m.terminal.follow(ctx, p.Send)
	_, err := p.Run()
	err = errors.Join(err, m.terminal.leave())
	if ctx.Err() != nil {
		return nil // it was told to end
	}
	return err
}

package tui

import (
	"context"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
)

// Plain is the screen for a screen reader or a log: lines only, each said once.
// First the sessions, then every change of a session and every event as it comes.
func Plain(ctx context.Context, o Options, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, o)
	messages := make(chan tea.Msg, 64)
	go follow(ctx, o.Board, func(msg tea.Msg) {
		select {
		case messages <- msg:
		case <-ctx.Done():
		}
	})
	said := map[string]string{}
	if err := m.tell(w, said); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-messages:
			if events, ok := msg.(happened); ok {
				for _, e := range events {
					if _, err := fmt.Fprintln(w, frame.Line(plainEvent(e), 500)); err != nil {
						return err
					}
				}
			}
			if err := m.tell(w, said); err != nil {
				return err
			}
		}
	}
}

// tell says what is new about the sessions since the last time.
func (m *model) tell(w io.Writer, said map[string]string) error {
	res, err := m.board.List(m.ctx, m.actor, switchboard.ListRequest{Scope: m.scope, OnlySessions: true})
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, s := range res.Sessions {
		here[key(s)] = true
		line := fmt.Sprintf("%s, %s, is %s", s.Name, s.Client, s.Status)
		if about := aboutCell(m, s); about != "" {
			line += ", " + about
		}
		for _, wait := range s.WaitingFor {
			line += ", waits for " + wait.Name
		}
		if s.Unread > 0 {
			line += fmt.Sprintf(", %d unread", s.Unread)
		}
		if said[key(s)] == line {
			continue
		}
		said[key(s)] = line
		if _, err := fmt.Fprintln(w, frame.Line(line, 500)); err != nil {
			return err
		}
	}
	for k, line := range said {
		if !here[k] {
			delete(said, k)
			if _, err := fmt.Fprintf(w, "left: %s\n", frame.Line(line, 500)); err != nil {
				return err
			}
		}
	}
	return nil
}

func plainEvent(e switchboard.Event) string {
	line := fmt.Sprintf("%s %s from %s to %s", e.At.Local().Format("15:04:05"), e.Event, e.From, e.To)
	if e.Event == switchboard.EventSent {
		line += ": " + e.Body
	}
	return line
}

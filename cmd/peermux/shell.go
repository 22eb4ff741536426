package main

import (
	"context"
	"fmt"
	"os"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
)

// shell is a command's view of the switchboard: the board, and who acts.
type shell struct {
	board *switchboard.Board
	actor switchboard.Actor
}

// board builds the switchboard over the peermux home. Nothing is read yet.
func (a *app) board() (*switchboard.Board, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	userHome, err := a.userHome()
	if err != nil {
		return nil, err
	}
	return switchboard.Open(switchboard.Place{Home: home, UserHome: userHome, Env: a.env, Now: a.now})
}

// open finds out who this command acts as; from is the app of --from.
func (a *app) open(_ context.Context, from string) (*shell, error) {
	b, err := a.board()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, hinted{err: fmt.Errorf("the current directory is gone: %w", err), hint: "cd to one that exists"}
	}
	self, err := proc.Self()
	if err != nil {
		return nil, fmt.Errorf("read this process's facts: %w", err)
	}
	actor, err := b.ActorFromShell(switchboard.Shell{Dir: dir, Self: self, From: from})
	if err != nil {
		return nil, err
	}
	return &shell{board: b, actor: actor}, nil
}

// in is the shell as it acts in another box: --box of inbox, reply and done.
func (s *shell) in(box string) (key string, actor switchboard.Actor, err error) {
	if box == "" {
		return "", s.actor, nil
	}
	return s.board.BoxOf(s.actor, box)
}

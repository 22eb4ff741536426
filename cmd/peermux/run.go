package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"peermux/internal/proc"
	"peermux/internal/ptyhost"
	"peermux/internal/switchboard"
)

func runCommand() command {
	return command{
		name: "run", args: "-- CMD [ARG…]", short: "host a program on a terminal of its own, so that it can be woken without tmux",
		long: `CMD sees an ordinary terminal; window size, signals, Ctrl-Z and its exit code are as
without peermux (127 when there is no such program, 128+n after signal n). A client
that peermux does not know is listed under its program's name.`,
		examples: []string{"peermux run -- claude", "peermux run --name helper -- gemini"},
		raw:      true,
		flags: func(fs *flag.FlagSet) runFunc {
			name := fs.String("name", "", "`name` of the session, for a client that does not register itself")
			return func(_ context.Context, a *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no command to run", hint: "peermux run -- claude"}
				}
				return a.host(*name, args)
			}
		},
	}
}

// leadCommand is the process that "peermux run" puts between itself and the
// program; package ptyhost says why.
func leadCommand() command {
	return command{
		name: "lead", args: "-- CMD [ARG…]", short: "lead the session of a hosted terminal; started by peermux run",
		examples: []string{"peermux run -- claude", "peermux run -- codex"},
		internal: true, raw: true,
		flags: func(*flag.FlagSet) runFunc {
			return func(_ context.Context, _ *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no command to run", hint: "peermux run starts this command itself"}
				}
				return ptyhost.Lead(args)
			}
		},
	}
}

// host runs the command under a host, or as it is where there is no terminal.
func (a *app) host(name string, command []string) error {
	b, err := a.board()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g := guest{board: b, name: name, command: command}
	env := os.Environ()
	if name != "" {
		env = append(env, switchboard.NameVariable+"="+name)
	}
	code, err := ptyhost.Run(ptyhost.Options{
		Home: b.Home, Command: command, Env: env,
		Leader: []string{self, "lead", "--"},
		In:     os.Stdin, Out: os.Stdout,
		Started: g.enter, Ended: g.leave,
	})
	if errors.Is(err, ptyhost.ErrNoTerminal) {
		return a.execute(command)
	}
	if err != nil {
		fmt.Fprintf(a.err, "peermux: error: %v\n", err)
		code = max(code, exitFailed)
	}
	if code != 0 {
		return coded(code)
	}
	return nil
}

// execute becomes the command: without a terminal there is nothing to host, and
// its bytes are nobody else's business.
func (a *app) execute(command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		fmt.Fprintf(a.err, "peermux: error: %v\npeermux: hint: the command after -- is looked up on PATH\n", err)
		return coded(exitNoProgram)
	}
	return syscall.Exec(path, command, os.Environ())
}

// guest is a hosted program in the registry. Claude Code and Codex register
// themselves, through their MCP server.
type guest struct {
	board   *switchboard.Board
	name    string
	command []string
	self    proc.Info
	stop    context.CancelFunc // set once it is registered
}

func (g *guest) kind() string { return filepath.Base(g.command[0]) }

// enter is called when the program has started. That it cannot be registered must
// not end it, and its terminal is no place to say so: whoami and doctor do.
func (g *guest) enter(pid int, socket string) {
	if slices.Contains([]string{"claude", "codex"}, g.kind()) {
		return
	}
	var err error
	if g.self, err = proc.Self(); err != nil {
		return
	}
	program, err := proc.Stat(pid)
	if err != nil {
		return
	}
	e, err := g.board.RegisterGuest(switchboard.Guest{
		Name: g.name, Kind: g.kind(), Host: g.self.ID, Program: program.ID, Socket: socket,
	})
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = cancel
	go g.board.TendGuest(ctx, e)
}

func (g *guest) leave() {
	if g.stop != nil {
		g.stop()
		// The next reader removes it otherwise: our process is gone then.
		_ = g.board.Registry.Remove(g.self.PID, g.self.Start)
	}
}

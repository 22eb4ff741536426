package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"peermux/internal/fleet"
	"peermux/internal/switchboard"
	"peermux/internal/tmux"
)

const fleetFile = "peermux.toml"

func upCommand() command {
	return command{
		name: "up", args: "[FILE]", short: "start sessions from a file, in tmux",
		long: `FILE is peermux.toml by default:
  session = "shop"                  # tmux session; default: the folder's name
  layout = "tiled"                  # or windows (default), even-vertical, …
  [[agent]]
  name = "api"
  client = "codex"                  # or command = ["claude", "--model", "…"]
  dir = "services/api"              # or worktree = "branch"
  prompt = "Read TODO.md and start."
What runs already is left alone.`,
		examples: []string{"peermux up --dry-run", "peermux up team.toml"},
		flags: func(fs *flag.FlagSet) runFunc {
			dry := fs.Bool("dry-run", false, "only print the plan")
			wait := fs.Duration("wait", time.Minute, "how long a session may take to appear")
			asJSON := fs.Bool("json", false, "with --dry-run: print the plan as one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) > 1 {
					return usageError{msg: "one file, please", hint: "peermux up " + fleetFile}
				}
				plan, err := fleet.Load(append(args, fleetFile)[0])
				if err != nil {
					return err
				}
				if *dry {
					return a.printPlan(plan, *asJSON)
				}
				return a.up(ctx, plan, *wait)
			}
		},
	}
}

func (a *app) up(ctx context.Context, p fleet.Plan, wait time.Duration) error {
	if _, err := exec.LookPath("tmux"); err != nil {
		return hinted{err: errors.New("tmux is not installed, and sessions are started in it"), hint: "install tmux, or start each session with peermux run"}
	}
	f, err := a.fleet(wait)
	if err != nil {
		return err
	}
	if err := f.Up(ctx, p); err != nil {
		return err
	}
	look := "attach"
	if a.env("TMUX") != "" {
		look = "switch-client" // tmux refuses to attach inside itself
	}
	_, err = fmt.Fprintf(a.out, "look at it: tmux %s -t %s\n", look, p.Session)
	return err
}

func (a *app) printPlan(p fleet.Plan, asJSON bool) error {
	if asJSON {
		return writeJSON(a.out, p)
	}
	fmt.Fprintf(a.out, "tmux session %s, layout %s\n", p.Session, p.Layout)
	t := &table{head: []string{"NAME", "COMMAND", "FOLDER"}, width: a.width(), bold: a.colour()}
	for _, agent := range p.Agents {
		t.add(agent.Name, strings.Join(agent.Command, " "), agent.Dir)
	}
	return t.write(a.out)
}

func downCommand() command {
	return command{
		name: "down", args: "[SESSION]", short: "end what peermux up started, and nothing else",
		long:     "SESSION is the name that the file gives to the tmux session. It is needed only when\nseveral were started.",
		examples: []string{"peermux down", "peermux down shop"},
		flags: func(*flag.FlagSet) runFunc {
			return func(ctx context.Context, a *app, args []string) error {
				f, err := a.fleet(0)
				if err != nil {
					return err
				}
				session, err := chooseFleet(f, args)
				if err != nil {
					return err
				}
				n, err := f.Down(ctx, session)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.out, "%s: %d ended\n", session, n)
				return err
			}
		},
	}
}

func chooseFleet(f *fleet.Fleet, args []string) (string, error) {
	names, err := f.Sessions()
	if err != nil {
		return "", err
	}
	switch {
	case len(args) > 1:
		return "", usageError{msg: "one session, please", hint: "peermux down " + args[0]}
	case len(args) == 1:
		for _, n := range names {
			if n == args[0] {
				return n, nil
			}
		}
		if len(names) > 0 {
			return "", noTarget(switchboard.CodeUnknownTarget, "peermux up started no session called "+args[0], "peermux down NAME, one of "+strings.Join(names, ", "))
		}
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", noTarget(switchboard.CodeAmbiguousTarget, "peermux up started several sessions", "peermux down NAME, one of "+strings.Join(names, ", "))
	}
	return "", noTarget(switchboard.CodeUnknownTarget, "peermux up has started nothing", "peermux list shows what runs")
}

// noTarget is a target that names nothing, or not one thing, as with the commands that
// take a session.
func noTarget(code, msg, hint string) error {
	return hinted{err: &switchboard.Error{Code: code, Message: msg}, hint: hint}
}

func (a *app) fleet(wait time.Duration) (*fleet.Fleet, error) {
	b, err := a.board()
	if err != nil {
		return nil, err
	}
	return &fleet.Fleet{
		Home: b.Home, Registry: b.Registry, Watch: b.Watch, Wait: wait,
		Tmux: &tmux.Runner{Socket: tmux.SocketOf(a.env("TMUX"))},
		Say:  func(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) },
	}, nil
}

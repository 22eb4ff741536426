package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"peermux/internal/agentsim"
	"peermux/internal/demo"
)

func demoCommand() command {
	return command{
		name: "demo", short: "see peermux at work among stand-in agents: no account, no client needed",
		long: `Two sessions appear, one asks, the other is woken and answers; a message lands in
the middle of a turn; mail waits for a session that starts later. The agents are
stand-ins, everything between them is peermux itself, in a temporary folder and,
where tmux is installed, on a tmux server of its own.`,
		examples: []string{"peermux demo", "peermux demo --pty"},
		flags: func(fs *flag.FlagSet) runFunc {
			noTmux := fs.Bool("pty", false, "terminals without tmux, as on a machine that has none")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				self, hook, err := programs()
				if err != nil {
					return err
				}
				return demo.Run(ctx, demo.Options{
					Out: a.out, Colour: a.colour(), Env: a.env, NoTmux: *noTmux,
					Peermux: self, Hook: hook, Agent: []string{self, "stand-in"},
				})
			}
		},
	}
}

// programs returns the absolute paths of this program and of the hook program
// that is installed beside it.
func programs() (self, hook string, err error) {
	if self, err = os.Executable(); err != nil {
		return "", "", err
	}
	hook = filepath.Join(filepath.Dir(self), "peermux-hook")
	if _, err := os.Stat(hook); err != nil {
		return "", "", hinted{err: fmt.Errorf("peermux-hook is not beside %s", self), hint: "both are built and installed together: make build, or make install"}
	}
	return self, hook, nil
}

// standInCommand is what the demo's terminals run.
func standInCommand() command {
	return command{
		name: "stand-in", short: "a stand-in agent, started by peermux demo", internal: true,
		examples: []string{"peermux demo", "peermux demo --pty"},
		flags: func(*flag.FlagSet) runFunc {
			return func(context.Context, *app, []string) error {
				if !agentsim.Wanted() {
					return usageError{msg: "a stand-in agent is started by the demo", hint: "peermux demo"}
				}
				if code := agentsim.Main(); code != 0 {
					return coded(code)
				}
				return nil
			}
		},
	}
}

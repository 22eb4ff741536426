package main

import (
	"context"
	"flag"
	"os"

	"peermux/internal/tui"
)

func topCommand() command {
	return command{
		name: "top", short: "the live screen: who works, who waits for whom, what they say",
		long:     "? shows the keys. Looking changes nothing. --strip fits a pane of a few lines; --plain\nprints lines for a screen reader or a log.",
		examples: []string{"peermux top", "tmux split-window -l 6 peermux top --strip"},
		flags: func(fs *flag.FlagSet) runFunc {
			var o tui.Options
			fs.StringVar(&o.Scope, "scope", "project", "`scope`: project, group or global")
			fs.BoolVar(&o.Strip, "strip", false, "only the sessions")
			plain := fs.Bool("plain", false, "lines instead of a screen")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				o.Board, o.Actor, o.Now, o.Environ = s.board, s.actor, a.now, os.Environ()
				if *plain {
					return tui.Plain(ctx, o, a.out)
				}
				if f, ok := a.out.(*os.File); !ok || !isTerminal(f) || !a.interactive() {
					return usageError{msg: "top needs a terminal", hint: "peermux top --plain, or peermux list"}
				}
				return tui.Run(ctx, o)
			}
		},
	}
}

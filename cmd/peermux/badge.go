package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"peermux/internal/switchboard"
)

func badgeCommand() command {
	return command{
		name: "badge", short: "print one short cell for the tmux status line",
		long: `2⏳ 1✉ 1⚠ means: 2 sessions wait for their user, 1 message is for you, 1 wake is held
back. It prints nothing when there is nothing to say. The lines for tmux.conf:
  set -g status-interval 1
  set -g status-right '#(peermux badge) %H:%M'`,
		examples: []string{"peermux badge", "peermux badge --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(_ context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				b, err := a.board()
				if err != nil {
					return err
				}
				n, err := b.Needs()
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, n)
				}
				if text := cell(n); text != "" {
					_, err = fmt.Fprintln(a.out, text)
				}
				return err
			}
		},
	}
}

// cell words the counts for a status line; "" when there is nothing to say.
func cell(n switchboard.Needs) string {
	var cells []string
	for _, c := range []struct {
		count int
		sign  string
	}{{n.Waiting, "⏳"}, {n.Mail, "✉"}, {n.Held, "⚠"}} {
		if c.count > 0 {
			cells = append(cells, fmt.Sprint(c.count)+c.sign)
		}
	}
	return strings.Join(cells, " ")
}

// clip shortens a line to a number of terminal cells.
func clip(s string, cells int) string { return ansi.Truncate(s, cells, "…") }

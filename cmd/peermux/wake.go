package main

import (
	"context"
	"flag"
	"fmt"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
	"peermux/wake"
)

func wakeCommand() command {
	return command{
		name: "wake", args: "TARGET", short: "get an idle session to look at its mail, without doing harm",
		long: `A draft, an open dialog, copy mode or an unknown screen is left alone: the wake is
held, and the session's own server tries again when that changes. Exit code 1 when
the session was not woken and mail still waits.`,
		examples: []string{"peermux wake reviewer", "peermux wake codex --explain"},
		flags: func(fs *flag.FlagSet) runFunc {
			explain := fs.Bool("explain", false, "print every fact and the verdict, and wake nobody")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) != 1 {
					return usageError{msg: "one target, please", hint: "peermux list shows the names"}
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				res, err := s.board.Wake(ctx, s.actor, args[0], *explain)
				if err != nil {
					return err
				}
				if *asJSON {
					err = writeJSON(a.out, res)
				} else {
					err = a.printWake(res, *explain)
				}
				if err == nil && !*explain && !res.Woken() {
					return coded(exitFailed)
				}
				return err
			}
		},
	}
}

func (a *app) printWake(res switchboard.WakeResult, explain bool) error {
	if len(res.Facts) > 0 {
		t := &table{head: []string{"FACT", "VALUE", "FROM"}, width: a.width(), bold: a.colour()}
		for _, f := range res.Facts {
			// Titles and names are other programs' text.
			t.add(f.Name, frame.Clean(f.Value), f.Source)
		}
		if err := t.write(a.out); err != nil {
			return err
		}
	}
	words := wakeWords
	if explain {
		words = verdict
	}
	_, err := fmt.Fprintln(a.out, clean(words(res.Target, res.Outcome, res.Reason)))
	return err
}

// verdict says what a wake would come to now.
func verdict(session string, outcome wake.Outcome, reason string) string {
	switch outcome {
	case wake.Submitted, wake.Native:
		return session + ": " + reason
	case wake.NotNeeded:
		return session + " needs no wake: " + reason
	case wake.Held:
		return session + " would not be woken yet: " + reason
	}
	return session + " would not be woken: " + reason
}

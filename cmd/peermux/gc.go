package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"peermux/mailbox"
)

func gcCommand() command {
	return command{
		name: "gc", short: "compact journals, prune what is dead and old; never open or unshown mail",
		examples: []string{"peermux gc --dry-run", "peermux gc"},
		flags: func(fs *flag.FlagSet) runFunc {
			dry := fs.Bool("dry-run", false, "only say what would be done")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(_ context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				actions, err := a.collect(*dry)
				if *asJSON && err == nil {
					return writeJSON(a.out, map[string]any{"ok": true, "dry_run": *dry, "actions": actions})
				}
				for _, act := range actions {
					if !*asJSON {
						fmt.Fprintf(a.out, "%s %s: %s\n", act.Action, act.Key, act.Why)
					}
				}
				if err != nil {
					return err
				}
				if len(actions) == 0 {
					fmt.Fprintln(a.out, "nothing to do")
				}
				return nil
			}
		},
	}
}

// collect sweeps the registry (unless dry) and then the store; the boxes of the
// living stay whatever their age.
func (a *app) collect(dry bool) ([]mailbox.GCAction, error) {
	b, err := a.board()
	if err != nil {
		return nil, err
	}
	if !dry {
		if err := b.Registry.Sweep(); err != nil {
			return nil, err
		}
	}
	live, err := b.Registry.Peek()
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{}
	for _, e := range live {
		keep[e.Box] = true
	}
	living := func(key string) bool { return keep[key] }
	// What one part cannot do keeps no other from its work.
	done, mailErr := b.Store.GC(mailbox.GCOptions{DryRun: dry, Keep: living})
	removed, wakeErr := b.Waker.GC(dry, living)
	actions := append([]mailbox.GCAction{}, done...) // in JSON, none is an empty list
	for _, name := range removed {
		actions = append(actions, mailbox.GCAction{Key: name, Action: "removed", Why: "nobody has used it for long"})
	}
	return actions, errors.Join(mailErr, wakeErr)
}

package main

import (
	"context"
	"flag"
	"fmt"

	"peermux/internal/switchboard"
)

func statusCommand() command {
	return command{
		name: "status", args: "ID", short: "say what became of a message",
		long:     "With --wait it waits for the result of a task, or the late answer to a question, prints\nit, and exits with 4 when none came.",
		examples: []string{"peermux status 01KBB0T6Z2Q8V4M7C1X5N3R9JD", "peermux status 01KBB0T6Z2Q8V4M7C1X5N3R9JD --wait 30m"},
		flags: func(fs *flag.FlagSet) runFunc {
			wait := fs.Duration("wait", 0, "wait at most this long for the result or answer")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) != 1 {
					return usageError{msg: "one message id, please", hint: "peermux send printed it"}
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				if *wait > 0 {
					res, delivery, err := s.board.Await(ctx, s.actor, args[0], *wait)
					return a.answer(res, delivery, err, *asJSON)
				}
				res, err := s.board.Status(ctx, s.actor, args[0])
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printStatus(res)
			}
		},
	}
}

func (a *app) printStatus(res switchboard.StatusResult) error {
	line := fmt.Sprintf("%s is %s", res.MessageID, res.State)
	if res.ShownAt != nil {
		line += ", "
		if res.State != "shown" {
			line += "shown "
		}
		line += fmt.Sprintf("%s ago by %s", short(a.now().Sub(*res.ShownAt)), res.Via)
	}
	if res.AnswerID != "" {
		line += ", answer " + res.AnswerID
	}
	if res.Open {
		line += ", still open"
	}
	if res.Outlook != "" {
		line += ": " + outlook(res.Outlook, res.Why)
	} else if res.Why != "" {
		line += ": " + res.Why
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"peermux/internal/switchboard"
)

func askCommand() command {
	return command{
		name: "ask", args: "TARGET [BODY|-]", short: "send a question and wait for the answer",
		long:     "Exits with 4 when no answer came in time; a late answer arrives as mail.",
		examples: []string{`peermux ask reviewer "is main green?"`, `peermux ask codex - --timeout 3m < question.md`},
		flags: func(fs *flag.FlagSet) runFunc {
			timeout := fs.Duration("timeout", 0, "how long to wait, 280s at most (default 60s, or PEERMUX_ASK_TIMEOUT_MS)")
			from := fs.String("from", "", "act as the app called `name`")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no target", hint: "peermux list shows the names"}
				}
				if *timeout < 0 {
					return usageError{msg: "a negative timeout", hint: "--timeout 90s"}
				}
				body, err := a.body(args[1:])
				if err != nil {
					return err
				}
				s, err := a.open(ctx, *from)
				if err != nil {
					return err
				}
				return a.ask(ctx, s, askRequest(a, args[0], body, *timeout), *asJSON)
			}
		},
	}
}

func askRequest(a *app, target, body string, timeout time.Duration) switchboard.AskRequest {
	return switchboard.AskRequest{
		Target: target, Body: body, Timeout: timeout,
		Progress: func(line string) { fmt.Fprintln(a.err, line) },
	}
}

func (a *app) ask(ctx context.Context, s *shell, r switchboard.AskRequest, asJSON bool) error {
	res, delivery, err := s.board.Ask(ctx, s.actor, r)
	return a.answer(res, delivery, err, asJSON)
}

// answer prints what a wait ended with, and exits with 4 when that is nothing.
func (a *app) answer(res switchboard.AskResult, d switchboard.Delivery, err error, asJSON bool) error {
	if err != nil {
		return err
	}
	if err := a.deliver(d, func() error {
		if asJSON {
			return writeJSON(a.out, res)
		}
		a.notes(res.Notes)
		if res.Reply == nil {
			line := "no answer yet to " + res.MessageID
			if res.Next != "" { // empty after a wait for a task or for a late answer
				line += ": " + clean(inCommands(res.Next))
			}
			fmt.Fprintf(a.err, "peermux: %s\n", line)
			return nil
		}
		fmt.Fprintf(a.err, "%s answers (%s):\n", clean(res.Reply.From.Name), res.Reply.MessageID)
		_, err := fmt.Fprintln(a.out, clean(res.Reply.Body))
		return err
	}); err != nil {
		return err
	}
	if res.Reply == nil {
		return coded(exitTimedOut)
	}
	return nil
}

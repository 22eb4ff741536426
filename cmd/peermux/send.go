package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"peermux/internal/switchboard"
)

func sendCommand() command {
	return command{
		name: "send", args: "TARGET [BODY|-]", short: "send a message; prints its id and what to expect",
		long: `TARGET is a session's name or id, %PANE, pid:N, claude or codex when only one is in
reach, repo:NAME or repo:/path for a repository, user for the person, app:NAME.
The body comes from the argument, or from stdin.`,
		examples: []string{`peermux send reviewer "parser.go is ready"`, `git diff | peermux send codex - --subject "please review" --task`},
		flags: func(fs *flag.FlagSet) runFunc {
			var r switchboard.SendRequest
			fs.StringVar(&r.Subject, "subject", "", "one `line` that says what it is about")
			fs.StringVar(&r.Urgency, "urgency", "", "`level`: low (no wake, no answer needed), normal (the default) or high")
			fs.BoolVar(&r.Task, "task", false, "make it a task: it stays open until the receiver closes it")
			fs.StringVar(&r.ReplyTo, "reply-to", "", "`id` of the message that this follows")
			fs.StringVar(&r.Wake, "wake", "auto", "`when` to wake: auto or off")
			from := fs.String("from", "", "act as the app called `name`")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no target", hint: "peermux list shows the names"}
				}
				body, err := a.body(args[1:])
				if err != nil {
					return err
				}
				s, err := a.open(ctx, *from)
				if err != nil {
					return err
				}
				r.Target, r.Body = args[0], body
				res, err := s.board.Send(ctx, s.actor, r)
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printSent(res)
			}
		},
	}
}

func (a *app) printSent(res switchboard.SendResult) error {
	fmt.Fprintf(a.out, "%s to %s: %s\n", res.MessageID, res.Target, outlook(res.Outlook, res.Why))
	a.notes(res.Notes)
	return nil
}

// outlook says what a sender may expect: the reason is a sentence that tells it all.
func outlook(word, why string) string {
	if why != "" {
		return why
	}
	return strings.ReplaceAll(word, "_", " ")
}

func replyCommand() command {
	return command{
		name: "reply", args: "ID [BODY|-]", short: "answer a message by its id",
		examples: []string{`peermux reply 01KBB0T6Z2Q8V4M7C1X5N3R9JD "yes, merge it"`, `peermux reply 01KBB0T6Z2Q8V4M7C1X5N3R9JD "done in 3f2a1c" --done`},
		flags: func(fs *flag.FlagSet) runFunc {
			done := fs.Bool("done", false, "also close the task that this answers")
			box := fs.String("box", "", "answer from the box of `target` (repo:NAME)")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no message id", hint: "peermux inbox --peek shows the ids"}
				}
				body, err := a.body(args[1:])
				if err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				_, actor, err := s.in(*box)
				if err != nil {
					return err
				}
				res, err := s.board.Reply(ctx, actor, switchboard.ReplyRequest{MessageID: args[0], Body: body, Done: *done})
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printSent(res.SendResult)
			}
		},
	}
}

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"peermux/internal/gateway"
	"peermux/internal/switchboard"
	"peermux/wake"
)

func broadcastCommand() command {
	return command{
		name: "broadcast", args: "[BODY|-]", short: "tell every session of the project, group or machine",
		long: `Nobody owes an answer, and each session sees it once, at its next turn or tool call.
Nobody is woken by it, except with --urgency high where you allow it, in wake.toml:
  [broadcast]
  wake = "high"`,
		examples: []string{`peermux broadcast "the release branch is pushed, hold off on app/"`, `peermux broadcast "schema migration running" --kind lock --scope group`, `peermux broadcast "stop: main is broken" --urgency high`},
		flags: func(fs *flag.FlagSet) runFunc {
			var r switchboard.BroadcastRequest
			fs.StringVar(&r.Scope, "scope", "project", "`scope`: project, group, global, or repos (each repository once)")
			fs.StringVar(&r.Kind, "kind", "note", "`kind`: note, lock (shown until released) or a word of yours")
			fs.StringVar(&r.Urgency, "urgency", "normal", "`level`: low, normal or high (wakes idle sessions where wake.toml allows it)")
			from := fs.String("from", "", "act as the app called `name`")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				body, err := a.body(args)
				if err != nil {
					return err
				}
				s, err := a.open(ctx, *from)
				if err != nil {
					return err
				}
				r.Body = body
				res, err := s.board.Broadcast(ctx, s.actor, r)
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printBroadcast(res)
			}
		},
	}
}

func (a *app) printBroadcast(res switchboard.BroadcastResult) error {
	reach := "nobody right now"
	if len(res.InReach) > 0 {
		reach = strings.Join(res.InReach, ", ")
	}
	fmt.Fprintf(a.out, "%s to %s, in reach: %s\n", res.MessageID, res.Scope, reach)
	for _, w := range res.Wakes {
		fmt.Fprintf(a.out, "  %s\n", clean(wakeWords(w.Session, wake.Outcome(w.Outcome), w.Reason)))
	}
	a.notes(res.Notes)
	return nil
}

// wakeWords says what became of a wake as the outlook of a message does.
func wakeWords(session string, outcome wake.Outcome, reason string) string {
	switch outcome {
	case wake.Submitted, wake.Native:
		return session + " was idle and has been woken"
	case wake.NotNeeded:
		return session + ": no wake was needed: " + reason
	case wake.Held, wake.TypedNotSubmitted:
		return session + " could not be woken yet: " + reason + "; its own server tries again when that changes"
	}
	return session + " was not woken: " + cmp.Or(reason, "urgent broadcasts may not wake here")
}

func retractCommand() command {
	return command{
		name: "retract", args: "ID", short: "withdraw a broadcast of yours, or what an app has not collected",
		examples: []string{"peermux retract 01KBB0T6Z2Q8V4M7C1X5N3R9JD", "peermux retract 01KBB0T6Z2Q8V4M7C1X5N3R9JD --from ci"},
		flags: func(fs *flag.FlagSet) runFunc {
			from := fs.String("from", "", "act as the app called `name`")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) != 1 {
					return usageError{msg: "one message id, please", hint: "peermux broadcast printed it"}
				}
				s, err := a.open(ctx, *from)
				if err != nil {
					return err
				}
				res, err := gateway.Retract(ctx, s.host(), s.actor, args[0])
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				_, err = fmt.Fprintf(a.out, "%s is %s\n", res.MessageID, res.State)
				return err
			}
		},
	}
}

func groupCommand() command {
	return command{
		name: "group", args: "[NAME]", short: "show, join or leave the project's group",
		long: `A group is a set of projects. Their sessions see each other with --scope group, and
peermux broadcast --scope group reaches all of them. A project is in one group at most.`,
		examples: []string{"peermux group payments", "peermux group --leave"},
		flags: func(fs *flag.FlagSet) runFunc {
			leave := fs.Bool("leave", false, "leave the group")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) > 1 || *leave && len(args) > 0 {
					return usageError{msg: "one group name, or --leave", hint: "peermux group NAME joins, peermux group --leave leaves"}
				}
				if len(args) == 1 && (args[0] == "leave" || args[0] == "join") {
					return usageError{msg: fmt.Sprintf("%q is no group name", args[0]), hint: "peermux group NAME joins, peermux group --leave leaves"}
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				var res switchboard.GroupResult
				switch {
				case *leave:
					res, err = s.board.SetGroup(ctx, s.actor, "")
				case len(args) == 1:
					res, err = s.board.SetGroup(ctx, s.actor, args[0])
				default:
					res, err = s.board.Group(s.actor)
				}
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printGroup(res)
			}
		},
	}
}

func (a *app) printGroup(res switchboard.GroupResult) error {
	if res.Group == "" {
		fmt.Fprintf(a.out, "%s is in no group\n", clean(res.Project))
		if len(res.Groups) > 0 {
			fmt.Fprintf(a.out, "groups: %s\n", strings.Join(res.Groups, ", "))
		}
		return nil
	}
	fmt.Fprintf(a.out, "%s is in group %s with:\n", clean(res.Project), res.Group)
	for _, m := range res.Members {
		fmt.Fprintf(a.out, "  %s\n", clean(m))
	}
	return nil
}

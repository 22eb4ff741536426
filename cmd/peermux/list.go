package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"peermux/internal/switchboard"
)

func listCommand() command {
	return command{
		name: "list", short: "list the live sessions, who waits for whom, and what is unread",
		long: `STATUS is idle, working, waiting (for its user, at a dialog) or unknown. MAIL counts
what a session has not been shown yet, TASKS what it has still to close, and WAITS
FOR names the peers whose answer it waits for.`,
		examples: []string{"peermux list", "peermux list --scope global --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			scope := fs.String("scope", "project", "`scope`: project, group (see peermux group), or global: all of this machine")
			dir := fs.String("project", "", "the project of this `dir` instead of the current one")
			all := fs.Bool("all", false, "also headless, background and subagent sessions")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				res, err := s.board.List(ctx, s.actor, switchboard.ListRequest{Scope: *scope, Project: *dir, All: *all})
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printList(res)
			}
		},
	}
}

func (a *app) printList(res switchboard.ListResult) error {
	if err := a.printSessions(res); err != nil {
		return err
	}
	for _, s := range res.Sessions {
		if s.Held != "" {
			fmt.Fprintf(a.out, "held: %s is not woken: %s\n", s.Name, s.Held)
		}
		for _, l := range s.Locks {
			fmt.Fprintf(a.out, "lock: %s: %s\n", s.Name, l)
		}
	}
	for _, ring := range res.Rings {
		fmt.Fprintf(a.out, "ring: %s wait for each other in a circle\n", strings.Join(ring, " → "))
	}
	if len(res.Panes) > 0 {
		fmt.Fprintln(a.out, "\nother panes here (peermux read %PANE shows them):")
		for _, p := range res.Panes {
			fmt.Fprintf(a.out, "  %-6s %-14s %s\n", p.Pane, clean(p.Command), clean(p.CWD))
		}
	}
	a.notes(res.Notes)
	return nil
}

// printSessions prints the table, or what to do when there is nobody.
func (a *app) printSessions(res switchboard.ListResult) error {
	if len(res.Sessions) == 0 {
		fmt.Fprintf(a.out, "no session is running in %s\n", clean(res.Project))
		fmt.Fprintln(a.out, "start claude or codex there; peermux list --scope global shows all of yours")
		return nil
	}
	t := &table{head: []string{"NAME", "CLIENT", "STATUS", "MAIL", "TASKS", "WAITS FOR", "PANE", "BRANCH", "PURPOSE"}, width: a.width(), bold: a.colour()}
	for _, s := range res.Sessions {
		name := s.Name
		if s.Self {
			name += " (you)"
		}
		t.add(name, s.Client, a.status(s), count(s.Unread), count(s.OpenTasks), waits(s.WaitingFor), s.Pane, s.Branch, s.Purpose)
	}
	return t.write(a.out)
}

// status is a session's word, for how long, and what its user is asked for.
func (a *app) status(s switchboard.SessionRow) string {
	word := s.Status
	if s.StatusSince != nil {
		word += " " + short(a.now().Sub(*s.StatusSince))
	}
	if s.WaitsOn != "" {
		word += ", " + s.WaitsOn
	}
	return word
}

func waits(ws []switchboard.Waiting) string {
	var names []string
	for _, w := range ws {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

// count leaves zeros out: a reader looks for what is not zero.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// short is a duration in the one unit that matters.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// notes prints what else the reader should know, apart from the result.
func (a *app) notes(notes []string) {
	for _, n := range notes {
		fmt.Fprintf(a.err, "peermux: note: %s\n", clean(inCommands(n)))
	}
}

func noArgs(args []string) error {
	if len(args) > 0 {
		return usageError{msg: fmt.Sprintf("unexpected argument %q", args[0])}
	}
	return nil
}

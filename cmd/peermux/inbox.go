package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
)

func inboxCommand() command {
	return command{
		name: "inbox", short: "show mail and record it as shown",
		long: `It is your own mail, or in an agent's own shell that session's. What was shown does not
come again, and peermux status tells its sender so.`,
		examples: []string{"peermux inbox --peek", "peermux inbox --box repo:parser"},
		flags: func(fs *flag.FlagSet) runFunc {
			var r switchboard.ReadRequest
			box := fs.String("box", "", "the box of `target`, such as repo:NAME")
			fs.BoolVar(&r.Peek, "peek", false, "only look: record nothing")
			fs.BoolVar(&r.IncludeSeen, "all", false, "with what was shown before")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				key, actor, err := s.in(*box)
				if err != nil {
					return err
				}
				r.Box, r.Via = key, "cli"
				res, delivery, err := s.board.Read(ctx, actor, r)
				if err != nil {
					return err
				}
				return a.deliver(delivery, func() error {
					if *asJSON {
						return writeJSON(a.out, res)
					}
					return a.printMail(res)
				})
			}
		},
	}
}

// deliver prints, and only then records what was printed as shown: mail whose
// text did not get out stays unread.
func (a *app) deliver(d switchboard.Delivery, print func() error) error {
	if err := print(); err != nil {
		if d == nil {
			return err
		}
		if back := d.Release(); back != nil {
			return fmt.Errorf("%w; and the mail could not be put back: %v", err, back)
		}
		return err
	}
	if d == nil {
		return nil
	}
	return d.Shown()
}

func (a *app) printMail(res switchboard.ReadResult) error {
	if len(res.Messages) == 0 {
		_, err := fmt.Fprintln(a.out, "no mail")
		return err
	}
	for i, m := range res.Messages {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := a.printMessage(m); err != nil {
			return err
		}
	}
	if res.More > 0 {
		fmt.Fprintf(a.out, "\n%d more: run it again\n", res.More)
	}
	a.notes(res.Notes)
	return nil
}

func (a *app) printMessage(m switchboard.Mail) error {
	head := fmt.Sprintf("%s %s from %s, %s ago", m.Kind, m.MessageID, who(m.From), short(a.now().Sub(m.SentAt)))
	if m.ReplyTo != "" {
		head += ", about " + m.ReplyTo
	}
	if m.Closed != "" {
		head += ", " + m.Closed
	}
	if m.Scope != "" {
		head += ", " + m.Scope
	}
	if m.Subject != "" {
		head += ": " + m.Subject
	}
	_, err := fmt.Fprintf(a.out, "%s\n%s\n", clean(head), indent(clean(m.Body)))
	return err
}

func who(p switchboard.Peer) string {
	name := p.Name
	if name == "" {
		name = p.SessionID
	}
	if p.Client != "" {
		name += " (" + p.Client + ")"
	}
	return name
}

// clean makes a peer's words safe for a terminal.
func clean(s string) string { return frame.Clean(s) }

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

func doneCommand() command {
	return command{
		name: "done", args: "ID…", short: "close tasks or repository mail",
		examples: []string{`peermux done 01KBB0T6Z2Q8V4M7C1X5N3R9JD --note "merged"`, "peermux done 01KBB0T6Z2Q8V4M7C1X5N3R9JD --blocked --box repo:parser"},
		flags: func(fs *flag.FlagSet) runFunc {
			blocked := fs.Bool("blocked", false, "close it as blocked: it cannot be done")
			note := fs.String("note", "", "`text` for whoever asked")
			box := fs.String("box", "", "close in the box of `target`, such as repo:NAME")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if len(args) == 0 {
					return usageError{msg: "no message id", hint: "peermux inbox --all shows the ids"}
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				_, actor, err := s.in(*box)
				if err != nil {
					return err
				}
				for _, id := range args {
					if err := a.closeOne(ctx, s.board, actor, closing{id, *note, *blocked, *asJSON}); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

// closing is one id on the command line of done.
type closing struct {
	id, note      string
	blocked, json bool
}

func (a *app) closeOne(ctx context.Context, b *switchboard.Board, actor switchboard.Actor, c closing) error {
	verb, word := b.CompleteWork, switchboard.Done
	if c.blocked {
		verb, word = b.BlockWork, switchboard.Blocked
	}
	if c.note == "" {
		c.note = word
	}
	res, err := verb(ctx, actor, switchboard.CloseRequest{MessageID: c.id, Body: c.note})
	if err != nil {
		return err
	}
	if c.json {
		return writeJSON(a.out, res)
	}
	_, err = fmt.Fprintf(a.out, "%s is %s\n", res.MessageID, res.State)
	return err
}

func countCommand() command {
	return command{
		name: "count", short: "count unshown and open mail per box; shows and changes nothing",
		examples: []string{"peermux count", "peermux count --exclude user --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			exclude := fs.String("exclude", "", "leave out the box of `target`, as count prints it")
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				if *exclude != "" {
					if key, _, err := s.in(*exclude); err == nil {
						*exclude = key
					}
				}
				res, err := s.board.Count(ctx, *exclude)
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				t := &table{head: []string{"BOX", "UNSHOWN", "OPEN"}, width: a.width(), bold: a.colour()}
				for _, b := range res.Boxes {
					t.add(cmp.Or(b.Name, b.Box), fmt.Sprint(b.Unshown), fmt.Sprint(b.Open))
				}
				t.add("all", fmt.Sprint(res.Unshown), fmt.Sprint(res.Open))
				a.notes(res.Notes)
				return t.write(a.out)
			}
		},
	}
}

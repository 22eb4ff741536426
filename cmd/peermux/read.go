package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"peermux/internal/switchboard"
	"peermux/internal/transcript"
)

// readFlags are the flags of peermux read.
type readFlags struct {
	switchboard.ReadSessionRequest
	follow bool
	format string
	asJSON bool
}

func readCommand() command {
	return command{
		name: "read", args: "TARGET", short: "read what a session did lately",
		long: "TARGET is a live session, the id of a past conversation of this project (or the\n" +
			"first 6 characters of it), or a tmux pane such as %3. Shown are the newest turns\n" +
			"of its transcript, or with --mode pane what its pane shows. Values that look\n" +
			"like secrets are masked.",
		examples: []string{"peermux read reviewer --limit 5", "peermux read 0c5465f4 --format md > conversation.md"},
		flags: func(fs *flag.FlagSet) runFunc {
			var f readFlags
			fs.StringVar(&f.Mode, "mode", switchboard.ModeAuto, "`mode`: auto, transcript or pane")
			fs.IntVar(&f.Limit, "limit", 0, "`n` turns at most (default 20, of --format md all)")
			fs.IntVar(&f.MaxBytes, "max-bytes", 0, "`n` bytes of turns at most (default 24 KiB, of --format md 64 MiB)")
			fs.IntVar(&f.PaneLines, "pane-lines", 0, "`n` lines above the visible part of a pane")
			fs.StringVar(&f.Project, "project", "", "look for past conversations in the project of this `dir`")
			fs.BoolVar(&f.Subagents, "subagents", false, "also what subagents said")
			fs.BoolVar(&f.Unmasked, "show-secrets", false, "do not mask what looks like a secret")
			fs.BoolVar(&f.follow, "follow", false, "go on with what comes, until the session ends or Ctrl-C")
			fs.StringVar(&f.format, "format", "text", "`format`: text, or md (Markdown, the whole conversation)")
			fs.BoolVar(&f.asJSON, "json", false, "print one JSON document; with --follow one line for each piece")
			return func(ctx context.Context, a *app, args []string) error {
				if err := f.check(args); err != nil {
					return err
				}
				f.Name = args[0]
				return a.read(ctx, f)
			}
		},
	}
}

func (f *readFlags) check(args []string) error {
	usage := func(format string, args ...any) error {
		return usageError{msg: fmt.Sprintf(format, args...), hint: "peermux read -h"}
	}
	switch {
	case len(args) != 1:
		return usageError{msg: "one session, please", hint: "peermux list and peermux transcripts name them"}
	case f.Limit < 0 || f.MaxBytes < 0 || f.PaneLines < 0:
		return usage("--limit, --max-bytes and --pane-lines cannot be negative")
	case f.format != "text" && f.format != "md":
		return usage("--format %s: must be text or md", f.format)
	case f.follow && f.Mode == switchboard.ModePane:
		return usageError{msg: "a pane cannot be followed", hint: "tmux attach shows it live"}
	case f.format == "md" && (f.follow || f.asJSON || f.Mode == switchboard.ModePane):
		return usage("--format md writes a transcript, and goes with neither --follow nor --json nor --mode pane")
	}
	return nil
}

func (a *app) read(ctx context.Context, f readFlags) error {
	s, err := a.open(ctx, "")
	if err != nil {
		return err
	}
	switch {
	case f.format == "md":
		return a.readMarkdown(ctx, s, f)
	case f.follow:
		return a.readOn(ctx, s, f)
	}
	res, err := s.board.ReadSession(ctx, s.actor, f.ReadSessionRequest)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(a.out, res)
	}
	return a.printRead(res)
}

// readMarkdown writes the whole conversation, unless less was asked for.
func (a *app) readMarkdown(ctx context.Context, s *shell, f readFlags) error {
	w, err := s.board.FindWords(ctx, s.actor, f.Name, f.Project)
	if err != nil {
		return err
	}
	f.Limit = cmp.Or(f.Limit, 1<<30)
	f.MaxBytes = cmp.Or(f.MaxBytes, 64<<20)
	tail, err := s.board.Tail(ctx, w, f.ReadSessionRequest)
	if err != nil {
		return err
	}
	return transcript.Markdown(a.out, tail, cmp.Or(w.Name, w.Title))
}

// readOn shows the newest turns and then what comes.
func (a *app) readOn(ctx context.Context, s *shell, f readFlags) error {
	w, err := s.board.FindWords(ctx, s.actor, f.Name, f.Project)
	if err != nil {
		return err
	}
	tail, err := s.board.Tail(ctx, w, f.ReadSessionRequest)
	if err != nil {
		return err
	}
	show := func(t transcript.Turn) error { return printTurn(a.out, t) }
	if f.asJSON {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		show = func(t transcript.Turn) error { return enc.Encode(t) }
	} else {
		fmt.Fprintf(a.err, "peermux: note: following %s; Ctrl-C ends it\n", tail.File)
	}
	for _, t := range tail.Turns {
		if err := show(t); err != nil {
			return err
		}
	}
	err = s.board.Follow(ctx, w, tail.End, f.ReadSessionRequest, show)
	if ctx.Err() != nil {
		return nil // Ctrl-C is how following ends
	}
	if err == nil && !f.asJSON {
		fmt.Fprintln(a.err, "peermux: note: the session ended")
	}
	return err
}

func (a *app) printRead(res switchboard.SessionRead) error {
	if res.Text != "" {
		if _, err := fmt.Fprintln(a.out, res.Text); err != nil {
			return err
		}
	}
	for _, t := range res.Turns {
		if err := printTurn(a.out, t); err != nil {
			return err
		}
	}
	if len(res.Turns) == 0 && res.Text == "" {
		fmt.Fprintln(a.out, "nothing to show")
	}
	if res.Source != "" {
		notes := []string{"read from " + res.Source}
		if res.AgeSeconds != nil {
			notes[0] += ", " + short(time.Duration(*res.AgeSeconds*float64(time.Second))) + " old"
		}
		if res.Complete != nil && !*res.Complete {
			notes = append(notes, "the last turn is not complete")
		}
		if res.Truncated {
			notes = append(notes, "there is more before this; --limit and --max-bytes show it")
		}
		if res.Masked > 0 {
			notes = append(notes, fmt.Sprintf("%d values that look like secrets are masked", res.Masked))
		}
		a.notes(notes)
	}
	for _, o := range res.Omitted {
		a.notes([]string{"left out: " + o})
	}
	a.notes(res.Notes)
	return nil
}

// printTurn writes a turn: who and when, the words, and each tool with what it
// gave, indented.
func printTurn(w io.Writer, t transcript.Turn) error {
	var b strings.Builder
	who := t.Role
	if t.Agent != "" {
		who += " (subagent " + t.Agent + ")"
	}
	if !t.At.IsZero() {
		who += "  " + t.At.Local().Format(time.DateTime)
	}
	fmt.Fprintf(&b, "── %s\n", who)
	if t.Text != "" {
		fmt.Fprintln(&b, t.Text)
	}
	for _, tool := range t.Tools {
		sign := "→"
		if tool.Input == "" && tool.Done {
			sign = "←"
		}
		name := cmp.Or(tool.Name, "tool")
		fmt.Fprintf(&b, "  %s %s", sign, name)
		if tool.Failed {
			b.WriteString(" failed")
		}
		if tool.Input != "" {
			b.WriteString(": " + hanging(tool.Input))
		}
		b.WriteString("\n")
		if tool.Output != "" {
			fmt.Fprintf(&b, "    %s\n", hanging(tool.Output))
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func hanging(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") }

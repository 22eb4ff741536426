package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"time"

	"peermux/internal/switchboard"
	"peermux/internal/transcript"
)

func transcriptsCommand() command {
	return command{
		name: "transcripts", short: "list the conversations of a project, live and past, or search them",
		long: "The newest come first. A past conversation is shown with the command that\n" +
			"resumes it, and peermux read ID shows its turns. A number of turns with ~ is\n" +
			"an estimate. --grep searches the words of all of them: prompts, answers, the\n" +
			"inputs and results of tools. PATTERN is a regular expression.",
		examples: []string{"peermux transcripts", "peermux transcripts --grep 'unexpected EOF'"},
		flags: func(fs *flag.FlagSet) runFunc {
			dir := fs.String("project", "", "the project of this `dir` instead of the current one")
			pattern := fs.String("grep", "", "search for `pattern` and print the lines that match")
			limit := fs.Int("limit", 0, "`n` conversations or matches at most (default all)")
			unmasked := fs.Bool("show-secrets", false, "do not mask what looks like a secret in matches")
			asJSON := fs.Bool("json", false, "print one JSON document; with --grep one line for each match")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				if *limit < 0 {
					return usageError{msg: "--limit cannot be negative", hint: "peermux transcripts -h"}
				}
				g := grepFlags{pattern: *pattern, limit: *limit, unmasked: *unmasked, asJSON: *asJSON}
				if err := g.check(); err != nil {
					return err
				}
				s, err := a.open(ctx, "")
				if err != nil {
					return err
				}
				res, err := s.board.Conversations(ctx, s.actor, *dir)
				if err != nil {
					return err
				}
				if *pattern != "" {
					return a.grep(ctx, res, g)
				}
				if *limit > 0 && len(res.Conversations) > *limit {
					res.Conversations = res.Conversations[:*limit]
				}
				if *asJSON {
					return writeJSON(a.out, res)
				}
				return a.printConversations(res)
			}
		},
	}
}

func (a *app) printConversations(res switchboard.ConversationsResult) error {
	if len(res.Conversations) == 0 {
		fmt.Fprintf(a.out, "no conversation ran in %s\n", clean(res.Project))
		return nil
	}
	t := &table{head: []string{"ID", "CLIENT", "AGE", "TURNS", "SIZE", "LIVE AS", "TITLE", "RESUME"}, width: a.width(), bold: a.colour()}
	for _, c := range res.Conversations {
		age, turns := "", fmt.Sprint(c.Turns)
		if c.AgeSeconds != nil {
			age = short(time.Duration(*c.AgeSeconds * float64(time.Second)))
		}
		if c.Estimated {
			turns = "~" + turns
		}
		name := c.Name
		if c.Live && name == "" {
			name = "(no name)"
		}
		if c.Status != "" {
			name += ", " + c.Status
		}
		t.add(c.SessionID, c.Client, age, turns, sizeText(c.Size), name, cmp.Or(c.Title, c.FirstPrompt), c.Resume)
	}
	return t.write(a.out)
}

// sizeText is a number of bytes in the one unit that matters.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", n>>10)
	case n < 1<<30:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

type grepFlags struct {
	pattern  string
	limit    int
	unmasked bool
	asJSON   bool
}

func (f grepFlags) check() error {
	if _, err := regexp.Compile(f.pattern); err != nil {
		return usageError{msg: err.Error(), hint: `write \Q before characters to be taken as they are`}
	}
	return nil
}

// errEnough ends a search at its limit.
var errEnough = errors.New("enough matches")

// grep prints matches as they are found; like grep it ends with exit code 1 when
// there is none.
func (a *app) grep(ctx context.Context, res switchboard.ConversationsResult, f grepFlags) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	n := 0
	for _, c := range res.Conversations {
		if c.File == "" {
			continue
		}
		first := true
		found := func(m transcript.Match) error {
			if n++; f.limit > 0 && n > f.limit {
				return errEnough
			}
			if f.asJSON {
				return enc.Encode(m)
			}
			if first {
				first = false
				fmt.Fprintf(a.out, "%s (%s) %s\n%s\n", c.SessionID, c.Client, cmp.Or(c.Title, c.FirstPrompt), m.File)
			}
			return a.printMatch(m)
		}
		root := transcript.ClientFolder(c.File)
		err := transcript.Grep(ctx, c.Files(), transcript.GrepOptions{Pattern: f.pattern, Unmasked: f.unmasked, ClaudeDir: root, CodexHome: root}, found)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		return coded(exitFailed)
	}
	return nil
}

func (a *app) printMatch(m transcript.Match) error {
	when := ""
	if !m.At.IsZero() {
		when = m.At.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(a.out, "  turn %-4d %-9s %s  %s\n", m.Turn, cmp.Or(m.Tool, m.Role), when, m.Text)
	return err
}

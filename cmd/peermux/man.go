package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

func manCommand() command {
	return command{
		name: "man", short: "print the manual page, in roff",
		examples: []string{"peermux man | man -l -", "peermux man > peermux.1"},
		flags: func(*flag.FlagSet) runFunc {
			return func(_ context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				return writeMan(a.out, a.version)
			}
		},
	}
}

// writeMan makes the page from the same command values as -h.
func writeMan(w io.Writer, version string) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH PEERMUX 1 \"\" \"peermux %s\"\n", roff(version))
	b.WriteString(".SH NAME\npeermux \\- coding-agent sessions find, message, ask and wake each other\n")
	b.WriteString(".SH SYNOPSIS\n.B peermux\n.I COMMAND\n[ARGUMENTS]\n.SH COMMANDS\n")
	for _, c := range commands() {
		if c.internal {
			continue
		}
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(usageLine(c)), roff(sentence(c.short)))
		if c.long != "" {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", roff(c.long))
		}
		for _, l := range flagLines(c) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(l[0]), roff(l[1]))
		}
		b.WriteString(".PP\nExamples:\n.nf\n")
		for _, e := range c.examples {
			fmt.Fprintf(&b, "  %s\n", roff(e))
		}
		b.WriteString(".fi\n")
	}
	b.WriteString(manTail)
	_, err := io.WriteString(w, b.String())
	return err
}

// roff escapes what would be a request or a special character.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") {
			lines[i] = `\&` + l
		}
	}
	return ascii(strings.Join(lines, "\n"))
}

// ascii writes other characters by number: groff reads bytes unless told.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 128 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

const manTail = `.SH EXIT STATUS
0 done, 1 failed, 2 usage, 3 no such target or an ambiguous one, 4 timed out, 5 refused.
.SH ENVIRONMENT
.TP
.B PEERMUX_HOME
where everything is kept (default ~/.peermux)
.TP
.B PEERMUX_WAKE
auto, native, tmux or off
.TP
.B PEERMUX_ASK_TIMEOUT_MS
how long an ask waits when it does not say (default 60000, at most 280000)
.TP
.B PEERMUX_REACH
machine: address every session of this user, not only the project and its group
.TP
.B PEERMUX_RECEIVE
the broadcast scopes to receive, such as project,group
.TP
.B PEERMUX_BACKFILL_MIN
minutes of earlier broadcasts that a new session is shown
.TP
.B PEERMUX_REPO
declares a repository identity for a directory that is no git repository
.TP
.B PEERMUX_TRACE
write trace.ndjson: ids and sizes, never bodies
.TP
.B NO_COLOR
no colour
`

package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// welcome is what `peermux` alone says: where things stand and what to do next.
func (a *app) welcome() error {
	fmt.Fprintln(a.out, "peermux lets the coding-agent sessions on this machine find, message, ask and wake each other.")
	fmt.Fprintln(a.out)
	next := []string{"peermux setup", "connect Claude Code and Codex", "peermux list", "see who is running", "peermux demo", "watch it work, no account needed", "peermux help", "all commands"}
	for i := 0; i < len(next); i += 2 {
		fmt.Fprintf(a.out, "  %-16s %s\n", next[i], next[i+1])
	}
	return nil
}

func (a *app) help(args []string) error {
	if len(args) > 0 && args[0] != "-h" && args[0] != "--help" {
		cmd, ok := find(args[0])
		if !ok {
			return usageError{msg: fmt.Sprintf("there is no command %q", args[0]), hint: suggestion(args[0])}
		}
		return writeHelp(a.out, cmd)
	}
	fmt.Fprintln(a.out, "usage: peermux COMMAND [ARGUMENTS]")
	for _, group := range groups() {
		fmt.Fprintf(a.out, "\n%s\n", group.title)
		for _, c := range group.commands {
			if !c.internal {
				fmt.Fprintf(a.out, "  %-14s %s\n", c.name, c.short)
			}
		}
	}
	fmt.Fprintln(a.out, "\npeermux COMMAND -h shows a command's flags and examples.")
	return nil
}

// writeHelp prints what -h shows; the man page uses the same fields.
func writeHelp(w io.Writer, c command) error {
	fmt.Fprintf(w, "%s\n\nusage: %s\n", sentence(c.short), usageLine(c))
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.long))
	}
	if lines := flagLines(c); len(lines) > 0 {
		fmt.Fprintln(w, "\nflags:")
		for _, l := range lines {
			fmt.Fprintf(w, "  %-24s %s\n", l[0], l[1])
		}
	}
	if len(c.examples) > 0 {
		fmt.Fprintln(w, "\nexamples:")
		for _, e := range c.examples {
			fmt.Fprintf(w, "  %s\n", e)
		}
	}
	return nil
}

func usageLine(c command) string {
	line := "peermux " + c.name
	if len(flagLines(c)) > 0 {
		line += " [FLAGS]"
	}
	if c.args != "" {
		line += " " + c.args
	}
	return line
}

// flagLines returns each flag as it is typed, and what it does.
func flagLines(c command) [][2]string {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.flags(fs)
	var lines [][2]string
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		name := "--" + f.Name
		if value != "" {
			name += " " + strings.ToUpper(value)
			usage = strings.Replace(f.Usage, "`"+value+"`", strings.ToUpper(value), 1)
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			usage += " (default " + shortly(f.DefValue) + ")"
		}
		lines = append(lines, [2]string{name, usage})
	})
	return lines
}

// shortly is a default as a person would type it: 1m for 1m0s.
func shortly(value string) string {
	if _, err := time.ParseDuration(value); err != nil {
		return value
	}
	if minutes, ok := strings.CutSuffix(value, "m0s"); ok {
		value = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(value, "h0m"); ok {
		value = hours + "h"
	}
	return value
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

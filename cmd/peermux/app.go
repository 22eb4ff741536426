package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"peermux/registry"
)

// app is what every command gets: the streams, the environment and the clock,
// passed in so that tests can replace them.
type app struct {
	in              io.Reader
	out, err        io.Writer
	env             func(string) string
	now             func() time.Time
	version, commit string

	json bool // --json was given: a failure is a JSON document too
}

// runFunc does a command's work with the arguments that are no flags.
type runFunc func(ctx context.Context, a *app, args []string) error

// command declares one sub-command. Its help, its completion and its page of
// the manual are all made from these fields.
type command struct {
	name     string
	args     string   // synopsis of the arguments: "TARGET [BODY|-]"
	short    string   // one line, lower case, no full stop
	long     string   // what a reader of -h needs beyond that; may be empty
	examples []string // two, each a line that can be run
	internal bool     // run by clients and shells, not by people: left out of the overview
	// raw commands take their arguments as they are (`run -- CMD ARG…`).
	raw bool
	// flags declares the command's flags and returns what runs it.
	flags func(fs *flag.FlagSet) runFunc
}

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return a.exit(a.welcome())
	}
	name, rest := args[0], args[1:]
	switch name {
	case "-h", "--help", "help":
		return a.exit(a.help(rest))
	case "-v", "--version":
		name = "version"
	}
	cmd, ok := find(name)
	if !ok {
		return a.exit(usageError{
			msg:  fmt.Sprintf("there is no command %q", name),
			hint: suggestion(name),
		})
	}
	return a.exit(a.run(ctx, cmd, rest))
}

func (a *app) run(ctx context.Context, cmd command, args []string) error {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := cmd.flags(fs)
	words, err := parse(fs, args, cmd.raw)
	if f := fs.Lookup("json"); f != nil {
		a.json = f.Value.String() == "true"
	}
	if errors.Is(err, flag.ErrHelp) {
		return writeHelp(a.out, cmd)
	}
	if err != nil {
		return usageError{msg: flagError(fs, err), hint: "peermux " + cmd.name + " -h shows the flags"}
	}
	err = run(ctx, a, words)
	if usage, ok := errors.AsType[usageError](err); ok && usage.hint == "" {
		usage.hint = "peermux " + cmd.name + " -h shows what it takes"
		return usage
	}
	return err
}

// flagError words the flag package's messages for people, who type two dashes.
func flagError(fs *flag.FlagSet, err error) string {
	msg := err.Error()
	_, name, _ := strings.Cut(msg, " for flag -")
	name, isParse := strings.CutSuffix(name, ": parse error")
	if f := fs.Lookup(name); isParse && f != nil {
		want := "must be a whole number"
		if _, ok := f.Value.(flag.Getter).Get().(time.Duration); ok {
			want = "must be a time with its unit, such as 30s or 5m"
		}
		msg = strings.Replace(msg, "parse error", want, 1)
	}
	return strings.NewReplacer(
		"flag provided but not defined: -", "there is no flag --",
		"flag needs an argument: -", "a value is missing after --",
		" for flag -", " for --",
	).Replace(msg)
}

// parse reads flags wherever they stand, before and after arguments; the flag
// package alone stops at the first argument. "--" ends the flags; a lone "-"
// is an argument (stdin).
func parse(fs *flag.FlagSet, args []string, raw bool) ([]string, error) {
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		ended := len(rest) < len(args) && args[len(args)-len(rest)-1] == "--"
		if len(rest) == 0 || ended || raw {
			return append(words, rest...), nil
		}
		words = append(words, rest[0])
		args = rest[1:]
	}
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// suggestion names the commands that a mistyped one may have meant.
func suggestion(name string) string {
	var names []string
	for _, c := range commands() {
		if !c.internal && !strings.HasPrefix(name, "-") {
			names = append(names, c.name)
		}
	}
	near := registry.Nearest(name, names)
	if len(near) == 0 {
		return "peermux help lists the commands"
	}
	return "did you mean peermux " + strings.Join(near, " or peermux ") + "?"
}

// home returns the absolute peermux home: PEERMUX_HOME, else ~/.peermux.
func (a *app) home() (string, error) {
	if h := a.env("PEERMUX_HOME"); h != "" {
		if !filepath.IsAbs(h) {
			return "", usageError{msg: "PEERMUX_HOME must be an absolute path, got " + h, hint: "export PEERMUX_HOME=$HOME/.peermux"}
		}
		return filepath.Clean(h), nil
	}
	u, err := a.userHome()
	if err != nil {
		return "", err
	}
	return filepath.Join(u, ".peermux"), nil
}

// userHome returns $HOME, which every client of ours sets too. Where only
// PEERMUX_HOME is set, as in a CI job, the system's record of the user will do.
func (a *app) userHome() (string, error) {
	if h := a.env("HOME"); filepath.IsAbs(h) {
		return h, nil
	}
	if a.env("PEERMUX_HOME") != "" {
		if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
			return u.HomeDir, nil
		}
	}
	return "", hinted{err: errors.New("no home directory: HOME is not set"), hint: "set HOME, or PEERMUX_HOME to an absolute path"}
}

// body takes a message's text from the arguments, or from stdin with "-" or
// when there is none and stdin is not a terminal.
func (a *app) body(args []string) (string, error) {
	if len(args) > 1 {
		return "", usageError{msg: "the body is more than one argument", hint: "quote it: peermux send reviewer \"please look at parser.go\""}
	}
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	if len(args) == 0 && a.interactive() {
		return "", usageError{msg: "no body", hint: "give it as an argument, or pipe it in: echo text | peermux send TARGET -"}
	}
	// One byte more than a body may have, so that "too large" is seen by the
	// check that names the limit, without reading an endless stream.
	b, err := io.ReadAll(io.LimitReader(a.in, 64<<10+1))
	if err != nil {
		return "", fmt.Errorf("read the body from stdin: %w", err)
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// interactive reports whether a person sits at stdin.
func (a *app) interactive() bool {
	f, ok := a.in.(*os.File)
	return ok && isTerminal(f)
}

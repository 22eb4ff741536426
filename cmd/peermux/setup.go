package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"peermux/hookscripts"
	"peermux/internal/shellquote"
)

func setupCommand() command {
	return command{
		name: "setup", short: "connect Claude Code and Codex: MCP server, hooks, Codex's trust",
		long: `Finds the clients, adds the MCP server and the hooks to their settings, and has
Codex trust the hooks after asking you. Everything else in those files stays as
it is; a copy is kept beside each. --remove undoes all of it.`,
		examples: []string{"peermux setup --dry-run", "peermux setup --with-skills"},
		flags: func(fs *flag.FlagSet) runFunc {
			var s setup
			s.flags(fs)
			fs.BoolVar(&s.remove, "remove", false, "take everything out again")
			fs.BoolVar(&s.skills, "with-skills", false, "also install a skill that teaches a session to use its peers")
			fs.BoolVar(&s.opts.Approve, "approve", false, "let peermux's own tools run without the client asking")
			fs.Func("plugin", "write a plugin for both clients into `dir` and change no settings", func(dir string) error {
				if dir == "" { // as from a variable that is not set
					return errors.New("name a folder")
				}
				s.plugin = dir
				return nil
			})
			return s.run
		},
	}
}

func installHookCommand() command {
	return command{
		name: "install-hook", short: "install the hooks alone",
		long:     "For the MCP server as well, use peermux setup.",
		examples: []string{"peermux install-hook --dry-run", "peermux install-hook --client claude"},
		flags: func(fs *flag.FlagSet) runFunc {
			s := setup{hooksOnly: true}
			s.flags(fs)
			return s.run
		},
	}
}

func uninstallHookCommand() command {
	return command{
		name: "uninstall-hook", short: "take the hooks out, and the trust in them",
		examples: []string{"peermux uninstall-hook", "peermux uninstall-hook --client codex --dry-run"},
		flags: func(fs *flag.FlagSet) runFunc {
			s := setup{hooksOnly: true, remove: true}
			s.flags(fs)
			return s.run
		},
	}
}

// setup is one run of setup, install-hook or uninstall-hook.
type setup struct {
	client, plugin                 string
	yes, remove, skills, hooksOnly bool
	opts                           hookscripts.Options

	app     *app
	env     hookscripts.Env
	changed bool     // something was written into a client's settings
	left    []string // what the person still has to do
	failed  []error
}

func (s *setup) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.client, "client", "", "`client`: claude, codex or all; without it, those found on this machine")
	fs.BoolVar(&s.opts.DryRun, "dry-run", false, "show the changes, make none")
	yes := "do not ask before Codex is told to trust the hooks"
	if s.remove {
		yes = "accepted and not needed: taking the hooks out asks nothing"
	}
	fs.BoolVar(&s.yes, "yes", false, yes)
}

func (s *setup) run(ctx context.Context, a *app, args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	s.app = a
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	s.env, err = hookscripts.NewEnv(a.env, a.now, hookscripts.StablePath(os.Args[0], executable))
	if err != nil {
		return err
	}
	s.env.Version = a.version
	if s.plugin != "" {
		return s.writePlugin()
	}
	if err := s.choose(); err != nil {
		return err
	}
	s.opts.Draft = hookscripts.NewDraft()
	if s.remove {
		s.undo(ctx)
	} else {
		s.do(ctx)
	}
	fmt.Fprint(a.out, s.opts.Draft.Diff())
	if len(s.left) > 0 {
		fmt.Fprintln(a.out, "\nleft to do:")
		for _, l := range s.left {
			fmt.Fprintln(a.out, "  - "+l)
		}
	}
	if len(s.failed) > 0 {
		hint := "mend that and run the command again"
		if !s.opts.DryRun {
			hint += "; what is done already stays as it is"
		}
		return hinted{err: errors.Join(s.failed...), hint: hint}
	}
	return nil
}

// choose settles which clients are meant.
func (s *setup) choose() error {
	switch s.client {
	case "all":
		s.opts.Clients = hookscripts.Clients()
	case hookscripts.Claude, hookscripts.Codex:
		s.opts.Clients = []string{s.client}
	case "":
		for _, client := range hookscripts.Clients() {
			if _, ok := s.env.Found(client); ok || s.remove {
				s.opts.Clients = append(s.opts.Clients, client)
			}
		}
		if len(s.opts.Clients) == 0 {
			return hinted{err: errors.New("neither Claude Code nor Codex was found"), hint: "install one of them, or name it: peermux setup --client claude"}
		}
	default:
		return usageError{msg: fmt.Sprintf("there is no client %q", s.client), hint: "--client claude, codex or all"}
	}
	return nil
}

type step func(context.Context, hookscripts.Env, hookscripts.Options) ([]hookscripts.Change, error)

func (s *setup) do(ctx context.Context) {
	if !s.hooksOnly {
		s.step(ctx, hookscripts.RegisterServer)
	}
	s.step(ctx, hookscripts.Install)
	if s.skills {
		s.step(ctx, hookscripts.InstallSkills)
	}
	for _, client := range s.opts.Clients {
		if client == hookscripts.Codex && len(s.failed) == 0 {
			s.trust(ctx)
		}
	}
	s.warn()
	if !s.changed {
		return
	}
	s.left = append(s.left, "start the clients anew: a session that runs keeps the settings it started with")
	if !s.hooksOnly && !s.opts.Approve {
		s.left = append(s.left, "a client may ask before it runs a tool of peermux; peermux setup --approve spares you that")
	}
}

// warn says what would make the set-up useless: a switch of the person's that
// turns hooks or server off, which is not ours to change; or the plugin as well,
// with which every hook fires twice and every tool is there twice.
func (s *setup) warn() {
	for _, client := range s.opts.Clients {
		in, err := hookscripts.Inspect(s.env, client)
		if err != nil || len(s.failed) > 0 {
			continue // what can't be read was said by the steps before
		}
		for _, p := range in.Problems {
			if p = s.tilde(p); !slices.Contains(s.left, p) {
				s.left = append(s.left, p)
			}
		}
		if in.Plugin {
			s.left = append(s.left, "the peermux plugin is enabled in "+client+" as well: keep one of the two")
		}
	}
}

func (s *setup) undo(ctx context.Context) {
	s.step(ctx, hookscripts.Uninstall)
	if !s.hooksOnly {
		s.step(ctx, hookscripts.UnregisterServer)
		s.step(ctx, hookscripts.RemoveSkills)
	}
}

// step does one thing in all clients and says what came of it.
func (s *setup) step(ctx context.Context, do step) {
	changes, err := do(ctx, s.env, s.opts)
	// What is wrong with the home or a file is met by each step, and said once.
	if err != nil && !slices.ContainsFunc(s.failed, func(e error) bool { return e.Error() == err.Error() }) {
		s.failed = append(s.failed, err)
	}
	for _, c := range changes {
		if s.opts.DryRun && (c.Did == hookscripts.Added || c.Did == hookscripts.Updated || c.Did == hookscripts.Removed) {
			continue // the draft shows it
		}
		s.changed = s.changed || c.Did == hookscripts.Added || c.Did == hookscripts.Updated
		s.say(c.Client, c.What, s.sentence(c))
		if c.Note != "" {
			s.left = append(s.left, s.tilde(c.File)+": "+c.Note)
		}
	}
}

func (s *setup) say(client, what, text string) {
	fmt.Fprintf(s.app.out, "%-7s %-7s %s\n", client, what, text)
}

func (s *setup) sentence(c hookscripts.Change) string {
	file := s.tilde(c.File)
	switch c.Did {
	case hookscripts.Added:
		if c.Backup != "" {
			file += " (as it was: " + filepath.Base(c.Backup) + ")"
		}
		return "added to " + file
	case hookscripts.Updated:
		return "brought up to date in " + file
	case hookscripts.Present:
		return "already in " + file
	case hookscripts.Removed:
		return "removed from " + file
	case hookscripts.Kept:
		return "left as you have it in " + file
	}
	return "not in " + file
}

// tilde shortens a path for a person.
func (s *setup) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, s.app.env("HOME")+"/"); ok {
		return "~/" + rest
	}
	return path
}

// trust has Codex trust the hooks, once the person agreed.
func (s *setup) trust(ctx context.Context) {
	if in, err := hookscripts.Inspect(s.env, hookscripts.Codex); err == nil && in.HooksOff {
		s.say("codex", "trust", "not asked for: Codex runs no hooks at all as it is set")
		return // warn says which switch it is
	}
	if s.opts.DryRun {
		s.app.notes([]string{"Codex would be asked to trust the hooks, after you agreed"})
		return
	}
	s.app.notes([]string{"asking Codex which hooks it trusts…"})
	report, err := hookscripts.CodexTrust(ctx, s.env)
	if err == nil && len(report.Untrusted()) > 0 && s.agreed(len(report.Untrusted())) {
		report, err = hookscripts.TrustCodex(ctx, s.env)
	}
	switch {
	case err != nil:
		s.say("codex", "trust", "unknown")
		s.left = append(s.left, "trust the hooks in Codex with /hooks ("+err.Error()+")")
	case report.OK():
		s.say("codex", "trust", fmt.Sprintf("Codex trusts all %d hooks", len(report.Hooks)))
	default:
		s.say("codex", "trust", untrusted(report))
		s.left = append(s.left, "Codex skips hooks that it does not trust: peermux setup --yes, or /hooks in Codex")
		s.left = append(s.left, report.Warnings...)
	}
}

func untrusted(r hookscripts.TrustReport) string {
	switch {
	case len(r.Missing) > 0:
		return "Codex doesn't see the hooks for " + strings.Join(r.Missing, ", ")
	case len(r.Untrusted()) > 0:
		return "not trusted: " + strings.Join(r.Untrusted(), ", ")
	}
	return "some hooks are switched off in Codex"
}

// agreed asks the person, unless --yes did.
func (s *setup) agreed(hooks int) bool {
	if s.yes {
		return true
	}
	if !s.app.interactive() {
		return false
	}
	fmt.Fprintf(s.app.err, "Codex runs hooks only when you trust them. These %d run one program:\n  %s codex EVENT\nTrust them? [y/N] ", hooks, s.env.HookPath)
	var answer string
	// Without an answer (end of input) it is a no.
	_, _ = fmt.Fscanln(s.app.in, &answer)
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

func (s *setup) writePlugin() error {
	dir, err := filepath.Abs(s.plugin)
	if err != nil {
		return err
	}
	if s.remove || s.opts.DryRun {
		return usageError{msg: "--plugin goes with neither --remove nor --dry-run", hint: "the folder is yours: delete it when you no longer want it"}
	}
	if err := hookscripts.WritePlugin(dir, s.env); err != nil {
		return err
	}
	fmt.Fprintf(s.app.out, `the plugin is in %[1]s

Claude Code   claude plugin marketplace add %[1]s && claude plugin install peermux@peermux
              (for one run: claude --plugin-dir %[1]s)
Codex         codex plugin marketplace add %[1]s && codex plugin add peermux@peermux
              (then trust its hooks: /hooks)

Use it instead of peermux setup, not as well: the tools would be there twice.
`, shellquote.Quote(dir))
	return nil
}

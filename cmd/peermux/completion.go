package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"peermux/internal/switchboard"
)

// The completion scripts hold no list of their own: each asks
// `peermux complete -- WORD…`, which answers from the same command values that
// help is made from, and with the names of the sessions that live right now.

func completionCommand() command {
	return command{
		name: "completion", args: "bash|zsh|fish", short: "print a shell's completion script",
		long: `Put the line for your shell into its start-up file:
  bash  source <(peermux completion bash)
  zsh   source <(peermux completion zsh)
  fish  peermux completion fish | source`,
		examples: []string{"source <(peermux completion bash)", "peermux completion fish > ~/.config/fish/completions/peermux.fish"},
		flags: func(*flag.FlagSet) runFunc {
			return func(_ context.Context, a *app, args []string) error {
				if len(args) != 1 || completionScripts()[args[0]] == "" {
					return usageError{msg: "which shell?", hint: "peermux completion bash, zsh or fish"}
				}
				_, err := fmt.Fprint(a.out, completionScripts()[args[0]])
				return err
			}
		},
	}
}

func completionScripts() map[string]string {
	return map[string]string{
		// No compgen -W: that expands the words, and runs what a name has in $(…).
		"bash": `_peermux() {
  local word about
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do
    COMPREPLY+=("$word")
  done < <(peermux complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _peermux peermux
`,
		"zsh": `#compdef peermux
_peermux() {
  local -a lines
  lines=("${(@f)$(peermux complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  lines=("${(@)lines/$'\t'/:}")
  _describe 'peermux' lines || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _peermux peermux
`,
		"fish": `complete -c peermux -f -a '(peermux complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
	}
}

func completeCommand() command {
	return command{
		name: "complete", args: "-- WORD…", short: "answer a shell's completion request", internal: true, raw: true,
		examples: []string{"peermux complete -- send re", "peermux complete -- read --m"},
		flags: func(*flag.FlagSet) runFunc {
			return func(ctx context.Context, a *app, words []string) error {
				for _, c := range a.candidates(ctx, words) {
					fmt.Fprintln(a.out, c)
				}
				return nil
			}
		},
	}
}

// candidates returns what the last word may become, as "word<TAB>about".
func (a *app) candidates(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	if len(words) == 1 || len(words) == 2 && words[0] == "help" {
		return matching(last, commandNames())
	}
	cmd, ok := find(words[0])
	if !ok {
		return nil
	}
	if strings.HasPrefix(last, "-") {
		var names []string
		for _, l := range flagLines(cmd) {
			name, _, _ := strings.Cut(l[0], " ")
			names = append(names, name+"\t"+l[1])
		}
		return matching(last, names)
	}
	previous := words[len(words)-2]
	if values := fixedValues(cmd.name, previous); values != nil {
		return matching(last, values)
	}
	switch {
	case cmd.name == "gateway" && len(words) == 2:
		return matching(last, []string{"add", "remove", "list", "set"})
	case takesValue(cmd, previous) && previous != "--box":
		return nil
	case previous == "--box" || strings.HasPrefix(cmd.args, "TARGET") && positionals(cmd, words[1:len(words)-1]) == 0:
		return matching(last, a.liveTargets(ctx))
	case strings.Contains(cmd.args, "|") && !strings.Contains(cmd.args, "["):
		return matching(last, strings.Split(cmd.args, "|"))
	}
	return nil
}

// fixedValues returns the words that a command's flag chooses among.
func fixedValues(command, flagName string) []string {
	switch flagName {
	case "--scope":
		scopes := []string{"project", "group", "global"}
		if command == "broadcast" {
			scopes = append(scopes, "repos")
		}
		return scopes
	case "--client":
		return []string{"claude", "codex", "all"}
	case "--urgency":
		return []string{"low", "normal", "high"}
	case "--wake":
		return []string{"auto", "off"}
	case "--mode":
		return []string{"auto", "transcript", "pane"}
	case "--format":
		return []string{"text", "md"}
	case "--kind":
		return []string{"note", "lock", "release"}
	}
	return nil
}

// takesValue reports whether the next word belongs to the flag.
func takesValue(cmd command, flagName string) bool {
	for _, l := range flagLines(cmd) {
		if name, value, _ := strings.Cut(l[0], " "); name == flagName {
			return value != ""
		}
	}
	return false
}

// positionals counts the words that are neither flags nor their values.
func positionals(cmd command, words []string) int {
	fs := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	fs.Usage = func() {}
	fs.SetOutput(nothing{})
	cmd.flags(fs)
	args, err := parse(fs, words, cmd.raw)
	if err != nil {
		return 0
	}
	return len(args)
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		if !c.internal {
			names = append(names, c.name+"\t"+c.short)
		}
	}
	return names
}

func matching(prefix string, candidates []string) []string {
	var out []string
	for _, c := range candidates {
		if strings.HasPrefix(c, prefix) {
			out = append(out, c)
		}
	}
	return out
}

type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// liveTargets are the names in reach; a shell that asks for them gets none
// rather than an error.
func (a *app) liveTargets(ctx context.Context) []string {
	s, err := a.open(ctx, "")
	if err != nil {
		return nil
	}
	res, err := s.board.List(ctx, s.actor, switchboard.ListRequest{OnlySessions: true})
	if err != nil {
		return nil
	}
	names := []string{"user\tthe person at the keyboard"}
	for _, row := range res.Sessions {
		names = append(names, row.Name+"\t"+row.Client+", "+row.Status)
	}
	return names
}

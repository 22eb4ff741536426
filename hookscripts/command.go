package hookscripts

import (
	"fmt"
	"regexp"
	"strings"
)

// command is the text a client hands to its shell for an event. It never
// changes as long as the programs stay where they are: Codex's trust hangs on
// it. The test in front lets a session go on when peermux-hook is gone; with
// exec the shell costs nothing extra (measured: 2.0 ms with sh, 2.3 ms for the
// bare command). All of it is understood by sh, bash, zsh, ksh and fish, since
// Codex takes the person's own shell.
func (e Env) command(client, event string) string {
	hook := shellQuote(e.HookPath)
	run := hook
	if home := e.fixedHome(); home != "" {
		run = "env PEERMUX_HOME=" + shellQuote(home) + " " + hook // fish has no "A=b exec c"
	}
	return fmt.Sprintf("[ -x %s ] || exit 0; exec %s %s %s", hook, run, client, event)
}

func shellQuote(s string) string {
	if regexp.MustCompile(`^[A-Za-z0-9/._+:@%-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// isOurs tells our hooks by the program's name, as a word or at the end of a
// path, however the rest of the command is written.
func isOurs(command string) bool {
	return regexp.MustCompile(`(^|[\s'"/=;(&|])peermux-hook($|[\s'"\\;)&|])`).MatchString(command)
}

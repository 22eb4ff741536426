package hookscripts

import (
	"fmt"
	"strings"

	"peermux/internal/shellquote"
)

// command is the text a client hands to its shell for an event. It never
// changes as long as the programs stay where they are: Codex's trust hangs on
// it. The test in front lets a session go on without a word when peermux-hook is
// gone, as on a second machine that shares the settings. With one processor the Go
// runtime starts fewer threads, which is a tenth of a hook's time. All of it is
// understood by sh, bash, zsh, ksh and fish, since Codex takes the person's own
// shell; fish has no "A=b exec c".
func (e Env) command(client, event string) string {
	hook := shellquote.Quote(e.HookPath)
	set := "GOMAXPROCS=1"
	if home := e.fixedHome(); home != "" {
		set += " PEERMUX_HOME=" + shellquote.Quote(home)
	}
	return fmt.Sprintf("[ -x %s ] || exit 0; export %s; exec %s %s %s", hook, set, hook, client, event)
}

// isOurs tells our hooks by the program's name, as a word or at the end of a
// path, however the rest of the command is written.
func isOurs(command string) bool {
	const name = "peermux-hook"
	for rest, before := command, byte(' '); ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		if i > 0 {
			before = rest[i-1]
		}
		rest = rest[i+len(name):]
		if strings.IndexByte(" \t'\"/=;(&|", before) >= 0 && (rest == "" || strings.IndexByte(" \t'\"\\;)&|", rest[0]) >= 0) {
			return true
		}
		before = name[len(name)-1]
	}
}

package detect

import (
	"peermux/internal/proc"
	"peermux/internal/program"
	"peermux/registry"
)

// Terminal is the process of a session that draws on a terminal: the client
// itself, or the terminal program of a thread that lives in Codex's daemon; or why
// none is proven.
func Terminal(e registry.Entry) (proc.Info, string) { return terminal(e, machine{}) }

// Attended reports whether somebody can sit at a session. A thread in Codex's
// daemon outlives its last terminal by about a minute (0.171.0); it is unattended
// when no Codex terminal of the daemon's home is left in its directory. Where
// that can't be seen, it counts as attended.
func Attended(e registry.Entry) bool { return attended(e, machine{}) }

func attended(e registry.Entry, p System) bool {
	client, err := p.Stat(e.Client.PID)
	if err != nil || recognise(p, client.PID).Role != program.Daemon {
		return true
	}
	found, err := codexTerminals(p.CWD(e.PID), client, p)
	return err != nil || len(found) > 0
}

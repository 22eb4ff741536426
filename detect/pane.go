package detect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"peermux/internal/proc"
	"peermux/internal/program"
	"peermux/internal/tmux"
	"peermux/registry"
)

// Pane finds the tmux pane that a session's client runs in, or says why there is
// none to be typed into. A pane is proven, at this moment, by two facts together:
// the process that tmux started in it is the client or above the client, and its
// terminal is the client's. A variable such as TMUX_PANE proves nothing: editors,
// daemons and other agents inherit it.
//
// The servers asked are those of the runner, of the entry, of the client's own
// TMUX, and of this user's usual folders. In nested tmux only the inner pane has
// the client's terminal.
func Pane(ctx context.Context, e registry.Entry, runner *tmux.Runner) (*registry.Tmux, string) {
	f := paneFinder{System: machine{}, runner: runner, known: tmux.Sockets}
	return f.find(ctx, e)
}

// paneFinder holds what a search needs besides the entry.
type paneFinder struct {
	System
	runner *tmux.Runner
	// known lists the sockets in the usual folders.
	known func(env func(string) string) []string
}

func (f paneFinder) find(ctx context.Context, e registry.Entry) (*registry.Tmux, string) {
	term, why := terminal(e, f.System)
	if why != "" {
		return nil, why
	}
	above := map[int]bool{term.PID: true}
	for _, a := range proc.Chain(term, f.Stat) {
		above[a.PID] = true
	}
	var failures []string
	for _, socket := range f.sockets(e, term) {
		r := *f.runner
		r.Socket = socket
		panes, err := r.Panes(ctx)
		if err != nil {
			failures = append(failures, fmt.Sprintf("%s: %v", socket, err))
			continue
		}
		for _, pane := range panes {
			tty, err := proc.TTYDevice(pane.TTY)
			if err == nil && above[pane.PID] && tty == term.TTY && !pane.Dead {
				return &registry.Tmux{
					Socket: pane.Socket, ServerPID: pane.ServerPID,
					Session: pane.Session, Window: pane.Window, Pane: pane.ID,
				}, fmt.Sprintf("pane process %d is above the client %d, on the same terminal", pane.PID, term.PID)
			}
		}
	}
	why = "no tmux pane has the client's terminal"
	if len(failures) > 0 {
		why += " (" + strings.Join(failures, "; ") + ")"
	}
	return nil, why
}

// sockets lists the tmux servers to ask, the likeliest first.
func (f paneFinder) sockets(e registry.Entry, term proc.Info) []string {
	var list []string
	add := func(socket string) {
		for _, have := range list {
			if have == socket {
				return
			}
		}
		if socket != "" {
			list = append(list, socket)
		}
	}
	env := f.Env(term.PID, "TMUX", "TMUX_TMPDIR")
	add(tmux.SocketOf(env["TMUX"]))
	add(f.runner.Socket)
	if e.Tmux != nil {
		add(e.Tmux.Socket)
	}
	for _, socket := range f.known(func(key string) string { return env[key] }) {
		add(socket)
	}
	return list
}

// terminal finds the process of the session that draws on a terminal now.
func terminal(e registry.Entry, p System) (proc.Info, string) {
	term, why := threadTerminal(e, p)
	if why != "" || term.ID == e.Client.ID() {
		return term, why
	}
	alone, err := onlyThread(e, p)
	switch {
	case err != nil:
		return proc.Info{}, err.Error()
	case !alone:
		return proc.Info{}, "Codex's daemon holds several threads of this directory; which one the terminal shows is not known"
	}
	return term, ""
}

// threadTerminal finds the one process with a terminal that can have opened the
// session: the client, or, for a thread that lives in Codex's daemon, the one
// terminal program of the same Codex home in the thread's directory that started
// before the thread was opened and holds no thread itself. The daemon has no
// terminal, and says nothing about who shows what.
func threadTerminal(e registry.Entry, p System) (proc.Info, string) {
	client, err := p.Stat(e.Client.PID)
	if err != nil || client.ID != e.Client.ID() || client.Zombie() {
		return proc.Info{}, "the client is not running"
	}
	if recognise(p, client.PID).Role != program.Daemon {
		if client.TTY == 0 {
			return proc.Info{}, "the client has no terminal"
		}
		return client, ""
	}
	server, err := p.Stat(e.PID)
	if err != nil || server.ID != e.ID() {
		return proc.Info{}, "the session's server is not running"
	}
	found, err := codexTerminals(p.CWD(e.PID), client, p)
	switch {
	case err != nil:
		return proc.Info{}, err.Error()
	case len(found) == 0:
		return proc.Info{}, "no Codex terminal in the thread's directory"
	case len(found) > 1:
		return proc.Info{}, "several Codex terminals in the thread's directory"
	case proc.Later(found[0].ID, server.ID):
		return proc.Info{}, "the Codex terminal in the thread's directory is younger than the thread"
	}
	return found[0], ""
}

// onlyThread reports whether the client serves no other thread in the directory
// of this one: it runs one MCP server for each.
func onlyThread(e registry.Entry, p System) (bool, error) {
	all, err := p.List()
	if err != nil {
		return false, err
	}
	dir, exe := p.CWD(e.PID), p.Exe(e.PID)
	if dir == "" || exe == "" {
		return false, errors.New("the thread's directory is not known")
	}
	for _, i := range all {
		if i.PPID == e.Client.PID && i.PID != e.PID && !i.Zombie() && p.Exe(i.PID) == exe && p.CWD(i.PID) == dir {
			return false, nil
		}
	}
	return true, nil
}

// codexTerminals lists the terminal programs in a directory that could be
// attached to the daemon.
func codexTerminals(dir string, daemon proc.Info, p System) ([]proc.Info, error) {
	if dir == "" {
		return nil, errors.New("the thread's directory is not known")
	}
	all, err := p.List()
	if err != nil {
		return nil, err
	}
	var found []proc.Info
	for _, i := range all {
		if !isCodexTerminal(i, daemon, p) || p.CWD(i.PID) != dir {
			continue
		}
		threads, err := heldThreads(i.PID, codexHomeOf(i, p), p)
		if err != nil {
			return nil, err
		}
		if len(threads) == 0 { // else it is one with --no-daemon
			found = append(found, i)
		}
	}
	return found, nil
}

// isCodexTerminal reports whether a process is a terminal program of the Codex
// home that the daemon serves.
func isCodexTerminal(i, daemon proc.Info, p System) bool {
	if i.TTY == 0 || i.Zombie() {
		return false
	}
	known := recognise(p, i.PID)
	if known.Kind != registry.Codex || known.Role != program.Terminal || known.Wrapper {
		return false // not Codex, or its launcher in node
	}
	return codexHomeOf(i, p) == codexHomeOf(daemon, p)
}

func codexHomeOf(i proc.Info, p System) string {
	env := p.Env(i.PID, "CODEX_HOME", "HOME")
	return CodexHome(func(key string) string { return env[key] })
}

package switchboard

import (
	"fmt"
	"os"

	"peermux/internal/proc"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// Shell is the process that runs a command.
type Shell struct {
	Dir  string    // its working directory
	Self proc.Info // the command's own process
	From string    // app named by --from; empty is whoever the shell belongs to
}

// ActorFromShell tells who a command acts as: the app that From names; else the
// session whose client started this shell, proven by the process tree; else the
// person at the keyboard. CLAUDE_CODE_SESSION_ID alone proves nothing, since a
// tmux server, an editor or a daemon that was started in a session hands it on.
func (b *Board) ActorFromShell(s Shell) (Actor, error) {
	a := Actor{Process: s.Self.ID, Dir: s.Dir}
	place, err := project.At(s.Dir)
	if err == nil {
		a.Project, a.Branch = place.Root, place.Branch
	}
	if groups, err := project.LoadGroups(b.Home); err == nil {
		a.Group = groups.Of(a.Project)
	}
	if host, err := os.Hostname(); err == nil {
		a.Host = host
	}
	if s.From != "" {
		if err := project.ValidName(s.From); err != nil {
			return Actor{}, refuse(CodeBadRequest, "--from: %v", err)
		}
		a.Kind, a.Name, a.Client, a.Box = registry.ToApp, s.From, "app", mailbox.AppKey(s.From)
		return a, nil
	}
	entry, found, err := b.sessionOf(s)
	if err != nil {
		return Actor{}, err
	}
	if found {
		return b.ActorOf(entry, a), nil
	}
	a.Kind, a.Name, a.Client, a.Box = registry.ToUser, "user", "user", mailbox.UserKey("")
	return a, nil
}

// ActorOf is the session of an entry as the one who acts; the process and the
// working directory are those of base.
func (b *Board) ActorOf(e registry.Entry, base Actor) Actor {
	dir := base.Dir
	if dir == "" {
		dir = e.CWD
	}
	return Actor{
		Party: PartyOf(e), Kind: registry.ToSession, Group: e.Group, Process: base.Process,
		Dir: dir, ServerPID: e.PID, Headless: e.Client.Mode == registry.Headless,
	}
}

// sessionOf finds the session whose client is the nearest ancestor of the shell
// that is a client at all.
func (b *Board) sessionOf(s Shell) (registry.Entry, bool, error) {
	chain, err := proc.Ancestors(s.Self.PID)
	if err != nil {
		return registry.Entry{}, false, nil // no process tree to prove anything by: the person
	}
	live, err := b.peek()
	if err != nil {
		return registry.Entry{}, false, err
	}
	for _, p := range chain {
		var mine []registry.Entry
		for _, e := range live {
			if e.Client.PID == p.PID && e.Client.Start == p.Start && e.SessionID != "" {
				mine = append(mine, e)
			}
		}
		switch e, ok := narrow(mine, s.Dir, b.Env("CLAUDE_CODE_SESSION_ID")); {
		case ok:
			return e, true, nil
		case len(mine) > 1:
			// Codex's daemon runs the shells of all its threads (0.171.0).
			return registry.Entry{}, false, refuse(CodeNoIdentity,
				"this shell belongs to one of %d sessions of process %d and nothing tells which; use the peermux tools instead of the command", len(mine), p.PID)
		}
	}
	return registry.Entry{}, false, nil
}

// narrow picks the one entry that the session id in the environment names, or the
// only one there is, or the only one that works in dir.
func narrow(mine []registry.Entry, dir, sessionID string) (registry.Entry, bool) {
	if len(mine) == 1 {
		return mine[0], true
	}
	var here []registry.Entry
	for _, e := range mine {
		if sessionID != "" && e.SessionID == sessionID {
			return e, true
		}
		if e.CWD == dir {
			here = append(here, e)
		}
	}
	if len(here) == 1 {
		return here[0], true
	}
	return registry.Entry{}, false
}

// BoxOf resolves the box that a command names with --box, and who acts there. A
// person may look into any box; a session only into its own and a repository's.
// Answering and closing is for a repository's box and one's own: nobody answers
// in the name of another session.
func (b *Board) BoxOf(a Actor, target string) (key string, as Actor, err error) {
	d, err := b.resolve(a, target)
	if err != nil {
		return "", Actor{}, err
	}
	switch {
	case d.kind == registry.ToRepo:
		a.Dir = d.party.Project
	case d.key == a.Box, a.Kind == registry.ToUser:
	default:
		return "", Actor{}, refuse(CodeNotYours, "the box of %s is not yours to read", target)
	}
	return d.key, a, nil
}

// String names an actor for a person.
func (a Actor) String() string {
	if a.SessionID != "" {
		return fmt.Sprintf("%s (%s session %s)", a.Name, a.Client, a.SessionID)
	}
	return a.Kind + " " + a.Name
}

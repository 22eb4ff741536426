package switchboard

import (
	"fmt"
	"os"
	"strings"

	"peermux/internal/proc"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// ActorOf is a live session as an actor; process does the acting for it.
func ActorOf(e registry.Entry, process proc.ID) Actor {
	return Actor{
		Party: PartyOf(e), Kind: registry.ToSession, Group: e.Group, Process: process, Dir: e.CWD,
		ServerPID: e.PID,
	}
}

// Shell is what a command knows of who runs it.
type Shell struct {
	Dir  string // working directory
	Self proc.Info
	From string // the app it speaks for (--from), if any
	// Parents are the ancestors of Self, the parent first; nil asks the kernel.
	Parents []proc.Info
}

// ActorFromShell finds out for whom a command acts: the session in whose own
// shell it runs, else the app that it names, else the person at the keyboard.
// A variable alone proves nothing, since everything started from an agent's shell
// inherits it: the session has to be live and its client an ancestor of ours.
func (b *Board) ActorFromShell(s Shell) (Actor, error) {
	if s.From != "" {
		return b.app(s)
	}
	if s.Parents == nil {
		parents, err := proc.Ancestors(s.Self.PID)
		if err != nil {
			return Actor{}, fmt.Errorf("find out who runs this command: %w", err)
		}
		s.Parents = parents
	}
	live, err := b.peek()
	if err != nil {
		return Actor{}, err
	}
	e, above, err := sessionAbove(s.Parents, b.Env("CLAUDE_CODE_SESSION_ID"), live)
	if err != nil {
		return Actor{}, err
	}
	if above {
		a := ActorOf(e, s.Self.ID)
		a.Dir = s.Dir
		return a, nil
	}
	return b.outside(s, registry.ToUser, registry.ToUser, mailbox.UserKey(""))
}

// sessionAbove finds the session whose client the command runs under: the nearest
// one counts. Where that client holds several sessions, as Codex's daemon does,
// nobody is guessed, and an agent's command never passes for the person's.
func sessionAbove(parents []proc.Info, id string, live []registry.Entry) (e registry.Entry, found bool, err error) {
	for _, parent := range parents {
		var under []registry.Entry
		for _, e := range live {
			if e.Client.PID != 0 && e.Client.ID() == parent.ID {
				under = append(under, e)
			}
		}
		if len(under) == 0 {
			continue
		}
		if len(under) == 1 && under[0].SessionID != "" {
			return under[0], true, nil
		}
		for _, e := range under {
			if e.SessionID != "" && e.SessionID == id {
				return e, true, nil
			}
		}
		return e, false, refuse(CodeNoIdentity, "this shell runs under %s (pid %d), which holds %d sessions, and it cannot be told which of them this is; "+
			"use the MCP tools, or --from NAME to speak as an app", under[0].Client.Kind, parent.PID, len(under))
	}
	return e, false, nil
}

func (b *Board) app(s Shell) (Actor, error) {
	if badName(s.From) {
		return Actor{}, refuse(CodeBadRequest, "--from %s: a name may hold letters, digits, dots, dashes and underscores", s.From)
	}
	// A sender cannot claim the name of a session or of the person.
	if s.From == registry.ToUser {
		return Actor{}, refuse(CodeBadRequest, "--from %s: that is the person's own name; leave --from out", s.From)
	}
	live, err := b.peek()
	if err != nil {
		return Actor{}, err
	}
	for _, e := range live {
		if strings.EqualFold(e.Name, s.From) {
			return Actor{}, refuse(CodeBadRequest, "--from %s: a live session has that name; an app needs one of its own", s.From)
		}
	}
	return b.outside(s, registry.ToApp, s.From, mailbox.AppKey(s.From))
}

// outside is an actor that is no session.
func (b *Board) outside(s Shell, kind, name, box string) (Actor, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // it is only shown
	}
	a := Actor{
		Party: mailbox.Party{Name: name, Box: box, Host: host}, Kind: kind, Process: s.Self.ID, Dir: s.Dir,
	}
	if place, err := project.At(s.Dir); err == nil {
		a.Project, a.Branch = place.Root, place.Branch
		a.Group = b.groupOf(place.Root)
	}
	return a, nil
}

// BoxOf is the box that --box names, and the actor as it acts in it: a person
// may read and answer in any box of own sessions, repositories and apps; a
// session only in its own and its repository's.
func (b *Board) BoxOf(a Actor, target string) (key string, in Actor, err error) {
	d, err := b.resolve(a, target)
	if err != nil {
		if e := AsError(err); e.Code != CodeSelfTarget {
			return "", a, e
		}
		return b.Store.Resolve(a.Box), a, nil
	}
	if a.Kind != registry.ToUser && !b.owns(a, d.key) {
		return "", a, refuse(CodeNotYours, "%s is not a box of this session", target)
	}
	in = a
	if d.key != b.Store.Resolve(a.Box) {
		in.Beside = d.key
	}
	return d.key, in, nil
}

func (b *Board) owns(a Actor, key string) bool {
	if key == b.Store.Resolve(a.Box) {
		return true
	}
	_, path, ok := b.repository(a)
	return ok && key == mailbox.RepoKey(path)
}

// reader names the actor in receipts.
func (a Actor) reader() string {
	if a.SessionID != "" {
		return a.SessionID
	}
	return a.Box
}

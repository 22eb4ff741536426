package switchboard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// dest is where a message goes.
type dest struct {
	kind  string // registry.ToSession, ToRepo, ToUser or ToApp
	key   string // its box
	party mailbox.Party
	entry *registry.Entry // the live session behind it, if any
}

// label is how the target is named in results and sentences.
func (d dest) label() string {
	switch d.kind {
	case registry.ToRepo, registry.ToApp:
		return d.kind + ":" + d.party.Name
	case registry.ToUser:
		if d.party.Name != registry.ToUser {
			return d.kind + ":" + d.party.Name
		}
		return d.party.Name
	}
	if d.party.Name != "" {
		return d.party.Name
	}
	return d.party.SessionID
}

// live lists the live sessions with the groups as they are now: an entry says
// what was true when its server last looked.
func (b *Board) live() ([]registry.Entry, error) {
	live, err := b.Registry.Live()
	if err != nil {
		return nil, storage(err)
	}
	return b.regroup(live), nil
}

// peek is live for views, which remove nothing.
func (b *Board) peek() ([]registry.Entry, error) {
	live, err := b.Registry.Peek()
	if err != nil {
		return nil, storage(err)
	}
	return b.regroup(live), nil
}

func (b *Board) regroup(live []registry.Entry) []registry.Entry {
	groups, err := project.LoadGroups(b.Home)
	if err != nil {
		return live // a damaged groups.json must not hide the project's own sessions
	}
	for i := range live {
		live[i].Group = groups.Of(live[i].Project)
	}
	return live
}

// resolve finds what a target text means for the actor.
func (b *Board) resolve(a Actor, target string) (dest, error) {
	live, err := b.live()
	if err != nil {
		return dest{}, err
	}
	t, err := registry.Resolve(target, b.reach(a), live, registry.ResolveOptions{Repos: b.knownRepos})
	if err != nil {
		if d, ok := b.former(a, target, live, err); ok {
			return d, nil
		}
		return dest{}, AsError(err)
	}
	switch t.Kind {
	case registry.ToRepo:
		return b.repoDest(t)
	case registry.ToUser:
		if t.Name != registry.ToUser && badName(t.Name) {
			return dest{}, refuse(CodeBadRequest, "user:%s: a name may hold letters, digits, dots, dashes and underscores", t.Name)
		}
		key := mailbox.UserKey(t.Name)
		return dest{kind: t.Kind, key: key, party: mailbox.Party{Name: t.Name, Box: key}}, nil
	case registry.ToApp:
		if badName(t.Name) {
			return dest{}, refuse(CodeBadRequest, "app:%s: a name may hold letters, digits, dots, dashes and underscores", t.Name)
		}
		key := mailbox.AppKey(t.Name)
		return dest{kind: t.Kind, key: key, party: mailbox.Party{Name: t.Name, Box: key}}, nil
	}
	return sessionDest(*t.Entry), nil
}

func badName(name string) bool { return project.ValidName(name) != nil }

func sessionDest(e registry.Entry) dest {
	return dest{kind: registry.ToSession, key: e.Box, party: PartyOf(e), entry: &e}
}

// PartyOf is how a live session is named in messages.
func PartyOf(e registry.Entry) mailbox.Party {
	return mailbox.Party{
		SessionID: e.SessionID, Name: e.Name, Client: e.Client.Kind, Project: e.Project,
		Host: e.Hostname, Box: e.Box, Branch: e.Branch,
	}
}

// former finds a session by an id that no live session has: one whose
// conversation goes on under a new id, or one that ended and which the actor
// could see while it lived or has exchanged mail with. Others stay unknown, so
// that nothing is revealed.
func (b *Board) former(a Actor, target string, live []registry.Entry, cause error) (dest, bool) {
	te, ok := errors.AsType[*registry.TargetError](cause)
	target = strings.TrimSpace(target)
	if !ok || te.Code != registry.UnknownTarget || target == "" {
		return dest{}, false
	}
	key := mailbox.SessionKey(target)
	ended, wasHere := b.Registry.Ended(key)
	if !wasHere && !b.hasBox(key) {
		return dest{}, false
	}
	now := b.Store.Resolve(key)
	reach := b.reach(a)
	for _, e := range live {
		if e.Box == now && reach.Includes(e) && !reach.IsSelf(e) {
			return sessionDest(e), true
		}
	}
	party, ok := b.correspondent(a, target)
	if !ok && wasHere {
		ended = b.regroup([]registry.Entry{ended})[0]
		party, ok = PartyOf(ended), reach.Includes(ended) && !reach.IsSelf(ended)
	}
	if !ok {
		return dest{}, false
	}
	party.Box = now
	return b.destOf(party, live), true
}

// correspondent finds the session in the actor's own mail.
func (b *Board) correspondent(a Actor, sessionID string) (mailbox.Party, bool) {
	st, err := b.Store.Naming(b.Store.Resolve(a.Box), sessionID)
	if err != nil {
		return mailbox.Party{}, false
	}
	for _, it := range slices.Backward(st.Items) {
		if it.From.SessionID == sessionID {
			return it.From, true
		}
	}
	for _, s := range slices.Backward(st.Sent) {
		if s.ToSession == sessionID {
			return mailbox.Party{SessionID: sessionID, Name: s.ToName, Box: s.ToKey}, true
		}
	}
	return mailbox.Party{}, false
}

// destOf is where mail for a party goes now, whatever has become of it since it
// wrote: a name that changed hands does not matter.
func (b *Board) destOf(p mailbox.Party, live []registry.Entry) dest {
	key := p.Box
	if key == "" && p.SessionID != "" {
		key = mailbox.SessionKey(p.SessionID)
	}
	key = b.Store.Resolve(key)
	for _, e := range live {
		if e.Box == key {
			return sessionDest(e)
		}
	}
	p.Box = key
	d := dest{kind: registry.ToSession, key: key, party: p}
	switch {
	case strings.HasPrefix(key, "r-"):
		d.kind = registry.ToRepo
	case strings.HasPrefix(key, "u-"):
		d.kind = registry.ToUser
	case strings.HasPrefix(key, "a-"):
		d.kind = registry.ToApp
	}
	return d
}

// repoDest makes a repository a target; it joins by being sent to. A name alone
// has to be known from somewhere: a repository that has mail, or one in which a
// session works.
func (b *Board) repoDest(t registry.Target) (dest, error) {
	path, name := t.Path, t.Name
	if path == "" {
		return dest{}, refuse(CodeUnknownTarget,
			"no repository called %q is known: none has mail and no session works in one; use repo: with its absolute path", name)
	}
	place, err := project.At(path)
	if err == nil {
		if n, root, ok := project.RepoIdentity(place, ""); ok {
			name, path = n, root
		} else if t.Name == "" {
			return dest{}, refuse(CodeUnknownTarget, "%s is not in a git repository, so it has no box; sessions there declare one with PEERMUX_REPO", path)
		}
	} else if t.Name == "" && !b.hasBox(mailbox.RepoKey(path)) {
		return dest{}, refuse(CodeUnknownTarget, "there is no directory %s", path)
	}
	if name == "" {
		name = filepath.Base(path)
	}
	key := mailbox.RepoKey(path)
	return dest{kind: registry.ToRepo, key: key, party: mailbox.Party{Name: name, Project: path, Box: key}}, nil
}

func (b *Board) hasBox(key string) bool {
	_, err := os.Lstat(mailbox.JournalPath(b.Home, key))
	return err == nil
}

// knownRepos lists the paths of the repositories with a name: those that live
// sessions work in and those that have mail. Mail says which path it is for.
func (b *Board) knownRepos(name string) []string {
	var paths []string
	live, err := b.live()
	if err == nil {
		for _, e := range live {
			if place, err := project.At(e.Project); err == nil && place.IsRepo && place.Repo == name {
				paths = append(paths, place.Root)
			}
		}
	}
	boxes, err := b.readableBoxes()
	if err != nil {
		return paths
	}
	prefix := strings.TrimRight(repoPrefix(name), "-")
	for _, box := range boxes {
		if !strings.HasPrefix(box.Key, prefix) {
			continue
		}
		if st, err := b.Store.State(box.Key); err == nil {
			for _, it := range slices.Backward(st.Items) {
				if it.To.Name == name && it.To.Project != "" {
					paths = append(paths, it.To.Project)
					break
				}
			}
		}
	}
	return paths
}

// repoPrefix is the readable part of the key of any repository with this name.
func repoPrefix(name string) string {
	key := mailbox.RepoKey("/" + name)
	return key[:strings.LastIndexByte(key, '-')+1]
}

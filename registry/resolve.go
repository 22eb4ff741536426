package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Target kinds.
const (
	ToSession = "session"
	ToRepo    = "repo"
	ToUser    = "user"
	ToApp     = "app"
)

// Target is what a target text stands for.
type Target struct {
	Kind  string
	Entry *Entry // of a session
	Box   string // of a session; other kinds of box are the caller's to compute
	// Name is the session's, the repository's, the person's or the app's name.
	Name string
	// Path is the repository's, when it was given or is known.
	Path string
}

// Reach says who is asking, and how far that one may reach.
type Reach struct {
	Project string
	Group   string
	Machine bool // every project (PEERMUX_REACH=machine)
	// Self and SelfPID are the asker's session id and MCP server; either may be
	// missing. The asker is never a target.
	Self    string
	SelfPID int
}

// Includes reports whether a session can be seen and addressed.
func (r Reach) Includes(e Entry) bool {
	return r.Machine || r.Project != "" && e.Project == r.Project || r.Group != "" && e.Group == r.Group
}

// IsSelf reports whether the entry is the asker's own.
func (r Reach) IsSelf(e Entry) bool {
	return r.Self != "" && e.SessionID == r.Self || r.SelfPID != 0 && e.PID == r.SelfPID
}

// Target error codes, as the tools return them.
const (
	UnknownTarget   = "unknown_target"
	AmbiguousTarget = "ambiguous_target"
	OutOfScope      = "out_of_scope"
	SelfTarget      = "self_target"
	BadRequest      = "bad_request"
)

// Candidate is one of several things that a target could mean. Target is a text
// that means this one alone.
type Candidate struct {
	Target    string `json:"target"`
	Name      string `json:"name,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Client    string `json:"client,omitempty"`
	Pane      string `json:"pane,omitempty"`
	Path      string `json:"path,omitempty"`
}

// TargetError says why a target stands for nobody.
type TargetError struct {
	Code       string
	Message    string
	Candidates []Candidate // of an ambiguous target
	Near       []string    // names like an unknown one
}

func (e *TargetError) Error() string { return e.Message }

// ResolveOptions tells Resolve what the registry itself does not know.
type ResolveOptions struct {
	// Repos lists the paths of the known repositories with a name. Without it
	// every name of a repository is accepted, with no path.
	Repos func(name string) []string
}

// MinPrefix is the shortest beginning of a session id that can stand for it.
const MinPrefix = 6

// Resolve finds what a target text means, for the one who asks, among the live
// sessions. Errors are of type [*TargetError].
func Resolve(target string, reach Reach, live []Entry, o ResolveOptions) (Target, error) {
	target = strings.TrimSpace(target)
	kind, name, prefixed := strings.Cut(target, ":")
	switch {
	case target == "":
		return Target{}, &TargetError{Code: BadRequest, Message: "the target is empty; call list_project_sessions and name one of its sessions"}
	case target == ToUser:
		return Target{Kind: ToUser, Name: ToUser}, nil
	case prefixed && kind == ToRepo:
		return resolveRepo(name, o)
	case prefixed && (kind == ToUser || kind == ToApp):
		if strings.TrimSpace(name) == "" {
			return Target{}, &TargetError{Code: BadRequest, Message: fmt.Sprintf("%q needs a name after the colon", target)}
		}
		return Target{Kind: kind, Name: strings.TrimSpace(name)}, nil
	}
	return resolveSession(target, reach, live)
}

func resolveRepo(name string, o ResolveOptions) (Target, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return Target{}, &TargetError{Code: BadRequest, Message: `"repo:" needs a repository's name or path after the colon`}
	}
	if strings.HasPrefix(name, "/") {
		return Target{Kind: ToRepo, Path: name}, nil
	}
	if strings.Contains(name, "/") {
		return Target{}, &TargetError{Code: BadRequest, Message: fmt.Sprintf("repo:%s is neither a name nor an absolute path", name)}
	}
	t := Target{Kind: ToRepo, Name: name}
	if o.Repos == nil {
		return t, nil
	}
	paths := slices.Compact(slices.Sorted(slices.Values(o.Repos(name))))
	switch len(paths) {
	case 0:
		return t, nil
	case 1:
		t.Path = paths[0]
		return t, nil
	}
	err := &TargetError{Code: AmbiguousTarget, Message: fmt.Sprintf("%d repositories are called %s; name one by its path", len(paths), name)}
	for _, p := range paths {
		err.Candidates = append(err.Candidates, Candidate{Target: "repo:" + p, Name: name, Path: p})
	}
	return Target{}, err
}

// matcher is one way in which a text can mean a session. Matchers are tried in
// order of strength: a stronger one that finds somebody ends the search.
type matcher struct {
	// personal: the text names one session for certain, so that it can also
	// mean the asker or somebody out of reach.
	personal bool
	matches  func(target string, e *Entry) bool
}

func matchers() []matcher {
	return []matcher{
		{true, func(t string, e *Entry) bool { return e.SessionID == t || e.Name == t }},
		{true, func(t string, e *Entry) bool { return strings.HasPrefix(t, "%") && e.Tmux != nil && e.Tmux.Pane == t }},
		{true, hasPID},
		{false, func(t string, e *Entry) bool { return e.Listed() && e.Tmux != nil && e.Tmux.Session == t }},
		{false, func(t string, e *Entry) bool { return e.Listed() && e.Client.Kind == t }},
		{true, func(t string, e *Entry) bool { return len(t) >= MinPrefix && strings.HasPrefix(e.SessionID, t) }},
	}
}

func hasPID(target string, e *Entry) bool {
	digits, ok := strings.CutPrefix(target, "pid:")
	pid, err := strconv.Atoi(digits)
	return ok && err == nil && pid > 0 && (e.PID == pid || e.Client.PID == pid)
}

func resolveSession(target string, reach Reach, live []Entry) (Target, error) {
	var self, others, beyond []*Entry
	for i := range live {
		e := &live[i]
		switch {
		case reach.IsSelf(*e):
			self = append(self, e)
		case reach.Includes(*e):
			others = append(others, e)
		default:
			beyond = append(beyond, e)
		}
	}
	outside := false
	for _, m := range matchers() {
		var found []*Entry
		for _, e := range others {
			if m.matches(target, e) {
				found = append(found, e)
			}
		}
		switch {
		case len(found) == 1:
			e := *found[0]
			return Target{Kind: ToSession, Entry: &e, Box: e.Box, Name: e.Name}, nil
		case len(found) > 1:
			return Target{}, ambiguous(target, found, live)
		}
		matches := func(e *Entry) bool { return m.personal && m.matches(target, e) }
		if slices.ContainsFunc(self, matches) {
			return Target{}, &TargetError{Code: SelfTarget, Message: fmt.Sprintf("%q is this session itself", target)}
		}
		outside = outside || slices.ContainsFunc(beyond, matches)
	}
	if outside {
		return Target{}, &TargetError{Code: OutOfScope, Message: fmt.Sprintf(
			"%q is not in this project or group; sessions elsewhere are reached by repo:NAME, by a broadcast with a wider scope, or by joining a group with set_group", target)}
	}
	return Target{}, unknown(target, others)
}

func ambiguous(target string, found []*Entry, live []Entry) *TargetError {
	err := &TargetError{Code: AmbiguousTarget}
	var names []string
	for _, e := range found {
		c := Candidate{Target: e.Handle(live), Name: e.Name, SessionID: e.SessionID, Client: e.Client.Kind}
		if e.Tmux != nil {
			c.Pane = e.Tmux.Pane
		}
		err.Candidates = append(err.Candidates, c)
		names = append(names, c.Target)
	}
	err.Message = fmt.Sprintf("%q could be %d sessions; name one of them: %s", target, len(found), strings.Join(names, ", "))
	return err
}

// Handle is the shortest target text that means this entry alone: its name, else
// its session id, else the pid of its server.
func (e Entry) Handle(among []Entry) string {
	sameName := 0
	for i := range among {
		if among[i].Name == e.Name {
			sameName++
		}
	}
	switch {
	case sameName <= 1 && e.Name != "":
		return e.Name
	case e.SessionID != "":
		return e.SessionID
	}
	return "pid:" + strconv.Itoa(e.PID)
}

func unknown(target string, others []*Entry) *TargetError {
	var names []string
	for _, e := range others {
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	err := &TargetError{Code: UnknownTarget, Near: Nearest(target, names)}
	switch {
	case len(others) == 0:
		err.Message = fmt.Sprintf("there is no session %q; no other session is live in this project", target)
	case len(err.Near) > 0:
		err.Message = fmt.Sprintf("there is no session %q; did you mean %s?", target, strings.Join(err.Near, " or "))
	default:
		err.Message = fmt.Sprintf("there is no session %q; call list_project_sessions for those that are", target)
	}
	return err
}

package switchboard

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"peermux/internal/frame"
	"peermux/internal/project"
	"peermux/internal/tmux"
	"peermux/mailbox"
	"peermux/registry"
)

// ListRequest says whom to list.
type ListRequest struct {
	Scope   string // project, group or global; empty is project
	Project string // a directory of another project; empty is the actor's
	// All lists headless, background and subagent sessions as well.
	All bool
	// OnlySessions leaves the panes of others out, which cost a call of tmux.
	OnlySessions bool
}

// List shows the live sessions. It is a view: it removes nothing, wakes nobody
// and shows no mail.
func (b *Board) List(ctx context.Context, a Actor, r ListRequest) (ListResult, error) {
	if r.Scope == "" {
		r.Scope = ScopeProject
	}
	root, err := b.listRoot(a, r)
	if err != nil {
		return ListResult{}, err
	}
	live, err := b.peek()
	if err != nil {
		return ListResult{}, err
	}
	var panes []TmuxPane
	var others sync.WaitGroup
	if root != "" && !r.OnlySessions { // meanwhile: tmux takes as long as all the rest
		others.Go(func() { panes = b.otherPanes(ctx, root, live) })
	}
	defer others.Wait()
	g, err := b.waitGraph(live)
	if err != nil {
		return ListResult{}, err
	}
	res := ListResult{OK: true, Scope: r.Scope, Project: root}
	byBox := map[string]registry.Entry{}
	var shown []registry.Entry
	for _, e := range live {
		byBox[e.Box] = e
		// Whoever waits stays visible, or the graph would have holes.
		if b.lists(a, r, root, e) && (r.All || e.Listed() || len(g.edges[e.Box]) > 0 || b.reach(a).IsSelf(e)) {
			shown = append(shown, e)
		}
	}
	res.Sessions = make([]SessionRow, len(shown))
	share(len(shown), func(i int) { res.Sessions[i] = b.row(a, shown[i], g, byBox) })
	locks := map[string]map[string][]mailbox.Item{}
	for i, e := range shown {
		res.Sessions[i].Locks = b.locksOf(e, locks)
	}
	res.Rings = g.rings()
	others.Wait()
	res.Panes = panes
	if a.isSession() && a.SessionID == "" {
		res.Notes = append(res.Notes, "this session is not identified yet, so it cannot send or be answered; get_my_session tells why")
	}
	return res, nil
}

// listRoot is the project that is listed, "" for no particular one.
func (b *Board) listRoot(a Actor, r ListRequest) (string, error) {
	switch r.Scope {
	case ScopeGlobal:
		return "", nil
	case ScopeGroup:
		if b.groupOf(a.Project) == "" {
			return "", b.noGroup()
		}
		return "", nil
	case ScopeProject:
	default:
		return "", refuse(CodeBadRequest, "scope %q: must be project, group or global", r.Scope)
	}
	if r.Project == "" {
		return a.Project, nil
	}
	if !filepath.IsAbs(r.Project) && a.Dir != "" {
		r.Project = filepath.Join(a.Dir, r.Project)
	}
	place, err := project.At(r.Project)
	if err != nil {
		return "", refuse(CodeBadRequest, "project_root: %v", err)
	}
	return place.Root, nil
}

// lists reports whether a session belongs on the list. A wider scope, or another
// project, is asked for on purpose and therefore shown; whom one may write to is
// another matter, see reach.
func (b *Board) lists(a Actor, r ListRequest, root string, e registry.Entry) bool {
	switch r.Scope {
	case ScopeGroup:
		return e.Project == a.Project || e.Group != "" && e.Group == b.groupOf(a.Project)
	case ScopeGlobal:
		return true
	}
	return e.Project == root
}

// row is one line of the list.
func (b *Board) row(a Actor, e registry.Entry, g graph, byBox map[string]registry.Entry) SessionRow {
	status := b.StatusOf(e)
	row := SessionRow{
		Name: e.Name, SessionID: e.SessionID, Client: e.Client.Kind, Status: status.Word, StatusSource: status.Source,
		StatusSince: timePtr(status.Since), WaitsOn: status.WaitingFor, Purpose: frame.Line(e.State.Purpose, maxPurpose),
		WaitingFor: []Waiting{}, Project: e.Project, Branch: e.Branch, Group: e.Group, CWD: e.CWD, Mode: e.Client.Mode,
		Self: b.reach(a).IsSelf(e), PID: e.PID, StartedAt: e.StartedAt, Box: e.Box, Unread: g.mail[e.Box].Unshown, OpenTasks: g.mail[e.Box].Tasks,
	}
	if e.Tmux != nil {
		row.Pane = e.Tmux.Pane
		row.Tmux = strings.Trim(e.Tmux.Session+":"+e.Tmux.Window, ":")
	}
	for _, edge := range g.edges[e.Box] {
		w := Waiting{Name: edge.ask.ToName, SessionID: edge.ask.ToSession, MessageID: edge.ask.ID, Since: edge.ask.At}
		if to, ok := byBox[edge.to]; ok {
			w.Name, w.SessionID = to.Name, to.SessionID
		}
		row.WaitingFor = append(row.WaitingFor, w)
	}
	if reason, _, ok := b.Waker.Held(e.Box); ok {
		row.Held = reason
	}
	return row
}

// locksOf words the locks that a session holds in its project; cache spares the
// feed a reading for each session.
func (b *Board) locksOf(e registry.Entry, cache map[string]map[string][]mailbox.Item) []string {
	held, known := cache[e.Project]
	if !known {
		var err error
		if held, err = b.heldLocks(mailbox.FeedProject(e.Project)); err != nil {
			held = nil // a list without locks is better than none
		}
		cache[e.Project] = held
	}
	var texts []string
	for _, it := range held[holder(PartyOf(e))] {
		texts = append(texts, frame.Line(it.Body, 120))
	}
	return texts
}

// otherPanes lists the tmux panes under a project root in which no session that
// peermux knows runs, but for the one of who asks. Without tmux there are none.
func (b *Board) otherPanes(ctx context.Context, root string, live []registry.Entry) []TmuxPane {
	type place struct{ socket, pane string }
	taken := map[place]bool{{tmux.SocketOf(b.Env("TMUX")), b.Env("TMUX_PANE")}: true}
	sockets := tmux.Sockets(b.Env)
	for _, e := range live {
		if e.Tmux != nil {
			taken[place{e.Tmux.Socket, e.Tmux.Pane}] = true
		}
	}
	var panes []TmuxPane
	for _, socket := range sockets {
		runner := tmux.Runner{Socket: socket, Env: nil}
		all, err := runner.Panes(ctx)
		if err != nil {
			continue // no server there: an ordinary case
		}
		for _, p := range all {
			if p.Dead || taken[place{p.Socket, p.ID}] || !under(p.CWD, root) {
				continue
			}
			panes = append(panes, TmuxPane{
				Pane: p.ID, Session: frame.Line(p.Session, 64), Command: frame.Line(p.Command, 64), CWD: p.CWD, Socket: p.Socket,
			})
		}
	}
	return panes
}

func under(dir, root string) bool {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

// maxPurpose is the length of a session's own line about itself, in characters.
const maxPurpose = 200

// Purpose checks what a session says it works on, and makes it one line.
func Purpose(text string) (string, error) {
	if n := len([]rune(text)); n > maxPurpose {
		return "", refuse(CodeBadRequest, "the purpose has %d characters, and %d is the limit", n, maxPurpose)
	}
	return frame.Line(text, maxPurpose), nil
}

package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/internal/project"
	"peermux/internal/switchboard"
	"peermux/internal/tmux"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

// identity knows which session this server stands for, and keeps its entry and
// its box in step when that changes.
type identity struct {
	server *Server
	self   proc.Info

	mu        sync.Mutex
	entry     registry.Entry
	visible   bool // the entry is in the registry
	left      bool // the server is ending: no entry is written any more
	diagnosis detect.Diagnosis
	meta      json.RawMessage // _meta of the last call
	claim     string
	pane      *registry.Tmux // as last proven
	host      *registry.PTYHost
	called    string           // the name that the client itself gives the session
	before    []registry.Entry // threads of Codex that we may have taken the place of
	behind    []registry.Entry // what we were before, while it is open whether its mail is ours

	client chan proc.ID // tells clientGone whom to watch
}

func newIdentity(s *Server) *identity {
	o := s.options
	host, err := os.Hostname()
	if err != nil {
		host = "" // it is only shown
	}
	return &identity{
		server: s, self: o.Self, client: make(chan proc.ID, 1),
		entry: registry.Entry{
			V: registry.Version, Hostname: host, BootID: proc.BootID(),
			PID: o.Self.PID, Start: o.Self.Start, CWD: o.Dir, StartedAt: o.Now().UTC(),
			Box: mailbox.PendingKey(o.Self.PID, o.Self.Start),
		},
	}
}

// seenEvery is how old an entry's seen_at may get while its session makes calls.
const seenEvery = time.Minute

// refresh finds out who we are now. reveal makes a session without an id visible,
// too: not at once, because a client's health check looks just like that.
func (i *identity) refresh(reveal bool) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.refreshLocked(reveal)
}

// refreshDeeply is refresh with a look for the terminal that the session is in.
// That starts tmux, which may hang, so calls are not held up meanwhile.
func (i *identity) refreshDeeply(ctx context.Context, reveal bool) error {
	i.mu.Lock()
	e := i.entry
	e.Client = detect.Identify(i.facts()).Client
	i.mu.Unlock()
	pane, _ := detect.Pane(ctx, e, &tmux.Runner{})
	host := i.ptyHost(e)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pane, i.host = pane, host
	return i.refreshLocked(reveal)
}

func (i *identity) refreshLocked(reveal bool) error {
	i.diagnosis = detect.Identify(i.facts())
	next := i.next()
	if err := i.succeed(next); err != nil {
		return err
	}
	want := ""
	if i.diagnosis.ClientName != i.called {
		i.called, want = i.diagnosis.ClientName, i.diagnosis.ClientName
	}
	show := !i.left && i.server.session.Initialized() && proc.Alive(next.Client.ID()) &&
		(reveal || i.visible || next.SessionID != "")
	if !show {
		i.entry = next
		return nil
	}
	now := i.server.options.Now().UTC()
	if i.visible && want == "" && same(i.entry, next) && now.Sub(i.entry.SeenAt) < seenEvery {
		return nil
	}
	next.SeenAt = now
	registered, err := i.server.board.Register(next, want)
	if err != nil {
		return err
	}
	i.entry, i.visible = registered, true
	return nil
}

func (i *identity) facts() detect.Facts {
	o := i.server.options
	info := i.server.clientInfo()
	return detect.Facts{
		Self: i.self, Ancestors: o.Parents, Env: o.Env, Home: o.UserHome, Registry: i.server.board.Registry,
		ClientInfo: detect.ClientInfo{Name: info.Name, Version: info.Version},
		Meta:       i.meta, Claim: i.claim, Now: o.Now(), CWD: o.Dir,
	}
}

// next is the entry as it should be. What is not known any more stays as it was:
// a session file that is just being replaced must not make us forget who we are.
func (i *identity) next() registry.Entry {
	next, diag := i.entry, i.diagnosis
	next.Client, next.Tmux, next.Host = diag.Client, i.pane, i.host
	if diag.SessionID != "" {
		next.SessionID, next.SessionSource, next.Transcript = diag.SessionID, diag.Source, diag.Transcript
		next.Box = mailbox.SessionKey(diag.SessionID)
	}
	if place, err := project.At(next.CWD); err == nil {
		next.Project, next.Branch = place.Root, place.Branch
		if groups, err := project.LoadGroups(i.server.options.Home); err == nil {
			next.Group = groups.Of(place.Root)
		}
	}
	return next
}

// ptyHost is the socket of `peermux run`, which hands it down in the environment.
// Codex keeps it from its MCP servers, so the client's own environment is asked.
func (i *identity) ptyHost(e registry.Entry) *registry.PTYHost {
	const key = "PEERMUX_PTY_HOST"
	socket := proc.Env(e.Client.PID, key)[key]
	if socket == "" {
		socket = i.server.options.Env(key)
	}
	if socket == "" {
		return nil
	}
	return &registry.PTYHost{Socket: socket}
}

// succeed moves the mail along when the session has got another id. While it
// cannot be told yet whether the mail goes along, the question stays open and is
// asked again at each refresh.
func (i *identity) succeed(next registry.Entry) error {
	arrived := next.SessionID != "" && next.SessionID != i.entry.SessionID
	if err := i.follow(next); err != nil || !arrived {
		return err
	}
	// A session that went on under another id, and is now resumed in this process:
	// its box must not send new mail after the other one any more. Where mail was
	// moved here just now, this does nothing.
	return i.server.board.Store.Revive(next.Box)
}

// follow moves the mail of the sessions that this one goes on from.
func (i *identity) follow(next registry.Entry) error {
	if next.Box != i.entry.Box && i.visible && !slices.ContainsFunc(i.behind, func(e registry.Entry) bool { return e.Box == i.entry.Box }) {
		i.behind = append(i.behind, i.entry)
	}
	i.behind = append(i.behind, i.replaced(next)...)
	if len(i.behind) == 0 {
		return nil
	}
	step, err := detect.Beginning(i.facts(), i.diagnosis)
	if err != nil {
		return err
	}
	var open []registry.Entry
	for _, prev := range i.behind {
		v := registry.Succession(prev, step)
		if v.Wait {
			open = append(open, prev)
		}
		if v.Move && v.From != next.Box {
			if err := i.server.board.Store.Move(v.From, next.Box); err != nil {
				return err
			}
		}
	}
	i.behind = open
	return nil
}

// unsettled reports whether it is still to be told if mail goes along.
func (i *identity) unsettled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.behind) > 0
}

func same(a, b registry.Entry) bool {
	a.SeenAt, b.SeenAt = time.Time{}, time.Time{}
	aTmux, bTmux, aHost, bHost := a.Tmux, b.Tmux, a.Host, b.Host
	a.Tmux, b.Tmux, a.Host, b.Host = nil, nil, nil, nil
	return a == b && samePtr(aTmux, bTmux) && samePtr(aHost, bHost)
}

func samePtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// actor is this session at the moment of a call.
func (i *identity) actor(ctx context.Context) (switchboard.Actor, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if meta := metaOf(ctx); meta != nil {
		i.meta = meta
	}
	if err := i.refreshLocked(true); err != nil {
		return switchboard.Actor{}, err
	}
	a := switchboard.ActorOf(i.entry, i.self.ID)
	if !i.visible {
		a.Box = "" // no live client stands behind us, so nobody could answer
	}
	return a, nil
}

// asClaimed takes the agent's own word for its session id.
func (i *identity) asClaimed(ctx context.Context, id string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if meta := metaOf(ctx); meta != nil {
		i.meta = meta
	}
	if err := i.server.board.CheckClaim(id, i.entry); err != nil {
		return err
	}
	before := i.claim
	i.claim = id
	if err := i.refreshLocked(true); err != nil {
		return err
	}
	if got := i.diagnosis; got.SessionID != id {
		i.claim = before
		return &switchboard.Error{Code: switchboard.CodeBadRequest, Message: "the client itself says (" + got.Source + ") that this session is " +
			got.SessionID + ", so the claim of " + id + " was not taken"}
	}
	return nil
}

// setPurpose changes what the session says of itself.
func (i *identity) setPurpose(ctx context.Context, purpose string) (registry.Entry, error) {
	if _, err := i.actor(ctx); err != nil {
		return registry.Entry{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.visible {
		return registry.Entry{}, &switchboard.Error{Code: switchboard.CodeNoIdentity,
			Message: "no client process was found above this server, so peers do not see it; get_my_session tells what was tried"}
	}
	next := i.entry
	next.State = registry.State{Purpose: purpose, UpdatedAt: i.server.options.Now().UTC()}
	next.SeenAt = next.State.UpdatedAt
	registered, err := i.server.board.Register(next, "")
	if err != nil {
		return registry.Entry{}, err
	}
	i.entry = registered
	return registered, nil
}

// current is the entry and the diagnosis as they are.
func (i *identity) current() (registry.Entry, detect.Diagnosis, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.entry, i.diagnosis, i.visible
}

// leave takes the session off the list.
func (i *identity) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.left = true
	if !i.visible {
		return
	}
	i.visible = false
	// What is left behind is removed by the next reader: our process is gone then.
	_ = i.server.board.Registry.Remove(i.self.PID, i.self.Start)
}

// clientGone is closed when the process that we serve has ended: the agent above
// us. Until the handshake tells which that is, our parent stands for it; it may
// be a wrapper, but if it ends that early, nobody is left.
func (i *identity) clientGone(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	parents := i.server.options.Parents
	if len(parents) == 0 {
		return gone // nobody's child: the end of input has to do
	}
	go func() {
		ended, stop := watch.Process(parents[0].ID)
		defer func() { stop() }()
		for {
			select {
			case client := <-i.client:
				stop()
				ended, stop = watch.Process(client)
			case <-ended:
				close(gone)
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return gone
}

package switchboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// Scopes of a broadcast.
const (
	ScopeProject = "project"
	ScopeGroup   = "group"
	ScopeGlobal  = "global"
	ScopeRepos   = "repos"
)

// TagLock marks a broadcast that holds something until it is retracted, released
// or its sender ends; TagRelease releases the sender's own ones. They are advice,
// never enforced.
const (
	TagLock    = "lock"
	TagRelease = "release"
)

// feeds are those that the actor receives: PEERMUX_RECEIVE limits the scopes.
func (b *Board) feeds(a Actor) []mailbox.Feed {
	if a.Project == "" {
		return nil
	}
	return mailbox.Feeds(a.Project, b.groupOf(a.Project), b.Env("PEERMUX_RECEIVE"))
}

// backfill is how far back a first look at a feed reaches.
func (b *Board) backfill() time.Duration {
	d, _ := mailbox.Backfill(b.Env("PEERMUX_BACKFILL_MIN")) // WrongSettings names a wrong value
	return d
}

// BroadcastRequest is a message to a feed.
type BroadcastRequest struct {
	Body    string
	Scope   string // empty is project
	Kind    string // a free word that is shown as a tag; empty is note
	Urgency string // low, normal or high; empty is normal
}

func (r *BroadcastRequest) check() error {
	if r.Scope == "" {
		r.Scope = ScopeProject
	}
	if err := checkBody(r.Body); err != nil {
		return err
	}
	if r.Kind != "" && badName(r.Kind) || len(r.Kind) > 32 {
		return refuse(CodeBadRequest, "kind %q: one word of at most 32 characters, such as note or lock", r.Kind)
	}
	if r.Urgency == urgencyHigh && r.Scope == ScopeRepos {
		return refuse(CodeBadRequest, "an announcement to repositories is shown when somebody starts to work there, and wakes nobody; leave urgency out, or name another scope")
	}
	return checkUrgency(r.Urgency)
}

// Broadcast tells everybody who reads a feed. It wakes nobody, unless it is urgent
// and the person allows that.
func (b *Board) Broadcast(ctx context.Context, a Actor, r BroadcastRequest) (BroadcastResult, error) {
	if err := r.check(); err != nil {
		return BroadcastResult{}, err
	}
	if err := a.identified(); err != nil {
		return BroadcastResult{}, err
	}
	from, key, err := b.feedFor(a, r.Scope)
	if err != nil {
		return BroadcastResult{}, err
	}
	res := BroadcastResult{OK: true, Scope: r.Scope, Tag: r.Kind}
	if r.Kind == TagRelease {
		n, err := b.release(a, key)
		if err != nil {
			return BroadcastResult{}, err
		}
		res.Notes = append(res.Notes, fmt.Sprintf("%d of your locks released", n))
	}
	m := mailbox.Message{Kind: mailbox.KindNote, From: from, Body: r.Body, Scope: r.Scope, Tag: r.Kind, Urgency: urgency(r.Urgency)}
	id, err := b.Store.Broadcast(key, &m)
	if err != nil {
		return BroadcastResult{}, AsError(err)
	}
	res.MessageID = id
	err = b.Store.Sent(a.Box, mailbox.SentRecord{ID: id, Kind: m.Kind, ToKey: key, ToName: r.Scope})
	if err != nil {
		res.Notes = append(res.Notes, "the broadcast is sent, but retract_message will not find it: "+err.Error())
	}
	if err := b.tellReach(ctx, a, m, key, &res); err != nil {
		return BroadcastResult{}, err
	}
	if len(res.InReach) == 0 {
		res.Notes = append(res.Notes, "nobody is in reach now; sessions that start later do not see what was broadcast before, so use send_message to repo:NAME for those who come later")
	}
	return res, nil
}

// feedFor is the feed of a scope and the sender as its readers see it. To all
// repositories a repository speaks, and a directory that is none cannot.
func (b *Board) feedFor(a Actor, scope string) (from mailbox.Party, key string, err error) {
	switch scope {
	case ScopeProject:
		if a.Project == "" {
			return from, "", refuse(CodeBadRequest, "this actor is in no project; name a wider scope, or run the command in the project's folder")
		}
		return a.Party, mailbox.FeedProject(a.Project), nil
	case ScopeGroup:
		group := b.groupOf(a.Project)
		if group == "" {
			return from, "", b.noGroup()
		}
		return a.Party, mailbox.FeedGroup(group), nil
	case ScopeGlobal:
		return a.Party, mailbox.FeedGlobal, nil
	case ScopeRepos:
		name, path, ok := b.repository(a)
		if !ok {
			return from, "", refuse(CodeBadRequest, "an announcement to repositories comes from a repository, and this directory is none; set PEERMUX_REPO to declare one")
		}
		from = a.Party
		from.Name, from.Project, from.Box = name, path, mailbox.RepoKey(path)
		return from, mailbox.FeedRepos, nil
	}
	return from, "", refuse(CodeBadRequest, "scope %q: must be project, group, global or repos", scope)
}

// tellReach names who will see a broadcast, and wakes them for an urgent one.
func (b *Board) tellReach(ctx context.Context, a Actor, m mailbox.Message, key string, res *BroadcastResult) (err error) {
	if m.Scope == ScopeRepos {
		res.InReach, err = b.repositories(a)
		return err
	}
	readers, err := b.readers(a, key)
	if err != nil {
		return err
	}
	res.InReach = []string{}
	for _, e := range readers {
		res.InReach = append(res.InReach, e.Name)
	}
	if m.Urgency == urgencyHigh {
		b.rouse(ctx, a, readers, res)
	}
	return nil
}

// readers are the sessions that read a feed, without the actor.
func (b *Board) readers(a Actor, key string) ([]registry.Entry, error) {
	live, err := b.live()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(live, func(e registry.Entry) bool {
		if b.reach(a).IsSelf(e) || !e.Listed() || e.SessionID == "" {
			return true
		}
		drop, _ := b.Registry.DropOf(e.Box)
		feeds := mailbox.Feeds(e.Project, e.Group, drop.Receive)
		return !slices.ContainsFunc(feeds, func(f mailbox.Feed) bool { return f.Key == key })
	}), nil
}

// repositories names the repositories that have a box or a live session, without
// the actor's own.
func (b *Board) repositories(a Actor) ([]string, error) {
	_, own, _ := b.repository(a)
	live, err := b.live()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range live {
		place, err := project.At(e.Project)
		if err != nil {
			continue
		}
		if name, path, ok := project.RepoIdentity(place, ""); ok && path != own {
			names[name] = true
		}
	}
	boxes, err := b.readableBoxes()
	if err != nil {
		return nil, storage(err)
	}
	for _, box := range boxes {
		if !strings.HasPrefix(box.Key, "r-") || box.Key == mailbox.RepoKey(own) {
			continue
		}
		st, err := b.Store.State(box.Key)
		if err != nil {
			continue
		}
		for _, it := range st.Items {
			if it.To.Name != "" {
				names[it.To.Name] = true
				break
			}
		}
	}
	list := []string{}
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

// Retract withdraws an own broadcast for those who have not seen it. Twice is no
// error. An announcement may be retracted by its repository, a session's
// broadcast by that session: a guard against accidents, not a lock.
func (b *Board) Retract(_ context.Context, a Actor, id string) (RetractResult, error) {
	if err := a.identified(); err != nil {
		return RetractResult{}, err
	}
	if !mailbox.ValidID(id) {
		return RetractResult{}, refuse(CodeUnknownMessage, "%q is no message id; broadcast gave you one", id)
	}
	key, it, err := b.findBroadcast(a, id)
	if err != nil {
		return RetractResult{}, err
	}
	if !b.mayRetract(a, it) {
		return RetractResult{}, refuse(CodeNotYours, "broadcast %s was sent by %s, who alone retracts it", id, it.From.Name)
	}
	if err := b.Store.Retract(key, id); err != nil {
		return RetractResult{}, AsError(err)
	}
	return RetractResult{OK: true, MessageID: id, State: "retracted", Note: "who has seen it has seen it; this is no recall"}, nil
}

func (b *Board) findBroadcast(a Actor, id string) (key string, it mailbox.Item, err error) {
	keys := []string{mailbox.FeedRepos}
	for _, f := range b.feeds(a) {
		keys = append(keys, f.Key)
	}
	if s, ok := b.sent(a, id); ok {
		keys = append([]string{s.ToKey}, keys...)
	}
	for _, key := range keys {
		st, err := b.Store.FeedState(key)
		if err != nil {
			continue // the key of a box: no broadcast
		}
		if it, ok := st.Item(id); ok {
			return key, it, nil
		}
	}
	return "", it, refuse(CodeUnknownMessage, "there is no broadcast %s in reach; a message to one session cannot be retracted", id)
}

func (b *Board) mayRetract(a Actor, it mailbox.Item) bool {
	if it.Scope == ScopeRepos {
		_, path, ok := b.repository(a)
		return ok && it.From.Box == mailbox.RepoKey(path)
	}
	return b.Store.Resolve(it.From.Box) == b.Store.Resolve(a.Box)
}

// heldLocks lists the locks of a project's feed that still hold, by who holds them.
// Whether that session lives is the caller's to know.
func (b *Board) heldLocks(feed string) (map[string][]mailbox.Item, error) {
	st, err := b.Store.FeedState(feed)
	if err != nil {
		return nil, storage(err)
	}
	held := map[string][]mailbox.Item{}
	for _, it := range st.Items {
		if it.Tag == TagLock && it.Closed == "" {
			held[holder(it.From)] = append(held[holder(it.From)], it)
		}
	}
	return held, nil
}

// holder is who a lock belongs to: a session, or the person or app by its box.
func holder(p mailbox.Party) string {
	if p.SessionID != "" {
		return p.SessionID
	}
	return p.Box
}

// release withdraws the actor's own locks in a feed, so that they hold no longer
// and are not shown to those who come later.
func (b *Board) release(a Actor, feed string) (int, error) {
	held, err := b.heldLocks(feed)
	if err != nil {
		return 0, err
	}
	mine := held[holder(a.Party)]
	for _, it := range mine {
		if err := b.Store.Retract(feed, it.ID); err != nil {
			return 0, AsError(err)
		}
	}
	return len(mine), nil
}

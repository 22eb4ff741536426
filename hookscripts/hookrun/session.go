package hookrun

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"peermux/internal/origin"
	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// firedEvery is how exactly the drop tells when an event fired last. Writing it
// for every tool call would cost more than the rest of the hook.
const firedEvery = time.Minute

// note keeps the drop: it makes one for a session that is seen for the first
// time, and records that this event fired, with a mark if there is one.
func (h *hook) note(mark string) error {
	var known bool
	if h.last, known = h.reg.DropOf(h.key); !known {
		return h.enter(mark)
	}
	if mark == "" && h.at.Sub(h.last.Hooks[h.Event]).Abs() < firedEvery {
		return nil
	}
	return h.reg.PutDrop(h.drop(mark))
}

func (h *hook) drop(mark string) registry.Drop {
	hooks := map[string]time.Time{h.Event: h.at}
	if mark != "" {
		hooks[mark] = h.at
	}
	return registry.Drop{
		Box: h.key, Client: h.Client, SessionID: h.in.SessionID, Transcript: h.in.Transcript, CWD: h.in.CWD,
		Source: h.in.Source, Event: h.Event, At: h.at, Headless: h.headless(), Receive: h.Env("PEERMUX_RECEIVE"), Hooks: hooks,
	}
}

// enter is the first sight of a session, at its SessionStart or, where that did
// not fire, at any other event: mail of the session that it continues is moved
// to it, and the drop tells its MCP server who it is.
func (h *hook) enter(mark string) error {
	h.entered = true
	chain, err := proc.Ancestors(h.PID)
	if err != nil {
		return err
	}
	d := h.drop(mark)
	for _, p := range chain {
		d.PIDs = append(d.PIDs, p.ID)
	}
	return errors.Join(h.follow(chain), h.reg.PutDrop(d))
}

// follow moves the mail here when the client process went on from another
// session to this one: after /clear and /resume. The MCP server does the same
// when it notices; whoever comes first, the move is done once.
func (h *hook) follow(chain []proc.Info) error {
	if h.headless() || h.in.Source == registry.SourceStartup {
		return nil
	}
	live, err := h.reg.Peek()
	if err != nil {
		return err
	}
	prev, ok := h.predecessor(live, chain)
	if !ok {
		return nil
	}
	// A transcript that is not there yet was copied from nowhere.
	from, err := origin.Read(h.in.Transcript)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	v := registry.Succession(prev, registry.Step{
		SessionID: h.in.SessionID, Source: h.in.Source, Client: prev.Client,
		// Without a SessionStart only the transcript tells a fork, which begins
		// with lines of the session it was copied from.
		TranscriptSeen: true, ForkedFrom: from.ForkedFrom,
	})
	if !v.Move || v.From == h.key {
		return nil
	}
	err = h.mail.Move(v.From, h.key)
	return errors.Join(err, h.reg.RemoveDrop(v.From), h.reg.RemoveStatus(v.From))
}

// predecessor finds the one entry of our client's process that is under another
// session id. None, when this session has an entry itself, and none when there
// are several: a wrong guess would give away somebody's mail.
func (h *hook) predecessor(live []registry.Entry, chain []proc.Info) (registry.Entry, bool) {
	if slices.ContainsFunc(live, func(e registry.Entry) bool { return e.SessionID == h.in.SessionID }) {
		return registry.Entry{}, false
	}
	for _, p := range chain {
		var found []registry.Entry
		for _, e := range live {
			if e.Client.Kind == h.Client && e.Client.ID() == p.ID && h.mayPrecede(e) {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			return found[0], len(found) == 1
		}
	}
	return registry.Entry{}, false
}

// mayPrecede rules out the other threads of a Codex process: with its daemon,
// one process runs all sessions (0.171.0), and only /clear says that a thread
// replaces another one.
func (h *hook) mayPrecede(e registry.Entry) bool {
	if h.Client != registry.Codex {
		return true
	}
	return h.in.Source == registry.SourceClear && e.CWD == h.in.CWD && h.mail.Resolve(e.Box) == e.Box
}

// foreign reports whether this event comes from a headless run under the id of a
// session that lives in another process (claude -p --resume ID).
func (h *hook) foreign() bool {
	if !h.headless() {
		return false
	}
	e, live, err := h.reg.BySession(h.in.SessionID)
	if err != nil || !live {
		return false
	}
	chain, err := proc.Ancestors(h.PID)
	return err != nil || !isAncestor(e.Client.ID(), chain)
}

func isAncestor(id proc.ID, chain []proc.Info) bool {
	return slices.ContainsFunc(chain, func(p proc.Info) bool { return p.ID == id })
}

// sessionEnd closes what hooks keep about a session. The mail stays: after
// /clear and /resume the next session takes it along, else it waits. Clients cut
// this event short, so nothing depends on it.
func (h *hook) sessionEnd() (int, error) {
	h.last, _ = h.reg.DropOf(h.key)
	err := errors.Join(h.unread(), h.reg.RemoveDrop(h.key), h.reg.RemoveStatus(h.key))
	if h.in.Reason == registry.SourceClear || h.in.Reason == registry.SourceResume {
		return 0, err // the client and its server live on
	}
	return 0, errors.Join(err, h.removeEntries())
}

// unread gives back what was put out and no model ever read: in a turn that ended with
// the session, or by the start of a session that ended without a prompt.
func (h *hook) unread() error {
	if word, _ := h.reg.Status(h.key); h.Client == registry.Claude && open(word) {
		return h.giveBack(true)
	}
	began := h.last.Hooks["SessionStart"]
	if began.IsZero() || h.turnBegan().After(began) || h.last.Source == registry.SourceCompact {
		return nil // after a compaction the turn may have gone on without a prompt
	}
	state, err := h.mail.State(h.key)
	if err != nil {
		return err
	}
	return h.mail.Unshown(h.key, h.in.SessionID, slices.DeleteFunc(state.Items, func(it mailbox.Item) bool {
		last := lastShown(it)
		return last.Via != "SessionStart" || last.At.Before(began) || it.Answered != "" || it.Closed != ""
	}))
}

// removeEntries takes the ended session off the list before its server's process
// is gone.
func (h *hook) removeEntries() error {
	live, err := h.reg.Peek()
	if err != nil {
		return err
	}
	chain, err := proc.Ancestors(h.PID)
	if err != nil {
		return err
	}
	for _, e := range live {
		if e.SessionID == h.in.SessionID && isAncestor(e.Client.ID(), chain) {
			err = errors.Join(err, h.reg.Remove(e.PID, e.Start))
		}
	}
	return err
}

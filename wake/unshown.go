package wake

import (
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// unshown is what may wake a session and was not shown to it.
type unshown struct {
	mail       int // in its box
	broadcasts int // urgent ones, in the feeds that it receives
}

func (u unshown) none() bool { return u == unshown{} }

// unshown answers, for every look of a wake, whether there is anything to wake the
// session for. Broadcasts count where the person allows it.
func (w *Waker) unshown(e registry.Entry, c config) (u unshown, err error) {
	if u.mail, err = w.Store.Pending(e.Box); err != nil || c.Broadcast.Wake != broadcastHigh {
		return u, err
	}
	u.broadcasts, err = w.urgent(e)
	if u.mail > 0 {
		err = nil // a feed that cannot be read must not keep mail from waking
	}
	return u, err
}

// urgent counts the urgent broadcasts that the session has missed.
func (w *Waker) urgent(e registry.Entry) (n int, err error) {
	for _, f := range w.feeds(e) {
		more, err := w.Store.FeedUrgent(f.Key, e.Box, e.SessionID)
		if err != nil {
			return n, err
		}
		n += more
	}
	return n, nil
}

// feeds are those that the session reads. Its hooks say which scopes it receives.
func (w *Waker) feeds(e registry.Entry) []mailbox.Feed {
	if e.Project == "" {
		return nil
	}
	group := ""
	if groups, err := project.LoadGroups(w.Home); err == nil { // a damaged file joins nobody to anything
		group = groups.Of(e.Project)
	}
	drop, _ := w.Registry.DropOf(e.Box)
	return mailbox.Feeds(e.Project, group, drop.Receive)
}

// BroadcastsWake reports whether the person allows urgent broadcasts to wake. A
// file with a mistake allows nothing, and the error says where it is.
func (w *Waker) BroadcastsWake() (bool, error) {
	c, err := loadConfig(w.Home)
	return err == nil && c.Broadcast.Wake == broadcastHigh, err
}

// waits is unshown for a box whose session may be running.
func (w *Waker) waits(box string) bool {
	if n, err := w.Store.Pending(box); err != nil || n > 0 {
		return err == nil
	}
	if allowed, err := w.BroadcastsWake(); err != nil || !allowed {
		return false
	}
	live, err := w.Registry.Peek()
	if err != nil {
		return false
	}
	for _, e := range live {
		if e.Box == box {
			n, err := w.urgent(e)
			return err == nil && n > 0
		}
	}
	return false
}

// unshownNow is unshown with the permission as it is now.
func (w *Waker) unshownNow(e registry.Entry) (unshown, error) {
	c, _ := loadConfig(w.Home) // a wrong file allows nothing
	return w.unshown(e, c)
}

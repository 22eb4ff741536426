package hookrun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"peermux/internal/frame"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// addRepository shows mail for the repository the session works in. At a
// session's start everything that is open, seen before or not, until somebody
// closes it; with a prompt what came new, and announcements to all repositories.
func (h *hook) addRepository(d *delivery) error {
	name, key, ok := h.repository()
	if !ok {
		return nil
	}
	claim, err := h.mail.Claim(key, mailbox.ClaimOptions{
		Reader: h.in.SessionID, Via: h.Event, Fits: known(d.page.Fits(name)), Again: h.Event == "SessionStart",
	})
	if err != nil {
		return err
	}
	d.claims = append(d.claims, claim)
	d.shows(d.page.Mail(claim.Messages, frame.Section{Repository: name, More: claim.More}))
	if h.Event == "SessionStart" || !exists(mailbox.FeedPath(h.home, mailbox.FeedRepos)) {
		return nil
	}
	return h.feed(d, frame.Announcements, key, mailbox.FeedRepos)
}

// enterFeeds sets the session's place in its feeds. What is in them comes with the
// first prompt: a session that ends without one has passed nothing by.
func (h *hook) enterFeeds() error {
	feeds, err := h.feeds()
	for _, feed := range feeds {
		err = errors.Join(err, h.mail.FeedEnter(feed, h.key, mailbox.FeedOptions{Self: h.in.SessionID, Backfill: h.backfill()}))
	}
	return err
}

// addFeeds shows broadcasts that are new to this session.
func (h *hook) addFeeds(d *delivery) error {
	if h.headless() {
		return nil
	}
	feeds, err := h.feeds()
	return errors.Join(err, h.feed(d, frame.Broadcasts, h.key, feeds...))
}

// feed adds what the owner of the box reader has not seen of feeds, in the order
// of time.
func (h *hook) feed(d *delivery, heading, reader string, feeds ...string) error {
	fits := known(d.page.FeedFits())
	o := mailbox.FeedOptions{
		Self: h.in.SessionID, Via: h.Event, Fits: fits,
		Backfill: h.backfill(), FromStart: heading == frame.Announcements,
	}
	var items []mailbox.Item
	more := 0
	var errs error
	for _, feed := range feeds {
		claim, err := h.mail.FeedNew(feed, reader, o)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		d.claims = append(d.claims, claim)
		items = append(items, claim.Messages...)
		more += claim.More
	}
	slices.SortStableFunc(items, func(a, b mailbox.Item) int { return a.SentAt.Compare(b.SentAt) })
	d.shows(d.page.Feed(heading, items, h.more(more, items)))
	return errs
}

// feeds are those that the session receives and that may hold news. A feed that
// does not exist counts at the first look only: that is when the session's place
// in it is set, so that nothing sent later is missed.
func (h *hook) feeds() ([]string, error) {
	if !h.entered && !exists(filepath.Join(h.home, "feeds")) {
		return nil, nil
	}
	place, ok := h.place()
	if !ok {
		return nil, nil
	}
	groups, err := project.LoadGroups(h.home) // a damaged file joins nobody to anything
	var feeds []string
	for _, f := range mailbox.Feeds(place.Root, groups.Of(place.Root), h.Env("PEERMUX_RECEIVE")) {
		if h.entered || exists(mailbox.FeedPath(h.home, f.Key)) {
			feeds = append(feeds, f.Key)
		}
	}
	return feeds, err
}

func (h *hook) backfill() time.Duration {
	d, _ := mailbox.Backfill(h.Env("PEERMUX_BACKFILL_MIN")) // peermux doctor names a wrong value
	return d
}

// place is where the session works; false when its directory is not known.
func (h *hook) place() (project.Place, bool) {
	if h.where == nil && h.in.CWD != "" {
		if place, err := project.At(h.in.CWD); err == nil {
			h.where = &place
		}
	}
	if h.where == nil {
		return project.Place{}, false
	}
	return *h.where, true
}

// repository is the one that the session works in, and its box.
func (h *hook) repository() (name, key string, ok bool) {
	place, ok := h.place()
	if !ok {
		return "", "", false
	}
	name, path, ok := project.RepoIdentity(place, h.Env("PEERMUX_REPO"))
	return name, mailbox.RepoKey(path), ok
}

// addLocks names the locks that living sessions hold in the project's feed, also
// those that were announced before this session began.
func (h *hook) addLocks(d *delivery) error {
	place, ok := h.place()
	if !ok {
		return nil
	}
	state, err := h.mail.FeedState(mailbox.FeedProject(place.Root))
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(state.Items, func(it mailbox.Item) bool {
		return it.Tag != "lock" || it.Closed != "" || it.From.SessionID == h.in.SessionID || slices.Contains(d.ids, it.ID)
	})
	if len(held) == 0 {
		return nil
	}
	live, err := h.reg.Peek()
	if err != nil {
		return err
	}
	held = slices.DeleteFunc(held, func(it mailbox.Item) bool {
		return !slices.ContainsFunc(live, func(e registry.Entry) bool { return e.SessionID == it.From.SessionID })
	})
	d.page.Feed(frame.Locks, held, 0)
	return nil
}

// addElsewhere counts the mail that waits in other boxes.
func (h *hook) addElsewhere(d *delivery) error {
	entries, err := os.ReadDir(filepath.Join(h.home, "boxes"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mine := []string{h.key}
	if _, repository, ok := h.repository(); ok {
		mine = append(mine, repository)
	}
	messages, boxes := 0, 0
	for _, e := range entries {
		if slices.Contains(mine, e.Name()) {
			continue
		}
		// What is not a box of ours has no mail.
		if n, err := h.mail.Pending(e.Name()); err == nil && n > 0 {
			messages += n
			boxes++
		}
	}
	if boxes > 0 {
		d.page.Elsewhere(messages, boxes)
	}
	return nil
}

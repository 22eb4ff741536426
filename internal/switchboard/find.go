package switchboard

import (
	"errors"
	"strings"

	"peermux/internal/project"
	"peermux/mailbox"
)

// found is a message with the place it was found in.
type found struct {
	mailbox.Item
	key  string // its box, or its feed
	repo string // name of the repository whose box it is
	feed bool
}

// places are where an actor may find mail: its own box with those that it
// continues, the box of the repository it works in, and the feeds it can read.
type places struct {
	boxes []string
	repos []repoBox
	feeds []mailbox.Feed
}

type repoBox struct{ key, name string }

func (b *Board) places(a Actor) (places, error) {
	var p places
	var err error
	if p.boxes, err = b.Store.Lineage(b.Store.Resolve(a.Box)); err != nil {
		return places{}, storage(err)
	}
	if name, path, ok := b.repository(a); ok {
		p.repos = append(p.repos, repoBox{mailbox.RepoKey(path), name})
	}
	switch {
	case strings.HasPrefix(a.Beside, "r-"):
		p.repos = append(p.repos, repoBox{a.Beside, "that repository"})
	case a.Beside != "":
		p.boxes = append(p.boxes, a.Beside)
	}
	p.feeds = b.feeds(a)
	return p, nil
}

// repository is the one that the actor works in.
func (b *Board) repository(a Actor) (name, path string, ok bool) {
	dir := a.Dir
	if dir == "" {
		dir = a.Project
	}
	if dir == "" {
		return "", "", false
	}
	place, err := project.At(dir)
	if err != nil {
		return "", "", false
	}
	return project.RepoIdentity(place, b.Env("PEERMUX_REPO"))
}

// find looks a message up that the actor received.
func (b *Board) find(a Actor, id string) (found, error) {
	if !mailbox.ValidID(id) {
		return found{}, refuse(CodeUnknownMessage, "%q is no message id; ids have 26 characters and stand in the header of each message", id)
	}
	f, ok, err := b.received(a, id)
	if err == nil && !ok {
		err = b.missing(a, id)
	}
	return f, err
}

// received is find for an id that is one; ok is false when the message is not there.
func (b *Board) received(a Actor, id string) (f found, ok bool, err error) {
	p, err := b.places(a)
	if err != nil {
		return found{}, false, err
	}
	for _, key := range p.boxes {
		if it, err := b.Store.Find(key, id); err == nil {
			return found{Item: it, key: key}, true, nil
		} else if !errors.Is(err, mailbox.ErrUnknownMessage) {
			return found{}, false, storage(err)
		}
	}
	for _, repo := range p.repos {
		if it, err := b.Store.Find(repo.key, id); err == nil {
			return found{Item: it, key: repo.key, repo: repo.name}, true, nil
		} else if !errors.Is(err, mailbox.ErrUnknownMessage) {
			return found{}, false, storage(err)
		}
	}
	for _, f := range p.feeds {
		st, err := b.Store.FeedState(f.Key)
		if err != nil {
			return found{}, false, storage(err)
		}
		if it, ok := st.Item(id); ok {
			return found{Item: it, key: f.Key, feed: true}, true, nil
		}
	}
	return found{}, false, nil
}

// missing says why a message was not found: nobody has it, it is an own one, or
// it is somebody else's, of which nothing more is told.
func (b *Board) missing(a Actor, id string) error {
	if s, ok := b.sent(a, id); ok {
		return refuse(CodeNotYours, "message %s is one that you sent to %s; only its receiver answers or closes it, and message_status tells what became of it", id, s.ToName)
	}
	_, err := b.Store.Where(id)
	switch {
	case err == nil:
		return refuse(CodeNotYours, "message %s was not sent to you", id)
	case errors.Is(err, mailbox.ErrUnknownMessage):
		return noMessage(id)
	}
	return storage(err)
}

func noMessage(id string) error {
	return refuse(CodeUnknownMessage, "there is no message %s; read_my_messages with include_seen lists yours with their ids", id)
}

// readableBoxes lists the boxes. One that cannot be read hides no other.
func (b *Board) readableBoxes() ([]mailbox.BoxInfo, error) {
	boxes, err := b.Store.Boxes()
	if len(boxes) > 0 {
		return boxes, nil
	}
	return nil, err
}

// sent finds an own message in the actor's records.
func (b *Board) sent(a Actor, id string) (mailbox.SentRecord, bool) {
	boxes, err := b.Store.Lineage(b.Store.Resolve(a.Box))
	if err != nil {
		return mailbox.SentRecord{}, false
	}
	for _, key := range boxes {
		st, err := b.Store.Naming(key, id)
		if err != nil {
			continue
		}
		for _, s := range st.Sent {
			if s.ID == id {
				return s, true
			}
		}
	}
	return mailbox.SentRecord{}, false
}

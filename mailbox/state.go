package mailbox

import (
	"fmt"
	"time"
)

// Shown is one showing of a message.
type Shown struct {
	By  string    `json:"by,omitempty"` // the reader's session id
	Via string    `json:"via,omitempty"`
	At  time.Time `json:"at"`
}

// Item is a message with what its journal says about it.
type Item struct {
	Message
	Shown []Shown
	// Claimed: a living reader is putting it in front of a model right now.
	Claimed bool
	// PossiblySeen: a reader claimed it and died, or fell silent, before it said
	// whether the text went out.
	PossiblySeen bool
	Answered     string    // id of the latest reply
	Closed       string    // "", done, blocked, retracted
	ClosedBy     string    // who closed it
	ClosedID     string    // id of the result
	ClosedAt     time.Time // zero while it is open

	claims []note // those without an unclaim
}

// claimLife is how long a claim holds when its claimant lives but says nothing.
// Writing a hook's answer takes milliseconds.
const claimLife = time.Minute

// learn adds what one note says.
func (it *Item) learn(n note) {
	switch n.T {
	case recShown:
		it.Shown = append(it.Shown, Shown{By: n.By, Via: n.Via, At: n.At})
		it.drop(func(c note) bool { return n.By == "" || c.By == n.By })
	case recClaim:
		it.claims = append(it.claims, n)
	case recUnclaim:
		it.drop(func(c note) bool { return c.Claim == n.Claim })
	case recAnswered:
		it.Answered = n.Answer
	case recDone, recBlocked, recRetracted:
		if it.Closed == "" { // the first to close it closed it
			it.Closed, it.ClosedBy, it.ClosedID, it.ClosedAt = n.T, n.By, n.Answer, n.At
		}
	}
}

func (it *Item) drop(which func(note) bool) {
	var kept []note
	for _, c := range it.claims {
		if !which(c) {
			kept = append(kept, c)
		}
	}
	it.claims = kept
}

// settle judges the claims that are left. With a reader only that reader's claims
// count, as in a repository's box, where each reader is shown its own copy.
func (it *Item) settle(s *Store, reader string, perReader bool) {
	it.Claimed, it.PossiblySeen = false, false
	for _, c := range it.claims {
		if perReader && c.By != reader {
			continue
		}
		if s.holds(c) {
			it.Claimed = true
		} else {
			it.PossiblySeen = true
		}
	}
}

// holds reports whether a claim still keeps others away. A clock that jumped, in
// either direction, ends a claim early rather than late.
func (s *Store) holds(c note) bool {
	age := s.now().Sub(c.At)
	return age < claimLife && age > -claimLife && s.Alive(c.PID, c.Start)
}

// ShownTo reports whether this reader was shown the message.
func (it *Item) ShownTo(reader string) bool {
	for _, s := range it.Shown {
		if s.By == reader {
			return true
		}
	}
	return false
}

// Ask is an own question.
type Ask struct {
	ID        string    `json:"id"`
	ToSession string    `json:"to_session,omitempty"`
	ToBox     string    `json:"to_box,omitempty"`
	ToName    string    `json:"to_name,omitempty"`
	PID       int       `json:"pid,omitempty"` // the process that waits
	Start     string    `json:"start,omitempty"`
	Until     time.Time `json:"until,omitzero"`
	At        time.Time `json:"at"`
	Ended     string    `json:"ended,omitempty"` // "", answered, timed_out, cancelled, peer_gone
	Reply     string    `json:"reply,omitempty"`
}

// SentRecord says where an own message went.
type SentRecord struct {
	ID        string    `json:"id"`
	Kind      Kind      `json:"kind,omitempty"`
	ToKey     string    `json:"to_key"` // a box, or a feed
	ToName    string    `json:"to_name,omitempty"`
	ToSession string    `json:"to_session,omitempty"`
	At        time.Time `json:"at"`
}

// State is all that a journal says.
type State struct {
	Key      string
	Items    []Item // in the order of the file, each message once
	Asks     []Ask
	Sent     []SentRecord
	Cursors  map[string]string // feed to the last message read of it
	MovedTo  string
	BadLines int
	Size     int64 // bytes

	items  map[string]int
	asks   map[string]int
	adopts []string
}

// Item finds a message.
func (st *State) Item(id string) (Item, bool) {
	i, ok := st.items[id]
	if !ok {
		return Item{}, false
	}
	return st.Items[i], true
}

// State reads a whole box. It takes no lock and changes nothing; a box that does
// not exist is an empty one.
func (s *Store) State(key string) (*State, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	return s.state(p)
}

// FeedState reads a whole feed.
func (s *Store) FeedState(feed string) (*State, error) {
	p, err := s.feed(feed)
	if err != nil {
		return nil, err
	}
	return s.state(p)
}

func (s *Store) state(p place) (*State, error) {
	v, err := s.peek(p, true)
	if err != nil {
		return nil, err
	}
	return s.replay(p, v.data), nil
}

func (s *Store) replay(p place, data []byte) *State {
	st := &State{
		Key: p.key, Size: int64(len(data)), Cursors: map[string]string{},
		items: map[string]int{}, asks: map[string]int{},
	}
	eachLine(data, func(line []byte) {
		eachRecord(line, func(t, id, line []byte) {
			if string(t) == recMsg {
				st.message(line)
			} else if n, ok := parseNote(line); ok {
				st.note(n)
			} else if known(string(t)) {
				st.BadLines++
			}
		}, &st.BadLines)
	})
	for i := range st.Items {
		st.Items[i].settle(s, "", false)
	}
	return st
}

func (st *State) message(line []byte) {
	m, ok := parseMessage(line)
	if !ok {
		st.BadLines++
		return
	}
	if _, twice := st.items[m.ID]; twice {
		return
	}
	st.items[m.ID] = len(st.Items)
	st.Items = append(st.Items, Item{Message: m})
}

func (st *State) note(n note) {
	if i, ok := st.items[n.ID]; ok {
		st.Items[i].learn(n)
	}
	switch n.T {
	case recAsked:
		if _, twice := st.asks[n.ID]; !twice {
			st.asks[n.ID] = len(st.Asks)
			st.Asks = append(st.Asks, askOf(n))
		}
	case recAskEnded, recAnswered:
		if i, ok := st.asks[n.ID]; ok && st.Asks[i].Ended != recAnswered {
			st.Asks[i].Reply = n.Answer
			if st.Asks[i].Ended = n.How; n.T == recAnswered {
				st.Asks[i].Ended = recAnswered
			}
		}
	case recSent:
		st.Sent = append(st.Sent, SentRecord{
			ID: n.ID, Kind: n.Kind, ToKey: n.Box, ToName: n.Name, ToSession: n.Session, At: n.At,
		})
	case recCursor:
		if n.ID > st.Cursors[n.Feed] {
			st.Cursors[n.Feed] = n.ID
		}
	case recMoved:
		st.MovedTo = n.Box
	case recAdopt:
		st.MovedTo = ""
		st.adopts = append(st.adopts, n.Box)
	case recAdopted:
		for i, box := range st.adopts {
			if box == n.Box {
				st.adopts = append(st.adopts[:i], st.adopts[i+1:]...)
				break
			}
		}
	}
}

func askOf(n note) Ask {
	return Ask{
		ID: n.ID, ToSession: n.Session, ToBox: n.Box, ToName: n.Name,
		PID: n.PID, Start: n.Start, Until: n.Until, At: n.At,
	}
}

func known(t string) bool {
	switch t {
	case recMsg, recShown, recClaim, recUnclaim, recDone, recBlocked, recAnswered, recAsked, recAskEnded,
		recSent, recRetracted, recCursor, recFeedClaim, recFeedUnclaim, recAdopt, recAdopted, recMoved,
		recCompacted, recHot:
		return true
	}
	return false
}

// Find looks a message up where it was sent, and on from there when that box has
// moved. The error is ErrUnknownMessage when it is not there, or not any more.
func (s *Store) Find(key, id string) (Item, error) {
	var found Item
	err := s.along(key, func(p place, st *State) bool {
		if it, ok := st.Item(id); ok {
			found = it
		}
		return true
	})
	if err == nil && found.ID == "" {
		err = fmt.Errorf("message %s: %w", id, ErrUnknownMessage)
	}
	return found, err
}

// along visits a box and the boxes that it continued as.
func (s *Store) along(key string, visit func(place, *State) (more bool)) error {
	for seen := map[string]bool{}; key != "" && !seen[key]; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return err
		}
		st, err := s.state(p)
		if err != nil {
			return err
		}
		if !visit(p, st) {
			return nil
		}
		key = st.MovedTo
	}
	return nil
}

// Resolve is the box that mail for key reaches now.
func (s *Store) Resolve(key string) string {
	for seen := map[string]bool{}; !seen[key]; {
		seen[key] = true
		p, err := s.box(key)
		if err != nil {
			return key
		}
		v, err := s.peek(p, false)
		if err != nil {
			return key
		}
		x := newIndex(p.repo)
		x.scan(v.hotData())
		if x.movedTo == "" {
			return key
		}
		key = x.movedTo
	}
	return key
}

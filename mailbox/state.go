package mailbox

import "time"

// Ask is an own question.
type Ask struct {
	ID        string    `json:"id"`
	ToSession string    `json:"to_session,omitempty"`
	ToBox     string    `json:"to_box,omitempty"`
	ToName    string    `json:"to_name,omitempty"`
	PID       int       `json:"pid,omitempty"` // the process that waits for the answer
	Start     string    `json:"start,omitempty"`
	Until     time.Time `json:"until,omitzero"`
	At        time.Time `json:"at"`
	// Ended is "" while it is open, then answered, timed_out, cancelled or
	// peer_gone; moved when it went along to another box.
	Ended string `json:"ended,omitempty"`
	Reply string `json:"reply,omitempty"`

	at int // the number of its record in the journal
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
	Items    []Item // in the order they came, each message once
	Asks     []Ask
	Sent     []SentRecord
	Cursors  map[string]string // feed to the last message read of it
	MovedTo  string            // the box that this one goes on as
	From     []string          // the boxes that went on as this one
	BadLines int
	Size     int64 // of the journal, in bytes

	items  map[string]int
	asks   map[string]int
	adopts []string // boxes whose move into this one is not finished
	moveID string   // the move that MovedTo speaks of
	n      int      // records read so far
}

// Item finds a message.
func (st *State) Item(id string) (Item, bool) {
	i, ok := st.items[id]
	if !ok {
		return Item{}, false
	}
	return st.Items[i], true
}

// State reads a whole box, old mail included. It takes no lock and changes
// nothing; a box that does not exist is an empty one.
func (s *Store) State(key string) (*State, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	return s.state(p)
}

// FeedState reads a whole feed in the same way.
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
	return s.replay(p, v), nil
}

// replay derives the state from the records of a snapshot, in their order.
func (s *Store) replay(p place, v *snapshot) *State {
	st := &State{
		Key: p.key, Size: v.size, Cursors: map[string]string{},
		items: map[string]int{}, asks: map[string]int{},
	}
	take := func(r record) {
		st.n++
		var n note
		var ok bool
		switch r.t {
		case recMsg:
			st.message(r.line)
			return
		case recMoved, recAdopt, recAdopted:
			n, ok = parseMove(r.line, p.key)
		default:
			n, ok = parseNote(r.line)
		}
		if ok {
			st.note(p, n)
		} else if known(r.t) {
			st.BadLines++
		}
	}
	bad := eachRecord(v.coldData(), take)
	settled := len(st.Items)
	for i := range st.Items {
		st.Items[i].settled = true
	}
	bad += eachRecord(v.hotData(), take)
	st.BadLines += bad
	if !p.feed {
		st.merge(settled)
	}
	for i := range st.Items {
		st.Items[i].judge(s, p, "")
	}
	return st
}

// merge puts the items into the order they came in: compaction has put the settled
// ones first.
func (st *State) merge(mark int) {
	settled, rest := st.Items[:mark], st.Items[mark:]
	if len(settled) == 0 || len(rest) == 0 {
		return
	}
	all := make([]Item, 0, len(st.Items))
	for len(settled) > 0 && len(rest) > 0 {
		if rest[0].SentAt.Before(settled[0].SentAt) {
			all, rest = append(all, rest[0]), rest[1:]
		} else {
			all, settled = append(all, settled[0]), settled[1:]
		}
	}
	st.Items = append(append(all, settled...), rest...)
	for i := range st.Items {
		st.items[st.Items[i].ID] = i
	}
}

func (st *State) message(line []byte) {
	m, ok := parseMessage(line)
	if !ok {
		st.BadLines++
		return
	}
	if i, twice := st.items[m.ID]; !twice {
		st.items[m.ID] = len(st.Items)
		st.Items = append(st.Items, Item{Message: m, at: st.n})
	} else if st.Items[i].MovedTo != "" || st.Items[i].settled {
		st.Items[i] = Item{Message: m, at: st.n} // it went along to another box and has come back
	}
}

func (st *State) note(p place, n note) {
	if i, ok := st.items[n.ID]; ok {
		st.Items[i].learn(p, n)
	}
	switch n.T {
	case recAsked, recAskEnded, recAnswered:
		st.ask(n)
	case recSent:
		st.Sent = append(st.Sent, SentRecord{
			ID: n.ID, Kind: n.Kind, ToKey: n.Box, ToName: n.Name, ToSession: n.Session, At: n.At,
		})
	case recCursor:
		st.Cursors[n.Feed] = max(st.Cursors[n.Feed], n.ID)
	case recMoved:
		st.leave(p, n)
	case recAdopt:
		st.MovedTo = ""
		st.adopts = append(without(st.adopts, n.Box), n.Box)
		st.From = append(without(st.From, n.Box), n.Box)
	case recAdopted:
		st.adopts = without(st.adopts, n.Box)
		st.From = append(without(st.From, n.Box), n.Box)
	}
}

func (st *State) ask(n note) {
	i, known := st.asks[n.ID]
	a := askOf(n)
	a.at = st.n
	switch {
	case n.T == recAsked && !known:
		st.asks[n.ID] = len(st.Asks)
		st.Asks = append(st.Asks, a)
	case n.T == recAsked && st.Asks[i].Ended == recMoved:
		st.Asks[i] = a
	case n.T == recAsked || !known:
	case n.T == recAnswered:
		st.Asks[i].Ended, st.Asks[i].Reply = recAnswered, n.Answer
	case st.Asks[i].Ended != recAnswered:
		st.Asks[i].Ended, st.Asks[i].Reply = n.How, n.Answer
	}
}

// leave takes note that all that waits or is owed goes along to another box. Two
// such records in a row for the same box are one move, begun twice.
func (st *State) leave(p place, n note) {
	if st.MovedTo != n.Box {
		st.MovedTo, st.moveID = n.Box, n.ID
	}
	if n.Box == "" {
		return
	}
	for i := range st.Items {
		if it := &st.Items[i]; it.waits(p.repo) || it.Open(p.repo) {
			it.MovedTo, it.moveID = n.Box, st.moveID
		}
	}
	for i := range st.Asks {
		if st.Asks[i].Ended == "" {
			st.Asks[i].Ended = recMoved
		}
	}
}

func askOf(n note) Ask {
	return Ask{
		ID: n.ID, ToSession: n.Session, ToBox: n.Box, ToName: n.Name,
		PID: n.PID, Start: n.Start, Until: n.Until, At: n.At,
	}
}

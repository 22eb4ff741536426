package mailbox

import "time"

// Item is a message with what its journal says about it.
type Item struct {
	Message
	Shown []Shown
	// Claimed: a living reader is putting it in front of a model right now.
	Claimed bool
	// PossiblySeen: a reader claimed it and died, or fell silent, before it said
	// whether the text went out; or it went out and did not arrive, as Unshown says.
	PossiblySeen bool
	Answered     string    // id of the latest reply
	Closed       string    // "", done, blocked, retracted
	ClosedBy     string    // who closed it
	ClosedID     string    // id of the result
	ClosedAt     time.Time // zero while it is open
	// MovedTo is the box that the message went along to while it waited or was
	// open; what became of it is said there.
	MovedTo string
	// Forgotten: it has arrived there, and that box does not have it any more. Then it
	// is settled, and nothing else is known of it.
	Forgotten bool

	claims []note // those without an end
	at     int    // the number of its record in the journal
	moveID string // the move that took it along
	// settled: compaction put it before the mark. Then it is done with, even when
	// the line that says so was damaged since.
	settled bool
}

// Shown is one showing of a message.
type Shown struct {
	By  string    `json:"by,omitempty"` // the reader's session id
	Via string    `json:"via,omitempty"`
	At  time.Time `json:"at"`
}

// Status is what became of the message in one word: queued, shown, answered,
// done, blocked, retracted, or unknown when that is forgotten.
func (it Item) Status() string {
	switch {
	case it.Forgotten:
		return "unknown"
	case it.Closed != "":
		return it.Closed
	case it.Answered != "":
		return "answered"
	case len(it.Shown) > 0 || it.settled:
		return "shown"
	}
	return "queued"
}

// ShownTo reports whether this reader was shown the message.
func (it Item) ShownTo(reader string) bool {
	for _, s := range it.Shown {
		if s.By == reader {
			return true
		}
	}
	return false
}

// waits reports whether the message is still to be shown: in a repository's box
// until it is answered or closed, elsewhere until it was shown once.
func (it Item) waits(repo bool) bool {
	if it.settled || it.MovedTo != "" || it.Closed != "" || it.Answered != "" {
		return false
	}
	return repo || len(it.Shown) == 0
}

// Open reports whether something has still to be done about the message: a task
// until it is closed, a question until it is answered, and in a repository's box
// any mail until either.
func (it Item) Open(repo bool) bool {
	if it.settled || it.MovedTo != "" || it.Closed != "" {
		return false
	}
	return it.Kind == KindTask && !repo || (repo || it.Kind == KindAsk) && it.Answered == ""
}

// learn adds what one note says.
func (it *Item) learn(p place, n note) {
	switch n.T {
	case recShown:
		it.Shown = append(it.Shown, Shown{By: n.By, Via: n.Via, At: n.At})
		it.endClaims(func(c note) bool { return c.Claim == n.Claim || c.By == n.By || c.T == recUnshown && !p.repo })
	case recUnshown:
		it.unshow(p, n)
	case recClaim:
		it.claims = append(it.claims, n)
	case recUnclaim:
		it.endClaims(func(c note) bool { return c.Claim == n.Claim })
	case recAnswered:
		it.Answered = n.Answer
		if n.Answer == "" {
			it.Answered = "unknown" // a damaged receipt still says that there was one
		}
	case recWent:
		it.MovedTo, it.moveID = n.Box, n.Claim
	case recDone, recBlocked, recRetracted:
		if it.Closed == "" { // the first to close it closed it
			it.Closed, it.ClosedBy, it.ClosedID, it.ClosedAt = n.T, n.By, n.Answer, n.At
		}
	}
}

func (it *Item) endClaims(which func(note) bool) {
	var open []note
	for _, c := range it.claims {
		if !which(c) {
			open = append(open, c)
		}
	}
	it.claims = open
}

// judge decides what the claims without an end mean now. In a repository's box
// only the reader's own count, since each reader is shown its own copy.
func (it *Item) judge(s *Store, p place, reader string) {
	it.Claimed, it.PossiblySeen = false, false
	for _, c := range it.claims {
		switch {
		case p.repo && reader != "" && c.By != reader:
		case c.T != recUnshown && s.holds(c):
			it.Claimed = true
		default:
			it.PossiblySeen = true
		}
	}
}

// claimLife is how long a claim holds when its claimant lives but says nothing.
// Writing a hook's answer takes milliseconds.
const claimLife = time.Minute

// holds reports whether a claim still keeps others away. A clock that jumped, in
// either direction, ends a claim early rather than late.
func (s *Store) holds(claim note) bool {
	age := s.now().Sub(claim.At)
	return age < claimLife && age > -claimLife && s.Alive(claim.PID, claim.Start)
}

package mailbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// index is what a scan over a journal's hot part finds without decoding any line
// that is settled: what still waits or is owed, and the few lines about it.
type index struct {
	key     string
	repo    bool
	entries []entry  // messages, in order
	notes   []aside  // what is said about them
	head    int      // every entry before it is gone
	waiting int      // entries that are still to be shown
	bytes   int      // length of their lines
	asks    []record // own questions without an end
	feeds   []record // cursor, feed_claim, feed_unclaim
	adopts  []string // boxes whose move into this one is not finished
	from    []string // the boxes that went on as this one
	movedTo string
	heir    bool   // it goes on for the box of another session, as after /clear
	maxID   []byte // greatest message id that the journal has known
	top     []byte // greatest message id in what was scanned
	bad     int    // lines that are no records
}

// entry is one message.
type entry struct {
	record
	last  int  // its latest note, as index into notes plus one
	shown bool // shown, but owed an answer or a closing
	gone  bool // nobody waits for it, and nothing is owed
	away  bool // gone along to another box
}

// aside is a note about an entry; before is the note before it.
type aside struct {
	line   []byte
	before int
}

func newIndex(p place, lastID string, data []byte) *index {
	x := &index{key: p.key, repo: p.repo, maxID: []byte(lastID)}
	x.entries = make([]entry, 0, len(data)/sparse)
	x.scan(data)
	return x
}

// sparse is about how many bytes of a journal there are for each message.
const sparse = 700

// scan reads more of a journal. A last line without its end is still being
// written, or torn: it counts when it is a record, and is no bad line otherwise.
func (x *index) scan(data []byte) { x.bad += eachRecord(data, x.apply) }

// eachRecord gives the records in data with their types and ids, and counts the
// lines that are none.
//
// A line that is no record may still hold whole ones, glued behind a torn one.
// They are found by how every record starts, which no string inside a record can
// contain, since JSON escapes its quotes.
func eachRecord(data []byte, do func(record)) (bad int) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if r, ok := head(line); ok && !bytes.Contains(line[1:], recordStart) {
			do(r)
		} else if r, ok := slowHead(line); ok {
			do(r)
		} else if len(bytes.TrimSpace(line)) > 0 {
			salvage(line, do)
			if ended {
				bad++
			}
		}
	}
	return bad
}

func salvage(line []byte, do func(record)) {
	for len(line) > 0 {
		var raw json.RawMessage
		skip := 1
		if json.NewDecoder(bytes.NewReader(line)).Decode(&raw) == nil {
			if r, ok := slowHead(raw); ok {
				do(r)
				skip = len(raw)
			}
		}
		next := bytes.Index(line[skip:], recordStart)
		if next < 0 {
			return
		}
		line = line[skip+next:]
	}
}

func (x *index) apply(r record) {
	switch r.t {
	case recMsg:
		x.message(r)
	case recShown, recClaim, recUnclaim, recAnswered, recDone, recBlocked, recRetracted:
		x.about(r)
	case recUnshown:
		x.unshow(r)
	case recAsked:
		x.asks = append(x.asks, r)
	case recAskEnded:
		x.endAsk(r.id)
	case recCursor, recFeedClaim, recFeedUnclaim:
		x.feeds = append(x.feeds, r)
	case recMoved, recAdopt, recAdopted:
		x.move(r)
	}
}

func (x *index) message(r record) {
	if len(r.id) == 0 {
		return
	}
	if len(r.id) == IDLen && bytes.Compare(r.id, x.top) > 0 {
		x.top = r.id
		if bytes.Compare(x.top, x.maxID) > 0 {
			x.maxID = x.top
		}
	} else if x.has(r.id) {
		return
	}
	x.entries = append(x.entries, entry{record: r})
	x.waiting++
	x.bytes += len(r.line)
}

// has looks for a first copy of a message. Ids nearly always rise, so it is rarely
// asked. A copy that is damaged makes way.
func (x *index) has(id []byte) bool {
	for i := range x.entries {
		e := &x.entries[i]
		if e.away || !bytes.Equal(e.id, id) {
			continue
		}
		if _, ok := parseMessage(e.line); ok {
			return true
		}
		x.show(e, false)
		e.away = true
	}
	return false
}

// about takes in what a line says about a message, or about an own question.
func (x *index) about(r record) {
	if r.t == recAnswered {
		x.endAsk(r.id)
	}
	for i := x.head; i < len(x.entries); i++ {
		e := &x.entries[i]
		if e.gone || !bytes.Equal(e.id, r.id) {
			continue
		}
		switch r.t {
		case recShown:
			if !x.repo {
				x.show(e, owed(e.record, recShown))
			}
		case recAnswered:
			x.show(e, !x.repo && owed(e.record, recAnswered))
		case recDone, recBlocked, recRetracted:
			x.show(e, false)
		}
		if !e.gone {
			x.notes = append(x.notes, aside{r.line, e.last})
			e.last = len(x.notes)
		}
		break
	}
	for x.head < len(x.entries) && x.entries[x.head].gone {
		x.head++
	}
}

// show takes a message off those that wait; it stays in the index when something
// is owed for it.
func (x *index) show(e *entry, owed bool) {
	if !e.shown {
		x.waiting--
		x.bytes -= len(e.line)
	}
	e.shown, e.gone = true, !owed
}

// owed reports whether a message that was shown, or answered, still asks for
// something.
func owed(r record, after string) bool {
	// Here this package writes a message's kind, so that it is found undecoded.
	kind, ok := r.value(`,"v":1,"kind":"`)
	if !ok {
		m, _ := parseMessage(r.line)
		kind = []byte(m.Kind)
	}
	return Kind(kind) == KindTask || Kind(kind) == KindAsk && after == recShown
}

func (x *index) endAsk(id []byte) {
	x.asks = slices.DeleteFunc(x.asks, func(r record) bool { return bytes.Equal(r.id, id) })
}

func (x *index) move(r record) {
	n, ok := parseMove(r.line, x.key)
	if !ok {
		return
	}
	switch r.t {
	case recMoved:
		if x.movedTo = n.Box; n.Box != "" {
			x.leave()
		}
	case recAdopt:
		x.movedTo = "" // a box that takes mail in lives
		x.adopts = append(without(x.adopts, n.Box), n.Box)
		x.from = append(without(x.from, n.Box), n.Box)
	case recAdopted:
		x.adopts = without(x.adopts, n.Box)
		x.from = append(without(x.from, n.Box), n.Box)
		x.heir = x.heir || !strings.HasPrefix(n.Box, "p-")
	}
}

// leave takes note that all that waits or is owed goes along to another box.
func (x *index) leave() {
	for i := x.head; i < len(x.entries); i++ {
		if e := &x.entries[i]; !e.gone {
			e.gone, e.away = true, true
		}
	}
	x.asks = nil
	x.head, x.waiting, x.bytes = len(x.entries), 0, 0
}

// said gives the notes about an entry, in their order.
func (x *index) said(e *entry) (notes []note) {
	for i := e.last; i > 0; i = x.notes[i-1].before {
		if n, ok := parseNote(x.notes[i-1].line); ok {
			notes = append(notes, n)
		}
	}
	slices.Reverse(notes)
	return notes
}

// each gives the entries for which somebody waits or owes something.
func (x *index) each(do func(*entry)) {
	for i := x.head; i < len(x.entries); i++ {
		if e := &x.entries[i]; !e.gone {
			do(e)
		}
	}
}

func without(list []string, s string) []string {
	var kept []string
	for _, have := range list {
		if have != s {
			kept = append(kept, have)
		}
	}
	return kept
}

package mailbox

import (
	"bytes"
	"encoding/json"
)

// index is what a scan over a journal's hot part finds without decoding any line
// that is settled: what still waits or is owed, and the few lines about it.
type index struct {
	key     string
	repo    bool
	entries []entry // messages, in order
	head    int     // every entry before it is gone
	waiting int     // entries that are still to be shown
	bytes   int     // length of their lines
	asks    []entry // own questions without an end
	feeds   [][]byte
	adopts  []string // boxes whose move into this one is not finished
	movedTo string
	maxID   []byte // greatest message id
	bad     int    // lines that are no records
}

// entry is one message or question with the lines about it.
type entry struct {
	id    []byte
	line  []byte
	notes [][]byte
	shown bool // shown, but owed an answer or a closing
	gone  bool // nobody waits for it, and nothing is owed
	away  bool // gone along to another box
}

func newIndex(p place, lastID string, data []byte) *index {
	x := &index{key: p.key, repo: p.repo, maxID: []byte(lastID)}
	x.scan(data)
	return x
}

// scan reads more of a journal. A last line without its end is still being
// written, or torn: it counts when it is a record, and is no bad line otherwise.
func (x *index) scan(data []byte) { eachRecord(data, x.apply, &x.bad) }

// eachRecord gives the records in data with their types and ids.
//
// A line that is no record may still hold whole ones, glued behind a torn one.
// They are found by how every record starts, which no string inside a record can
// contain, since JSON escapes its quotes.
func eachRecord(data []byte, do func(t, id, line []byte), bad *int) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if t, id, ok := head(line); ok && bytes.Index(line[1:], recordStart) < 0 {
			do(t, id, line)
		} else if t, id, ok := slowHead(line); ok {
			do(t, id, line)
		} else if len(bytes.TrimSpace(line)) > 0 {
			salvage(line, do)
			if ended {
				*bad++
			}
		}
	}
}

func salvage(line []byte, do func(t, id, line []byte)) {
	for len(line) > 0 {
		var raw json.RawMessage
		skip := 1
		if json.NewDecoder(bytes.NewReader(line)).Decode(&raw) == nil {
			if t, id, ok := slowHead(raw); ok {
				do(t, id, raw)
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

func (x *index) apply(t, id, line []byte) {
	switch string(t) {
	case recMsg:
		x.message(id, line)
	case recShown, recClaim, recUnclaim, recAnswered, recDone, recBlocked, recRetracted:
		x.about(string(t), id, line)
	case recAsked:
		x.asks = append(x.asks, entry{id: id, line: line})
	case recAskEnded:
		x.endAsk(id)
	case recCursor, recFeedClaim, recFeedUnclaim:
		x.feeds = append(x.feeds, line)
	case recMoved, recAdopt, recAdopted:
		x.move(string(t), line)
	}
}

func (x *index) message(id, line []byte) {
	if len(id) == 0 {
		return
	}
	if len(id) == idLen && bytes.Compare(id, x.maxID) > 0 {
		x.maxID = id
	} else if x.has(id) {
		return
	}
	x.entries = append(x.entries, entry{id: id, line: line})
	x.waiting++
	x.bytes += len(line)
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
func (x *index) about(t string, id, line []byte) {
	if t == recAnswered {
		x.endAsk(id)
	}
	for i := x.head; i < len(x.entries); i++ {
		e := &x.entries[i]
		if e.gone || !bytes.Equal(e.id, id) {
			continue
		}
		e.notes = append(e.notes, line)
		switch t {
		case recShown:
			if !x.repo {
				x.show(e, owed(e.line, recShown))
			}
		case recAnswered:
			x.show(e, !x.repo && owed(e.line, recAnswered))
		case recDone, recBlocked, recRetracted:
			x.show(e, false)
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
func owed(line []byte, after string) bool {
	kind := kindOf(line)
	return kind == KindTask || kind == KindAsk && after == recShown
}

// kindOf finds a message's kind where this package writes it: behind id and v.
func kindOf(line []byte) Kind {
	if _, id, ok := head(line); ok {
		start := len(recordStart) + len(recMsg) + len(`"`) + len(idStart) + len(id) + len(`"`)
		if rest, ok := bytes.CutPrefix(line[start:], []byte(`,"v":1,"kind":"`)); ok {
			kind, _, _ := word(rest)
			return Kind(kind)
		}
	}
	m, _ := parseMessage(line)
	return m.Kind
}

func (x *index) endAsk(id []byte) {
	for i := range x.asks {
		if bytes.Equal(x.asks[i].id, id) {
			x.asks[i].gone = true
		}
	}
}

func (x *index) move(t string, line []byte) {
	n, ok := parseMove(line, x.key)
	if !ok {
		return
	}
	switch t {
	case recMoved:
		if x.movedTo = n.Box; n.Box != "" {
			x.leave()
		}
	case recAdopt:
		x.movedTo = "" // a box that takes mail in lives
		x.adopts = append(without(x.adopts, n.Box), n.Box)
	case recAdopted:
		x.adopts = without(x.adopts, n.Box)
	}
}

// leave takes note that all that waits or is owed goes along to another box.
func (x *index) leave() {
	for i := x.head; i < len(x.entries); i++ {
		if e := &x.entries[i]; !e.gone {
			e.gone, e.away = true, true
		}
	}
	for i := range x.asks {
		x.asks[i].gone = true
	}
	x.head, x.waiting, x.bytes = len(x.entries), 0, 0
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

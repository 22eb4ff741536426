package mailbox

import (
	"bytes"
	"encoding/json"
)

// index is what a scan over a journal's hot part finds without decoding any line
// that is settled: what still waits, and the few lines about it.
type index struct {
	repo    bool
	pending []entry  // messages that still wait, in order
	head    int      // every entry before it is gone
	bytes   int      // length of the pending lines
	asks    []entry  // own questions without an end
	feeds   [][]byte // cursor, feed_claim, feed_unclaim
	adopts  []string // boxes whose move into this one is not finished
	movedTo string
	maxID   []byte // greatest message id
	bad     int    // lines that are no records

	data []byte // what was scanned so far, to find duplicates
}

// entry is one message or question with the lines about it.
type entry struct {
	id    []byte
	line  []byte
	notes [][]byte
	gone  bool
}

func newIndex(repo bool) *index { return &index{repo: repo} }

// count is the number of messages that wait.
func (x *index) count() int {
	n := 0
	for i := x.head; i < len(x.pending); i++ {
		if !x.pending[i].gone {
			n++
		}
	}
	return n
}

// scan reads more of a journal.
func (x *index) scan(data []byte) {
	x.data = data
	eachLine(data, func(line []byte) { eachRecord(line, x.apply, &x.bad) })
}

func eachLine(data []byte, do func(line []byte)) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		line := data
		if end >= 0 {
			line, data = data[:end], data[end+1:]
		} else {
			data = nil
		}
		if len(line) > 0 {
			do(line)
		}
	}
}

// eachRecord gives the records of a line: one, when nothing went wrong. A line
// that is no record may still hold whole ones, glued behind a torn one; they are
// found by how every record starts, which no string inside a record can contain,
// since JSON escapes its quotes.
func eachRecord(line []byte, do func(t, id, line []byte), bad *int) {
	if t, id, ok := head(line); ok && bytes.Index(line[1:], recordStart) < 0 {
		do(t, id, line)
		return
	}
	if t, id, ok := slowHead(line); ok {
		do([]byte(t), []byte(id), line)
		return
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	*bad++
	for at := 0; at < len(line); {
		var raw json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(line[at:]))
		if dec.Decode(&raw) == nil {
			if t, id, ok := slowHead(raw); ok {
				do([]byte(t), []byte(id), raw)
				at += int(dec.InputOffset()) - 1
			}
		}
		next := bytes.Index(line[at+1:], recordStart)
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

func (x *index) apply(t, id, line []byte) {
	switch string(t) {
	case recMsg:
		x.message(id, line)
	case recShown:
		if x.repo {
			x.note(x.pending, x.head, id, line)
		} else {
			x.settle(id)
		}
	case recClaim, recUnclaim:
		x.note(x.pending, x.head, id, line)
	case recAnswered:
		x.settle(id)
		x.endAsk(id)
	case recDone, recBlocked, recRetracted:
		x.settle(id)
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
		x.bad++
		return
	}
	if bytes.Compare(id, x.maxID) <= 0 {
		// Ids nearly always rise, so this is rare: is it a second copy?
		for i := range x.pending {
			if bytes.Equal(x.pending[i].id, id) {
				return
			}
		}
	} else if len(id) == idLen {
		x.maxID = id
	}
	x.pending = append(x.pending, entry{id: id, line: line})
	x.bytes += len(line)
}

// settle takes a message off the list of those that wait. It keeps its entry,
// marked, so that a second copy is recognised.
func (x *index) settle(id []byte) {
	for i := x.head; i < len(x.pending); i++ {
		e := &x.pending[i]
		if e.gone || !bytes.Equal(e.id, id) {
			continue
		}
		e.gone = true
		x.bytes -= len(e.line)
		break
	}
	for x.head < len(x.pending) && x.pending[x.head].gone {
		x.head++
	}
}

func (x *index) note(list []entry, from int, id, line []byte) {
	for i := from; i < len(list); i++ {
		if !list[i].gone && bytes.Equal(list[i].id, id) {
			list[i].notes = append(list[i].notes, line)
			return
		}
	}
}

func (x *index) endAsk(id []byte) {
	for i := range x.asks {
		if bytes.Equal(x.asks[i].id, id) {
			x.asks[i].gone = true
		}
	}
}

func (x *index) move(t string, line []byte) {
	n, ok := parseNote(line)
	if !ok {
		return
	}
	switch t {
	case recMoved:
		x.movedTo = n.Box
	case recAdopt:
		x.movedTo = "" // a box that takes mail in lives
		x.adopts = append(x.adopts, n.Box)
	case recAdopted:
		for i, box := range x.adopts {
			if box == n.Box {
				x.adopts = append(x.adopts[:i], x.adopts[i+1:]...)
				break
			}
		}
	}
}

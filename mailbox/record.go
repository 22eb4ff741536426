package mailbox

import (
	"bytes"
	"encoding/json"
	"time"
)

// Record types; the package comment says who writes them and what they mean.
const (
	recMsg         = "msg"
	recShown       = "shown"
	recUnshown     = "unshown"
	recClaim       = "claim"
	recUnclaim     = "unclaim"
	recDone        = "done"
	recBlocked     = "blocked"
	recAnswered    = "answered"
	recAsked       = "asked"
	recAskEnded    = "ask_ended"
	recSent        = "sent"
	recRetracted   = "retracted"
	recCursor      = "cursor"
	recFeedClaim   = "feed_claim"
	recFeedUnclaim = "feed_unclaim"
	recAdopt       = "adopt"
	recAdopted     = "adopted"
	recMoved       = "moved"
	recWent        = "went"
	recCompacted   = "compacted"
	recHot         = "hot"
)

// messageRecord is a line of type msg: the message's own keys, flat.
type messageRecord struct {
	T string `json:"t"`
	Message
}

// note is any other line that this package writes.
type note struct {
	T       string    `json:"t"`
	ID      string    `json:"id"`
	Feed    string    `json:"feed,omitempty"`
	Claim   string    `json:"claim,omitempty"`
	By      string    `json:"by,omitempty"`
	Via     string    `json:"via,omitempty"`
	How     string    `json:"how,omitempty"`
	Answer  string    `json:"answer,omitempty"`
	Kind    Kind      `json:"kind,omitempty"`
	Box     string    `json:"box,omitempty"`
	Name    string    `json:"name,omitempty"`
	Session string    `json:"session,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Start   string    `json:"start,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Hot     string    `json:"hot,omitempty"`
	Kept    string    `json:"kept,omitempty"`
	At      time.Time `json:"at"`
}

// encode appends the line of v, newline included. Only values of this package's
// own types come here, and they always have a JSON form.
func encode(buf *bytes.Buffer, v any) {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // a journal is for people to read, too
	if err := enc.Encode(v); err != nil {
		panic("mailbox: record without a JSON form: " + err.Error())
	}
}

func lines(notes ...note) []byte {
	var buf bytes.Buffer
	for _, n := range notes {
		encode(&buf, n)
	}
	return buf.Bytes()
}

var (
	recordStart = []byte(`{"t":"`)
	idStart     = []byte(`,"id":"`)
)

// record is a line of a journal, undecoded.
type record struct {
	t    string
	id   []byte
	line []byte
	rest []byte // what follows the id in a line of this package's form
}

// head reads type and id of a line in the form this package writes, without
// decoding it: `{"t":"…","id":"…"`. It is the hook's fast path.
func head(line []byte) (r record, ok bool) {
	if !bytes.HasPrefix(line, recordStart) || line[len(line)-1] != '}' {
		return r, false
	}
	t, rest, ok := word(line[len(recordStart):])
	if !ok || !bytes.HasPrefix(rest, idStart) {
		return r, false
	}
	id, rest, ok := word(rest[len(idStart):])
	return record{t: typeOf(t), id: id, line: line, rest: rest}, ok
}

// typeOf makes a string of a type, without allocating one for those of every day.
func typeOf(t []byte) string {
	switch string(t) {
	case recMsg:
		return recMsg
	case recShown:
		return recShown
	case recClaim:
		return recClaim
	case recCursor:
		return recCursor
	case recAnswered:
		return recAnswered
	case recAsked:
		return recAsked
	case recSent:
		return recSent
	case recFeedClaim:
		return recFeedClaim
	}
	return string(t)
}

// value cuts a string value off rest, when the next key is that one.
func (r record) value(key string) (v []byte, ok bool) {
	rest, ok := bytes.CutPrefix(r.rest, []byte(key))
	if !ok {
		return nil, false
	}
	v, _, ok = word(rest)
	return v, ok
}

// word cuts data at its first quote. A value that JSON had to escape comes out as
// it stands; no type, id or feed of this package has one.
func word(data []byte) (w, rest []byte, ok bool) {
	i := bytes.IndexByte(data, '"')
	if i < 0 {
		return nil, nil, false
	}
	return data[:i], data[i+1:], true
}

// slowHead reads type and id of any JSON object: other programs may space their
// JSON or order their keys differently.
func slowHead(line []byte) (r record, ok bool) {
	var h struct {
		T  string `json:"t"`
		ID string `json:"id"`
	}
	if json.Unmarshal(line, &h) != nil || h.T == "" {
		return r, false
	}
	if r, ok := head(line); ok {
		return r, true // where a key comes twice, everybody has to take the first
	}
	return record{t: h.T, id: []byte(h.ID), line: line}, true
}

// parseMessage decodes a msg line.
func parseMessage(line []byte) (Message, bool) {
	var r messageRecord
	if json.Unmarshal(line, &r) != nil || r.T != recMsg || r.ID == "" {
		return Message{}, false
	}
	if h, ok := head(line); ok && string(h.id) != r.ID {
		return Message{}, false // two ids, or one that is escaped: damaged
	}
	return r.Message, true
}

// parseNote decodes any other line. Of a damaged line with a whole head, type
// and id still count: what a receipt says is said by them.
func parseNote(line []byte) (note, bool) {
	var n note
	err := json.Unmarshal(line, &n)
	h, ok := head(line)
	switch {
	case !ok:
		return n, err == nil && n.T != ""
	case err != nil && !receipt(h.t):
		return note{}, false
	case err != nil:
		return note{T: h.t, ID: string(h.id)}, true
	}
	n.T, n.ID = h.t, string(h.id)
	return n, true
}

// parseMove decodes adopt, adopted and moved in the box key. One that names no
// other box is damaged: to believe it would cut the box off.
func parseMove(line []byte, key string) (note, bool) {
	n, ok := parseNote(line)
	return n, ok && n.Box != key && (validBox(n.Box) || n.Box == "" && n.T == recMoved)
}

func receipt(t string) bool {
	switch t {
	case recShown, recUnshown, recUnclaim, recDone, recBlocked, recAnswered, recAskEnded, recRetracted:
		return true
	}
	return false
}

func known(t string) bool {
	switch t {
	case recMsg, recClaim, recAsked, recSent, recCursor, recFeedClaim, recFeedUnclaim,
		recAdopt, recAdopted, recMoved, recWent, recCompacted, recHot:
		return true
	}
	return receipt(t)
}

package mailbox

import (
	"crypto/rand"
	"crypto/sha256"
	"time"
)

// Crockford's alphabet: digits and letters in the order of their bytes, without
// I, L, O and U.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	IDLen   = 26 // characters of a message id
	timeLen = 10 // 50 bits, of which 48 count milliseconds since 1970
)

// NewID makes a message id: 26 characters that sort by the time of their making
// and carry 80 random bits, so that no two are ever the same.
func NewID(now time.Time) string {
	var random [IDLen - timeLen]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	return makeID(now, random)
}

func makeID(now time.Time, random [IDLen - timeLen]byte) string {
	var id [IDLen]byte
	ms := uint64(max(now.UnixMilli(), 0)) & (1<<48 - 1)
	for i := timeLen - 1; i >= 0; i-- {
		id[i] = alphabet[ms&31]
		ms >>= 5
	}
	for i, b := range random {
		id[timeLen+i] = alphabet[b&31]
	}
	return string(id[:])
}

// nextID is an id greater than last, whatever the clock says. Other boxes may know
// the same last id, so it is not just the next one: its random bits are its own.
func nextID(now time.Time, last string) string {
	id := NewID(now)
	if id > last || !ValidID(last) {
		return id
	}
	next := []byte(last[:timeLen])
	for i := len(next) - 1; i >= 0; i-- {
		v := digit(next[i])
		if v < 31 {
			next[i] = alphabet[v+1]
			return string(next) + id[timeLen:]
		}
		next[i] = alphabet[0]
	}
	return id // last was of the greatest time of all: order is lost, uniqueness is not
}

// CompletionID is the id of the one message that closes a task. It follows from
// the task's own id, so that whoever closes the task, and however often it is
// tried, the requester's box takes one result.
func CompletionID(task string) string {
	sum := sha256.Sum256([]byte("peermux completion of " + task))
	id := []byte(alphabet[:1] + "000000000")
	if ValidID(task) {
		copy(id, task[:timeLen])
	}
	for _, b := range sum[:IDLen-timeLen] {
		id = append(id, alphabet[b&31])
	}
	return string(id)
}

// ValidID reports whether id has the form that NewID gives.
func ValidID(id string) bool {
	if len(id) != IDLen {
		return false
	}
	for i := range len(id) {
		if digit(id[i]) < 0 {
			return false
		}
	}
	return true
}

func digit(c byte) int {
	for i := range len(alphabet) {
		if alphabet[i] == c {
			return i
		}
	}
	return -1
}

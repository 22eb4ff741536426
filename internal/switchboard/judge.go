package switchboard

import (
	"time"

	"peermux/detect"
	"peermux/registry"
)

// What ends a wait before its time, or does not.
const (
	goesOn    = ""
	timedOut  = "timed_out"
	turnEnded = "turn_ended"
	heldBack  = "held"
	peerEnded = "peer_gone"
	plainNote = "plain_note"
	elsewhere = "elsewhere" // what would have been handed over was shown by a hook
)

// sight is what is known of one question at one moment.
type sight struct {
	now     time.Time
	shownAt time.Time // zero: the peer has not seen it
	status  detect.Status
	// heldSince is when something began to keep the peer from looking: its user
	// is asked something, or a draft stands in its composer. Zero: nothing does.
	heldSince time.Time
	gone      bool      // the peer's client has ended
	lost      time.Time // no server stands for the peer since; zero: one does
	noteAt    time.Time // a plain message of the peer came after it saw the question
}

// How long a sign has to last before it ends the wait.
const (
	// settleTurn: Claude shows idle for a moment between a Stop hook and the
	// continuation that it asked for.
	settleTurn = 3 * time.Second
	// settleHeld: the person may be about to answer the dialog.
	settleHeld = 10 * time.Second
	// settleLost: a client that restarts its MCP server takes a moment, and a
	// peer's end is told within a second.
	settleLost = 700 * time.Millisecond
	// settleNote: the answer proper may follow the remark.
	settleNote = 2 * time.Second
)

// judge decides whether a wait makes sense any longer, and if it does, when to
// look again although nothing changed (0: no need).
func judge(s sight) (verdict string, again time.Duration) {
	settled := func(since time.Time, settle time.Duration, ends string) bool {
		if since.IsZero() {
			return false
		}
		left := settle - s.now.Sub(since)
		if left <= 0 {
			verdict = ends
			return true
		}
		if again == 0 || left < again {
			again = left
		}
		return false
	}
	idleSince := time.Time{}
	if !s.shownAt.IsZero() && s.status.Word == registry.Idle && s.status.Since.After(s.shownAt) {
		idleSince = s.status.Since
	}
	heldSince := s.heldSince
	if !s.shownAt.IsZero() {
		heldSince = time.Time{} // it has the question; its user's dialog is part of the work on it
	}
	switch {
	case s.gone: // nothing restarts a server without its client
		verdict = peerEnded
	case settled(s.lost, settleLost, peerEnded):
	case settled(s.noteAt, settleNote, plainNote):
	case settled(idleSince, settleTurn, turnEnded):
	case settled(heldSince, settleHeld, heldBack):
	}
	if verdict != goesOn {
		again = 0
	}
	return verdict, again
}

// Package wake gets an idle session to take a turn, and must never do harm: never
// submit a person's draft, answer a dialog, cancel a turn, type into the wrong
// pane, or claim a success it did not see. A wake is only a nudge; the text of
// the mail never travels with it.
//
// # The ladder
//
// Wake tries, in order, what the session offers, and stops at the first route
// that was taken or that says "held":
//
//  1. native: Claude Code watches its bell file; Codex has "codex queue". Both
//     leave drafts and dialogs alone.
//  2. a PTY host ("peermux run") that the client runs on.
//  3. tmux: the pane that is proven to be the client's.
//
// Routes 2 and 3 type one constant line behind one gate, [Decide], a pure
// function from facts to a verdict. Text and Enter are sent apart, with a look
// in between; only Enter is ever repeated, and only while the composer holds
// exactly our line. Escape, Ctrl-C and the like are never sent.
//
// # State
//
// wake/<box>.json in the house of peermux holds what was done lately and what is
// held; it is written under locks/wake-<box>, by whoever wakes. Terminals have a
// lock of their own, since two boxes may belong to one terminal. Both are kernel
// locks. A crash between paste and Enter leaves our line in the composer and a
// record that says so; the next wake presses only Enter, if the composer still
// holds exactly that line.
//
// A held wake is tried again by the receiver's own server ([Waker.Retry]).
//
// # What wakes
//
// Unshown mail does. A broadcast wakes nobody, unless its sender calls it urgent
// and the person has written `wake = "high"` under [broadcast] in wake.toml.
package wake

import (
	"context"
	"fmt"
	"time"

	"peermux/mailbox"
	"peermux/registry"
)

// Outcome is what became of a wake.
type Outcome string

const (
	Submitted         Outcome = "submitted"           // typed, sent, and a turn was seen to start
	Native            Outcome = "native"              // handed to the client's own mechanism
	NotNeeded         Outcome = "not_needed"          // working, already read, or already on its way
	Held              Outcome = "held"                // not now; Reason says why
	TypedNotSubmitted Outcome = "typed_not_submitted" // the line was typed, and no turn was seen to start
	NoRoute           Outcome = "no_route"            // there is no way to wake this session
	Failed            Outcome = "failed"              // a route broke; Reason says how
)

// Result is the answer of a wake.
type Result struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	Route   string  `json:"route,omitempty"` // native, pty, tmux
	Facts   []Fact  `json:"facts,omitempty"` // only from Explain

	// gone: the line left the composer, though no turn was seen to start.
	gone bool
}

// Fact is one thing that was looked at, and where it came from.
type Fact struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Modes of PEERMUX_WAKE.
const (
	ModeAuto   = "auto"
	ModeNative = "native"
	ModeTmux   = "tmux" // by typing, also through a PTY host
	ModeOff    = "off"
)

// Waker wakes sessions. It holds no state of its own and is safe for concurrent
// use, also by many processes on one house.
type Waker struct {
	Home     string // of peermux
	Store    *mailbox.Store
	Registry *registry.Registry
	Env      func(string) string // the caller's environment
	Now      func() time.Time
	Mode     string // auto (or ""), native, tmux, off; anything else is off too
}

// off says why nobody is woken at all; empty where sessions are. A word that means
// nothing may have been meant as off.
func (w *Waker) off() string {
	switch w.Mode {
	case "", ModeAuto, ModeNative, ModeTmux:
		return ""
	case ModeOff:
		return "waking is switched off (PEERMUX_WAKE=off)"
	}
	return fmt.Sprintf("waking is switched off: PEERMUX_WAKE=%q is none of auto, native, tmux and off", w.Mode)
}

// Options of one wake.
type Options struct {
	Urgency string // of the message it is for; "low" never wakes
	From    string // box of the sender, for the guard against ping-pong
}

// Wake tries to get the session to look at its mail, and returns when the outcome
// is known: at once when there is nothing to do, after a few seconds at most when
// a route has to be proven. A held wake is recorded, and Retry takes it up again.
func (w *Waker) Wake(ctx context.Context, e registry.Entry, o Options) Result {
	if why := w.off(); why != "" {
		return Result{Outcome: NoRoute, Reason: why}
	}
	if o.Urgency == "low" {
		return Result{Outcome: NotNeeded, Reason: "urgency low never wakes"}
	}
	return w.locked(ctx, e, func(rec *record) Result {
		a := &attempt{Waker: w, entry: e, from: o.From, rec: rec}
		return a.run(ctx)
	})
}

// locked runs one attempt under the lock of the box and stores what became of it.
func (w *Waker) locked(ctx context.Context, e registry.Entry, run func(*record) Result) Result {
	unlock, err := w.lock(ctx, "wake-"+e.Box)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}
	}
	if unlock == nil {
		return Result{Outcome: NotNeeded, Reason: "another wake of this session is under way"}
	}
	defer unlock()
	rec, err := w.load(e.Box)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}
	}
	r := run(rec)
	rec.note(r, w.Now())
	if err := w.save(e.Box, rec); err != nil {
		// The wake itself stands; only the memory of it is lost, and with it the
		// brake on repeats.
		r.Reason = fmt.Sprintf("%s (the record of it was not written: %v)", r.Reason, err)
	}
	return r
}

// Held says why what waits for a session has not woken it, and since when.
func (w *Waker) Held(boxKey string) (reason string, since time.Time, ok bool) {
	rec, err := w.load(boxKey)
	if err != nil || !rec.Wanted {
		return "", time.Time{}, false
	}
	switch rec.Outcome {
	case Held, TypedNotSubmitted, Failed:
	default:
		return "", time.Time{}, false
	}
	if !w.waits(boxKey) {
		return "", time.Time{}, false
	}
	return rec.Reason, rec.Since, true
}

// Retry takes up a wake that was wanted and has shown nothing yet. The receiver's
// own server calls it whenever something about the session may have changed, and
// again after the time it returns (0: nothing is wanted). A change of the
// session's status is tried at once, anything else after a growing pause.
func (w *Waker) Retry(ctx context.Context, e registry.Entry) (Result, time.Duration) {
	rec, err := w.load(e.Box)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}, lastRetry
	}
	if !rec.Wanted || w.off() != "" {
		return Result{Outcome: NotNeeded, Reason: "no wake is wanted"}, 0
	}
	if wait := w.retryIn(e, rec); wait > 0 {
		return Result{Outcome: NotNeeded, Reason: "the next try is due later"}, wait
	}
	r := w.locked(ctx, e, func(rec *record) Result {
		a := &attempt{Waker: w, entry: e, rec: rec}
		return a.run(ctx)
	})
	if rec, err = w.load(e.Box); err != nil || !rec.Wanted {
		return r, 0
	}
	return r, max(rec.Next.Sub(w.Now()), time.Second)
}

// retryIn is how long a retry has to wait still.
func (w *Waker) retryIn(e registry.Entry, rec *record) time.Duration {
	if u, err := w.unshownNow(e); err == nil && u.none() {
		return 0 // the attempt finds nothing to do and clears the record
	}
	if rec.Reached && rec.Tries > maxFollows {
		return lastRetry // it was told often enough; its next turn shows the mail
	}
	if !rec.Reached && w.statusOf(e).Word != rec.Status {
		return 0
	}
	return rec.Next.Sub(w.Now())
}

package wake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"peermux/internal/screen"
)

// terminal is where a client can be typed at: a tmux pane or a PTY host.
type terminal interface {
	// Name is unique to the terminal and fit for a file name.
	Name() string
	// Look is one moment of the terminal.
	Look(ctx context.Context) (view, error)
	// Paste sends the text as one bracketed paste, Enter a single Enter. Both
	// refuse when the terminal is no longer the one that was looked at.
	Paste(ctx context.Context, text string) error
	Enter(ctx context.Context) error
	// Foreground reports whether the client has the terminal.
	Foreground() bool
}

// errRefused: the terminal took nothing, since it is no longer what was looked at.
var errRefused = errors.New("the terminal changed, nothing was typed")

// view is one moment of a terminal.
type view struct {
	Dead, InMode bool
	Screen       screen.Screen
}

// Times of the typing routes. A client redraws within about 20 ms; dialogs flicker
// and people pause between keys, so one quiet look proves nothing.
const (
	settleLooks = 3
	settleEvery = 200 * time.Millisecond
	echoWithin  = 1500 * time.Millisecond // paste to its appearance in the composer
	proofWithin = 2 * time.Second         // Enter to the start of a turn
	lateWithin  = 3 * time.Second         // the same, when the line was taken
	lookEvery   = 50 * time.Millisecond
)

// typist runs one wake on one terminal: quiet looks, paste, look, Enter, proof.
type typist struct {
	terminal terminal
	// facts gathers everything the gate wants, with this moment of the terminal.
	facts func(view) Facts
	// turned reports whether a turn was seen to start since: the client's status
	// changed, a hook ran, or mail was shown.
	turned func(since time.Time) bool
	// typing is told before the first byte goes out and stores that fact.
	typing func() error
	now    func() time.Time
}

// run types the line. It returns as soon as the outcome is known; ctx bounds it.
func (t *typist) run(ctx context.Context) Result {
	verdict, err := t.quiet(ctx)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}
	}
	if !verdict.Do {
		return Result{Outcome: verdict.Outcome, Reason: verdict.Reason}
	}
	if !verdict.EnterOnly {
		if err := t.typing(); err != nil {
			return Result{Outcome: Failed, Reason: fmt.Sprintf("nothing was typed: %v", err)}
		}
		if err := t.terminal.Paste(ctx, Line); err != nil {
			if errors.Is(err, errRefused) {
				return Result{Outcome: Held, Reason: err.Error()}
			}
			// Cut off: whether the line arrived is not known, so it is not repeated.
			return Result{Outcome: TypedNotSubmitted, Reason: err.Error()}
		}
		if r, ok := t.echoed(ctx); !ok {
			return r
		}
	}
	return t.submit(ctx)
}

// quiet asks the gate several times in a row; each time has to say the same yes.
func (t *typist) quiet(ctx context.Context) (Verdict, error) {
	var v Verdict
	for i := range settleLooks {
		if i > 0 {
			if err := pause(ctx, settleEvery); err != nil {
				return v, err
			}
		}
		seen, err := t.terminal.Look(ctx)
		if err != nil {
			return v, err
		}
		if v = Decide(t.facts(seen)); !v.Do {
			return v, nil
		}
	}
	return v, nil
}

// echoed waits until the composer holds exactly our line, and still does a moment
// later: Codex takes an Enter within about 120 ms of a burst of keys for a part of
// it (0.171.0), and a person may be typing.
func (t *typist) echoed(ctx context.Context) (Result, bool) {
	last := "the line did not appear in the composer"
	ok := await(ctx, echoWithin, lookEvery, func() bool {
		ours, why := t.ours(ctx)
		if why != "" {
			last = why
		}
		return ours
	})
	if !ok {
		return Result{Outcome: TypedNotSubmitted, Reason: last}, false
	}
	if err := pause(ctx, settleEvery); err != nil {
		return Result{Outcome: TypedNotSubmitted, Reason: err.Error()}, false
	}
	if ours, why := t.ours(ctx); !ours {
		return Result{Outcome: TypedNotSubmitted, Reason: why}, false
	}
	return Result{}, true
}

const emptyAgain = "the composer is empty again"

// ours looks whether Enter may be pressed: the gate's conditions still hold, with
// exactly our line in the composer.
func (t *typist) ours(ctx context.Context) (bool, string) {
	seen, err := t.terminal.Look(ctx)
	if err != nil {
		return false, err.Error()
	}
	f := t.facts(seen)
	f.Typed, f.TypedJustNow = true, false
	// Mail that was read since the paste would leave our line in the composer, for
	// a person to find in front of the next prompt. A turn for nothing is better.
	f.Unshown = max(f.Unshown, 1)
	switch v := Decide(f); {
	case v.Do && v.EnterOnly:
		return true, ""
	case v.Do:
		return false, emptyAgain
	default:
		return false, v.Reason
	}
}

// submit presses Enter, at most twice, and looks for the start of a turn.
func (t *typist) submit(ctx context.Context) Result {
	reason := ""
	for range 2 {
		pressed := t.now()
		if err := t.terminal.Enter(ctx); err != nil {
			return Result{Outcome: TypedNotSubmitted, Reason: err.Error()}
		}
		if await(ctx, proofWithin, lookEvery, func() bool { return t.submitted(ctx, pressed) }) {
			return Result{Outcome: Submitted}
		}
		// One look more at the deadline decides between "Enter was swallowed" and
		// everything else; only the first is tried again.
		ours, why := t.ours(ctx)
		if !ours {
			return t.late(ctx, pressed, why)
		}
		reason = "Enter was pressed and the line still stands in the composer"
	}
	return Result{Outcome: TypedNotSubmitted, Reason: reason}
}

// late waits a little longer for a line that the client has taken: on a busy
// machine its turn starts late, and there is nothing left to press.
func (t *typist) late(ctx context.Context, pressed time.Time, why string) Result {
	gone := why == emptyAgain
	if gone && await(ctx, lateWithin, lookEvery, func() bool { return t.submitted(ctx, pressed) }) {
		return Result{Outcome: Submitted}
	}
	return Result{Outcome: TypedNotSubmitted, Reason: "no turn was seen to start: " + why, gone: gone}
}

// submitted is the proof: the line has left the composer, and a turn has started.
// A screen that shows a running turn is a start too, since the line can only have
// left by being submitted.
func (t *typist) submitted(ctx context.Context, since time.Time) bool {
	seen, err := t.terminal.Look(ctx)
	if err != nil {
		return false
	}
	f := t.facts(seen)
	c := readComposer(f.Client, f.Screen, f.Rules)
	if isLine(c) {
		return false
	}
	return t.turned(since) || c.State == Busy && f.Status != "waiting"
}

// isLine reports whether the composer holds exactly our line. A narrow terminal
// wraps it, so blanks and line ends do not count.
func isLine(c Composer) bool {
	return c.State == Draft && squash(c.Text) == squash(Line)
}

func squash(s string) string { return strings.Join(strings.Fields(s), "") }

// await asks cond until it says yes, ctx ends, or the time is over.
func await(ctx context.Context, within, every time.Duration, cond func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		if cond() {
			return true
		}
		if pause(ctx, every) != nil {
			return false
		}
	}
}

// pause lets d pass, or fails with the reason why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

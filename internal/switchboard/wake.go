package switchboard

import (
	"context"

	"peermux/registry"
	"peermux/wake"
)

// WakeResult is what a wake of a session came to, or would come to.
type WakeResult struct {
	OK              bool   `json:"ok"`
	Target          string `json:"target"`
	TargetSessionID string `json:"target_session_id,omitempty"`
	wake.Result
}

// Woken reports whether there is nothing left to do: the session was woken, or
// needs no wake.
func (r WakeResult) Woken() bool {
	switch r.Outcome {
	case wake.Submitted, wake.Native, wake.NotNeeded:
		return true
	}
	return false
}

// Wake wakes a session for the mail that waits for it. With explain it wakes
// nobody and tells every fact and the verdict.
func (b *Board) Wake(ctx context.Context, a Actor, target string, explain bool) (WakeResult, error) {
	d, err := b.resolve(a, target)
	if err != nil {
		return WakeResult{}, err
	}
	if d.entry == nil && d.kind == registry.ToSession {
		return WakeResult{}, refuse(CodePeerGone, "%s is not running, so there is nobody to wake; its mail is kept", d.label())
	}
	if d.entry == nil {
		return WakeResult{}, refuse(CodeBadRequest, "%s is no running session, and only those can be woken", d.label())
	}
	r := WakeResult{OK: true, Target: d.label(), TargetSessionID: d.party.SessionID}
	if explain {
		r.Result = b.Waker.Explain(ctx, *d.entry)
	} else {
		r.Result = b.Waker.Wake(ctx, *d.entry, wake.Options{From: a.Box})
	}
	return r, nil
}

package detect

import (
	"fmt"

	"peermux/registry"
)

// byClaim takes the agent's own word.
func byClaim(f Facts, c client) Outcome {
	o := Outcome{Strategy: Claim, Outcome: Abstained}
	switch {
	case f.Claim == "":
		o.Outcome, o.Reason = NotApplicable, "nothing was claimed"
	case !validID(f.Claim):
		o.Reason = fmt.Sprintf("%q is no session id", f.Claim)
	default:
		holder, held, err := ClaimHolder(f.Registry, f.Claim, c.Client)
		switch {
		case err != nil:
			o.Reason = err.Error()
		case held:
			o.Reason = fmt.Sprintf("the live session %s (pid %d) holds that id", holder.Name, holder.PID)
		default:
			o.Outcome, o.SessionID, o.Reason = Fired, f.Claim, "the agent claimed it"
		}
	}
	return o
}

// ClaimHolder finds the live session of another client process that has the id. A
// second server of the same client process is no other holder.
func ClaimHolder(r *registry.Registry, id string, c registry.Client) (registry.Entry, bool, error) {
	e, ok, err := r.BySession(id)
	if err != nil || !ok {
		return registry.Entry{}, false, err
	}
	return e, c.PID == 0 || e.Client.ID() != c.ID(), nil
}

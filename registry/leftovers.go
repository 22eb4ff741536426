package registry

import "peermux/internal/proc"

// Leftovers is what is in the registry and not alive.
type Leftovers struct {
	// Orphans are servers that still run although their client has ended. A server
	// ends by itself within a second, so one that is here hangs.
	Orphans []Entry
	Dead    []Entry // neither server nor client is left
}

// Leftovers lists the entries of sessions that are not alive. It removes nothing.
func (r *Registry) Leftovers() (Leftovers, error) {
	var l Leftovers
	all, err := r.entries()
	if err != nil {
		return l, err
	}
	alive := liveness{}
	for _, e := range all {
		switch {
		case r.judge(e, alive) != dead:
		case e.BootID == r.boot && proc.Alive(e.ID()):
			l.Orphans = append(l.Orphans, e)
		default:
			l.Dead = append(l.Dead, e)
		}
	}
	return l, nil
}

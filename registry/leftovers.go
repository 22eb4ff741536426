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
	all, err := r.survey()
	if err != nil {
		return l, err
	}
	_, boot := r.here()
	for _, s := range all {
		switch {
		case s.verdict != dead:
		case s.BootID == boot && proc.Alive(s.ID()):
			l.Orphans = append(l.Orphans, s.Entry)
		default:
			l.Dead = append(l.Dead, s.Entry)
		}
	}
	return l, nil
}

package mailbox

// Glance is what a list of sessions says about a box.
type Glance struct {
	Unshown int   // what Pending counts
	Tasks   int   // tasks that are not closed
	Asks    []Ask // what OpenAsks lists
}

// Glance finds all of that in one look at what is not settled yet: a list looks at
// hundreds of boxes. It changes nothing.
func (s *Store) Glance(key string) (Glance, error) {
	var g Glance
	p, err := s.box(key)
	if err != nil {
		return g, err
	}
	x, err := s.lookIndex(p)
	if err != nil {
		return g, err
	}
	for _, it := range s.openWork(p, x) {
		if it.Kind == KindTask {
			g.Tasks++
		}
	}
	g.Asks = s.openAsks(x)
	g.Unshown = x.pending()
	return g, nil
}

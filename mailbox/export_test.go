package mailbox

// Queued tells tests how many changes of a box wait for their turn, and whether
// one is under way.
func (s *Store) Queued(key string) (n int, busy bool) {
	p, err := s.box(key)
	if err != nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	queue, busy := s.queues[p.path]
	return len(queue), busy
}

package mailbox

import "bytes"

// Lineage lists a box and the boxes that were moved into it, nearest first. What
// had been shown and settled before a move stays where it was, so whoever looks
// for an old message looks through all of them.
func (s *Store) Lineage(key string) ([]string, error) {
	lineage := []string{key}
	seen := map[string]bool{key: true}
	for i := 0; i < len(lineage); i++ {
		p, err := s.box(lineage[i])
		if err != nil {
			return nil, err
		}
		v, err := s.peek(p, true)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(v.data, []byte(recAdopt)) {
			continue
		}
		var bad int
		eachLine(v.data, func(line []byte) {
			eachRecord(line, func(kind, _, line []byte) {
				if string(kind) != recAdopt {
					return
				}
				if n, ok := parseNote(line); ok && !seen[n.Box] {
					seen[n.Box] = true
					lineage = append(lineage, n.Box)
				}
			}, &bad)
		})
	}
	return lineage, nil
}

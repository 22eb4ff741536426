package registry

import (
	"slices"
	"strings"
)

// maxNear is how many similar names an error suggests.
const maxNear = 3

// Nearest picks the names most similar to the wanted one, best first: within an
// edit distance of a third of its length (at least 2), or containing it.
func Nearest(want string, names []string) []string {
	type scored struct {
		name string
		cost int
	}
	lower := strings.ToLower(want)
	limit := max(2, len([]rune(lower))/3)
	if len([]rune(lower)) <= 3 {
		limit = 1 // two changes make any short word another
	}
	var near []scored
	for _, name := range names {
		other := strings.ToLower(name)
		cost := distance(lower, other)
		if cost > limit && len(lower) >= 3 && strings.Contains(other, lower) {
			cost = limit
		}
		if cost <= limit {
			near = append(near, scored{name, cost})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.cost - b.cost })
	var best []string
	for _, s := range near {
		if len(best) < maxNear && !slices.Contains(best, s.name) {
			best = append(best, s.name)
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	// Three rows of the table: two back for swaps, one back, and the current.
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}

package switchboard

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"peermux/mailbox"
	"peermux/registry"
)

// edge is one open question: from waits for the owner of to.
type edge struct {
	from mailbox.Party
	to   string // box, after moves
	ask  mailbox.Ask
}

// graph is who waits for whom, by box. Only questions of living processes count.
type graph struct {
	edges map[string][]edge
	names map[string]mailbox.Party
	mail  map[string]mailbox.Glance // what else a list says about the boxes
}

// waitGraph reads the open questions of the given sessions.
func (b *Board) waitGraph(live []registry.Entry) (graph, error) {
	g := graph{edges: map[string][]edge{}, names: map[string]mailbox.Party{}, mail: map[string]mailbox.Glance{}}
	glances, errs := make([]mailbox.Glance, len(live)), make([]error, len(live))
	share(len(live), func(i int) { glances[i], errs[i] = b.Store.Glance(live[i].Box) })
	if err := errors.Join(errs...); err != nil {
		return graph{}, storage(err)
	}
	for i, e := range live {
		g.names[e.Box], g.mail[e.Box] = PartyOf(e), glances[i]
		b.addEdges(&g, e.Box, glances[i].Asks)
	}
	return g, nil
}

func (b *Board) addEdges(g *graph, box string, asks []mailbox.Ask) {
	for _, ask := range asks {
		g.edges[box] = append(g.edges[box], edge{from: g.names[box], to: b.Store.Resolve(ask.ToBox), ask: ask})
	}
}

// share does something for each of n, on all processors: a list looks at hundreds
// of sessions, each in several small files.
func share(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}

// ringFrom finds the questions that lead from d back to the box from: the ring
// that a question from there to d would close. It reads only the boxes on the
// way.
func (b *Board) ringFrom(from string, d dest) ([]edge, error) {
	g := graph{edges: map[string][]edge{}, names: map[string]mailbox.Party{d.key: d.party}}
	live, err := b.peek()
	if err != nil {
		return nil, err
	}
	for _, e := range live {
		g.names[e.Box] = PartyOf(e)
	}
	seen := map[string]bool{}
	var failed error
	var walk func(box string) []edge
	walk = func(box string) []edge {
		if seen[box] || failed != nil {
			return nil
		}
		seen[box] = true
		asks, err := b.Store.OpenAsks(box)
		if err != nil {
			failed = storage(err)
			return nil
		}
		b.addEdges(&g, box, asks)
		for _, e := range g.edges[box] {
			if e.to == from {
				return []edge{e}
			}
			if rest := walk(e.to); rest != nil {
				return append([]edge{e}, rest...)
			}
		}
		return nil
	}
	return walk(d.key), failed
}

// ringNames words a ring: the asker, who it would ask, and on until the asker
// again.
func ringNames(self string, ring []edge) []string {
	names := []string{self}
	for _, e := range ring {
		names = append(names, nameOf(e.from, e.ask))
	}
	return append(names, self)
}

func nameOf(p mailbox.Party, ask mailbox.Ask) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.SessionID != "":
		return p.SessionID
	}
	return "the asker of " + ask.ID
}

// rings lists the circles of sessions that wait for each other, each once.
func (g graph) rings() [][]string {
	var rings [][]string
	found := map[string]bool{}
	var path []string
	var walk func(box string)
	walk = func(box string) {
		if at := slices.Index(path, box); at >= 0 {
			ring := slices.Clone(path[at:])
			if key := canonical(ring); !found[key] {
				found[key] = true
				rings = append(rings, g.named(ring))
			}
			return
		}
		path = append(path, box)
		for _, e := range g.edges[box] {
			walk(e.to)
		}
		path = path[:len(path)-1]
	}
	for _, box := range slices.Sorted(mapKeys(g.edges)) {
		walk(box)
	}
	return rings
}

func mapKeys(m map[string][]edge) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// canonical is the same text for the same circle, wherever it was entered.
func canonical(ring []string) string {
	sorted := slices.Clone(ring)
	slices.Sort(sorted)
	text := ""
	for _, box := range sorted {
		text += box + " "
	}
	return text
}

func (g graph) named(ring []string) []string {
	names := make([]string, len(ring))
	for i, box := range ring {
		names[i] = nameOf(g.names[box], mailbox.Ask{ID: box})
	}
	return names
}

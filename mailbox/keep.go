package mailbox

import "time"

// fate is what compaction does with a record.
type fate int

const (
	drop fate = iota
	cold      // kept, but nobody waits for it
	hot       // kept where hooks look
)

// keepers knows which messages and questions a compaction keeps.
type keepers struct {
	messages map[string]fate
	asks     map[string]fate
	sent     map[string]bool
	adopts   map[string]bool
}

// keepers decides for every message: one that waits stays hot; one that is open
// is kept for ever; the rest while it is young and among the last.
func (t *tx) keepers(st *State) keepers {
	k := keepers{
		messages: map[string]fate{}, asks: map[string]fate{}, sent: map[string]bool{}, adopts: map[string]bool{},
	}
	oldest := t.s.now().Add(-keepAge)
	n, size := 0, 0
	for i := len(st.Items) - 1; i >= 0; i-- {
		it := &st.Items[i]
		switch {
		case it.waits(t.p.repo):
			k.messages[it.ID] = hot
		case it.Open(t.p.repo):
			k.messages[it.ID] = cold
		case n < keepCount && size < keepBytes && it.SentAt.After(oldest):
			k.messages[it.ID] = cold
			n++
			size += len(it.Body)
		}
	}
	k.questions(st, oldest)
	for _, box := range st.adopts {
		k.adopts[box] = true
	}
	return k
}

func (k *keepers) questions(st *State, oldest time.Time) {
	ended := 0
	for i := len(st.Asks) - 1; i >= 0; i-- {
		switch a := &st.Asks[i]; {
		case a.Ended == "":
			k.asks[a.ID] = hot
		case ended < keepCount && a.At.After(oldest):
			k.asks[a.ID] = cold
			ended++
		}
	}
	for i := len(st.Sent) - 1; i >= 0 && len(k.sent) < keepCount; i-- {
		if st.Sent[i].At.After(oldest) {
			k.sent[st.Sent[i].ID] = true
		}
	}
}

// fate of one record; last tells whether it is the latest of its sort.
func (k *keepers) fate(kind, id string, last bool) fate {
	switch kind {
	case recMsg, recShown, recDone, recBlocked, recRetracted:
		return k.messages[id]
	case recClaim, recUnclaim:
		if k.messages[id] == hot {
			return hot
		}
		return drop
	case recAnswered:
		return max(k.messages[id], k.asks[id])
	case recAsked, recAskEnded:
		return k.asks[id]
	case recSent:
		if k.sent[id] {
			return cold
		}
		return drop
	case recCursor, recFeedClaim, recFeedUnclaim, recMoved, recAdopt, recAdopted:
		if last {
			return hot
		}
		return drop
	case recCompacted, recHot:
		return drop
	}
	return cold // a type of a later version
}

// lastOnes marks, by their number in the file, the records of which only the
// latest counts: cursors and claims by feed, moves by box.
type lastOnes map[int]bool

func (l lastOnes) is(n int) bool { return l[n] }

func lastNotes(data []byte) lastOnes {
	latest := map[string]int{}
	n, bad := 0, 0
	eachLine(data, func(line []byte) {
		eachRecord(line, func(kind, id, line []byte) {
			switch string(kind) {
			case recCursor, recFeedClaim, recFeedUnclaim, recMoved, recAdopt, recAdopted:
				if r, ok := parseNote(line); ok {
					key := r.T + " " + r.Feed + " " + r.Box
					if r.T == recMoved {
						key = r.T
					}
					latest[key] = n
				}
			}
			n++
		}, &bad)
	})
	last := lastOnes{}
	for _, n := range latest {
		last[n] = true
	}
	return last
}

package mailbox

import (
	"strings"
	"time"
)

const (
	// What is settled stays while it is younger than keepAge and among the last
	// keepCount messages, and as long as those fit in keepBytes.
	keepAge   = 30 * 24 * time.Hour
	keepCount = 1000
	keepBytes = 4 << 20

	// A feed's messages stay for as long, but more of them.
	feedCount = 10_000
	feedBytes = 16 << 20

	// A reader's earlier places in a feed tell what it was shown in its last turn.
	placesAge = 24 * time.Hour
)

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
	// at and askAt are the numbers of the records that count: of several copies,
	// after a move away and back.
	at, askAt map[string]int
	sent      map[string]bool
	latest    map[string]string // of records of which only one counts: its id
	lately    time.Time
}

// keepers decides for every message: one that waits or is open stays hot, for
// ever; the rest stays while it is young and among the last.
func (t *tx) keepers(st *State) keepers {
	k := keepers{
		messages: map[string]fate{}, asks: map[string]fate{}, sent: map[string]bool{},
		at: map[string]int{}, askAt: map[string]int{}, lately: t.s.now().Add(-placesAge),
	}
	now := t.s.now()
	limit := quota{oldest: now.Add(-keepAge), count: keepCount, bytes: keepBytes}
	if t.p.feed {
		limit.count, limit.bytes = feedCount, feedBytes
	}
	for i := len(st.Items) - 1; i >= 0; i-- {
		it := &st.Items[i]
		k.at[it.ID] = it.at
		standing := t.p.feed && t.p.key == FeedRepos && it.Closed == ""
		switch {
		case !t.p.feed && (it.waits(t.p.repo) || it.Open(t.p.repo)):
			k.messages[it.ID] = hot
		case limit.takes(it.SentAt, len(it.Body), standing):
			k.messages[it.ID] = cold
		}
	}
	asks := quota{oldest: now.Add(-keepAge), count: keepCount, bytes: keepBytes}
	for i := len(st.Asks) - 1; i >= 0; i-- {
		a := &st.Asks[i]
		k.askAt[a.ID] = a.at
		if a.Ended == "" {
			k.asks[a.ID] = hot
		} else if a.Ended == recMoved && st.MovedTo == "" {
			continue // it is open elsewhere, and this box lives again
		} else if asks.takes(a.At, 0, false) {
			k.asks[a.ID] = cold
		}
	}
	sent := quota{oldest: now.Add(-keepAge), count: keepCount, bytes: keepBytes}
	for i := len(st.Sent) - 1; i >= 0; i-- {
		if sent.takes(st.Sent[i].At, 0, false) {
			k.sent[st.Sent[i].ID] = true
		}
	}
	return k
}

// quota is filled from the newest to the oldest.
type quota struct {
	oldest time.Time
	count  int
	bytes  int
}

func (q *quota) takes(at time.Time, size int, ageless bool) bool {
	if q.count <= 0 || q.bytes < size || !ageless && at.Before(q.oldest) {
		return false
	}
	q.count--
	q.bytes -= size
	return true
}

// fate of record n.
func (k *keepers) fate(n int, r record) fate {
	id := string(r.id)
	switch r.t {
	case recMsg:
		if n != k.at[id] {
			return drop
		}
		return k.messages[id]
	case recShown, recUnshown, recDone, recBlocked, recRetracted:
		return k.about(n, id)
	case recClaim, recUnclaim:
		if k.about(n, id) == hot {
			return hot
		}
		return drop
	case recAnswered:
		return max(k.about(n, id), k.asks[id])
	case recAsked:
		if n != k.askAt[id] {
			return drop
		}
		return k.asks[id]
	case recAskEnded:
		return k.asks[id]
	case recSent:
		if k.sent[id] {
			return cold
		}
		return drop
	case recCursor, recFeedClaim, recFeedUnclaim, recMoved, recAdopt, recAdopted:
		n, ok := parseNote(r.line)
		switch {
		case ok && k.latest[topic(n)] == n.ID:
			return hot
		case ok && n.T == recCursor && (n.At.After(k.lately) || k.latest[oldPlace(n)] == n.ID):
			return cold
		}
		return drop
	case recCompacted, recHot, recWent:
		return drop // written anew
	}
	return cold // a type of a later version
}

// about is the fate of a record about a message. What was said before it went
// along and came back was said of another copy.
func (k *keepers) about(n int, id string) fate {
	if n < k.at[id] {
		return drop
	}
	return k.messages[id]
}

// latestOf finds, of the records of which only the latest counts, which that is.
// A cursor's is the one that is farthest on; and the last one from before lately says
// where the first one since then has come from.
func latestOf(data []byte, lately time.Time) map[string]string {
	latest := map[string]string{}
	eachRecord(data, func(r record) {
		switch r.t {
		case recCursor, recFeedClaim, recFeedUnclaim, recMoved, recAdopt, recAdopted:
			n, ok := parseNote(r.line)
			if ok && (n.T != recCursor || n.ID > latest[topic(n)]) {
				latest[topic(n)] = n.ID
			}
			if ok && n.T == recCursor && !n.At.After(lately) {
				latest[oldPlace(n)] = max(latest[oldPlace(n)], n.ID)
			}
		}
	})
	return latest
}

// oldPlace is the topic of a reader's places from before lately.
func oldPlace(n note) string { return "old " + topic(n) }

// topic is what kind of thing such a record speaks of: a reader's place in a feed,
// a move to or from a box.
func topic(n note) string {
	if n.T == recMoved {
		return n.T
	}
	return strings.Join([]string{n.T, n.Feed, n.Box}, " ")
}

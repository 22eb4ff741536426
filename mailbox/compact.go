package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/private"
)

const (
	// compactAt is the length of the hot part, in bytes, from which it pays to
	// compact; after that, each time it has doubled.
	compactAt = 256 << 10
	// settledAt is how much that is settled may stand in a box's hot part, which
	// everybody reads at every turn. Compacting costs what stands before the mark, so
	// where that is long, a part of it may.
	settledAt   = 64 << 10
	settledPart = 8
)

// due reports whether compaction pays: in a box the hot part counts, which hooks
// read, in a feed the whole. Compaction takes an fsync, so it is for senders; who
// shows mail in the middle of a turn does it only when no sender came by for long.
func (t *tx) due() bool {
	grown := t.snap.grown(t.p)
	settled := grown - int64(t.idx.bytes)
	if t.hurry {
		grown, settled = grown/2, settled/2
	}
	twice := 2 * t.snap.kept
	return grown > max(compactAt, twice) || !t.p.feed && settled > max(settledAt, t.snap.hot/settledPart, twice)
}

func (v *snapshot) grown(p place) int64 {
	if p.feed {
		return v.size
	}
	return v.size - v.hot
}

// Compact rewrites a box's journal without what nobody needs any more. Append
// does it by itself when the journal has grown.
func (s *Store) Compact(key string) error {
	p, err := s.box(key)
	if err != nil {
		return err
	}
	t, err := s.beginArrived(p)
	if err != nil {
		return absent(err)
	}
	_, err = t.compact()
	return t.abandon(err)
}

// compact replaces the journal, under its lock, by one with the same meaning: the
// settled records first, then a mark, then what still waits. Whoever waits for
// the lock of the old file sees that its name has gone on to another file. A box
// from which mail is on its way to another is left alone: it may be old, but it
// waits.
func (t *tx) compact() (done bool, err error) {
	if leaving, err := t.leaving(); err != nil || leaving {
		return false, err
	}
	v, err := t.whole()
	if err != nil {
		return false, err
	}
	parts := t.divide(v)
	if err := t.replace(parts.file(t.s.stamp(), lastID(t.idx, v.data), t.p.feed), parts.bad); err != nil {
		return false, fmt.Errorf("mailbox: compact: %w", err)
	}
	return true, nil
}

// parts are the lines of a journal by what becomes of them.
type parts struct {
	cold, hot bytes.Buffer
	bad       []byte
}

// file puts the parts together. The header names the offset of the mark with a
// fixed number of digits, since its own length counts.
func (p *parts) file(at time.Time, lastID string, feed bool) []byte {
	kept := p.hot.Len()
	if feed {
		kept = p.cold.Len()
	}
	header := note{T: recCompacted, ID: lastID, Hot: fmt.Sprintf("%012d", 0), At: at}
	header.Kept = fmt.Sprintf("%012d", kept)
	header.Hot = fmt.Sprintf("%012d", len(lines(header))+p.cold.Len())
	var out bytes.Buffer
	encode(&out, header)
	out.Write(p.cold.Bytes())
	encode(&out, note{T: recHot, ID: lastID, At: at})
	out.Write(p.hot.Bytes())
	return out.Bytes()
}

// divide decides, record by record.
func (t *tx) divide(v *snapshot) *parts {
	st := t.s.replay(t.p, v)
	k := t.keepers(st)
	k.latest = latestOf(v.data, k.lately)
	var p parts
	n := 0
	eachRecord(v.data, func(r record) {
		n++
		to := &p.cold
		switch k.fate(n, r) {
		case drop:
			return
		case hot:
			to = &p.hot
		}
		to.Write(r.line)
		to.WriteByte('\n')
	})
	for _, it := range st.Items {
		// The moves themselves are not all kept.
		if it.MovedTo != "" && k.messages[it.ID] != drop {
			encode(&p.cold, note{T: recWent, ID: it.ID, Box: it.MovedTo, Claim: it.moveID, At: t.s.stamp()})
		}
	}
	if st.BadLines > 0 || !bytes.HasSuffix(v.data, []byte{'\n'}) {
		p.bad = badLines(v.data)
	}
	return &p
}

// badLines are the lines of data that are no records, or hold more than one.
func badLines(data []byte) (all []byte) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		unread := 0
		bad := eachRecord(append(line[:len(line):len(line)], '\n'), func(r record) {
			ok := !known(r.t)
			if r.t == recMsg {
				_, ok = parseMessage(r.line)
			} else if !ok {
				_, ok = parseNote(r.line)
			}
			if !ok {
				unread++
			}
		})
		if bad+unread > 0 {
			all = append(append(all, line...), '\n')
		}
	}
	return all
}

// lastID is the greatest message id that the journal has known.
func lastID(x *index, data []byte) string {
	return max(string(x.maxID), newest(data), noID)
}

// setAside adds the lines that are no records to journal.bad: all of them or nothing.
func (t *tx) setAside(bad []byte) error {
	if len(bad) == 0 {
		return nil
	}
	f, err := private.Open(badPath(t.p), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		if _, err = f.Write(bad); err != nil {
			err = errors.Join(err, f.Truncate(st.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// badPath is where a journal's bad lines go.
func badPath(p place) string {
	if p.feed {
		return strings.TrimSuffix(p.path, ".jsonl") + ".bad"
	}
	return filepath.Join(filepath.Dir(p.path), badName)
}

// replace puts data in the journal's place, durably, and removes what a crashed
// compaction of this journal left behind. The bad lines are set aside once data is on
// disk: on a full one compaction fails at each write, and would add them each time.
func (t *tx) replace(data, bad []byte) error {
	dir, name := filepath.Split(t.p.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if private.IsTemp(e.Name()) && strings.HasPrefix(e.Name(), "."+name+".tmp-") {
			if err := remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	tmp := private.TempName(t.p.path)
	f, err := private.Open(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = private.Sync(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = t.setAside(bad)
	}
	if err == nil {
		err = os.Rename(tmp, t.p.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return private.SyncDir(dir)
}

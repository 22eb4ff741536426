package wake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
)

// record is wake/<box>.json: what was done to wake one session lately. A file that
// does not parse counts as empty; nothing but brakes is lost with it.
type record struct {
	V      int    `json:"v"`
	Status string `json:"status,omitempty"` // of the session at the last attempt

	// Wanted: a wake was asked for and mail is still unshown.
	Wanted  bool      `json:"wanted,omitempty"`
	Outcome Outcome   `json:"outcome,omitempty"` // of the last attempt
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when it first ended with this reason
	Tries   int       `json:"tries,omitempty"`
	Next    time.Time `json:"next,omitzero"` // no retry before
	// Reached: the last attempt came through to the client, so another one may
	// only be a second copy of it.
	Reached bool `json:"reached,omitempty"`

	// Typed is when our line was typed and not seen submitted: it may stand in the
	// composer.
	Typed       time.Time    `json:"typed,omitzero"`
	Outstanding *outstanding `json:"outstanding,omitempty"`
	Landed      []landed     `json:"landed,omitempty"` // of the last hour
}

// outstanding is a wake that reached the client and has shown no mail yet.
type outstanding struct {
	At    time.Time `json:"at"`
	Route string    `json:"route"`
}

// landed is one wake that reached the client.
type landed struct {
	At   time.Time `json:"at"`
	From string    `json:"from,omitempty"`
}

const recordVersion = 1

const (
	maxRecord = 64 << 10
	budgetOf  = time.Hour
	// pairBudget is how often one sender may wake one session per hour: enough for
	// a conversation, not for two sessions that only thank each other.
	pairBudget = 20
)

// Reasons that note looks at.
const (
	nothingUnshown = "nothing is unshown"
	isWorking      = "it is working"
)

// Back-off of retries. Arrivals try at once, but do not reset it; only mail that
// was shown does.
const (
	firstRetry = 2 * time.Second
	lastRetry  = time.Minute
	// firstFollow is how long a wake that reached the client may go without any
	// mail being shown before it is repeated.
	firstFollow = time.Minute
	maxFollows  = 4
)

// note brings the record up to date with the outcome of an attempt.
func (rec *record) note(r Result, now time.Time) {
	switch {
	case r.Outcome == NotNeeded && r.Reason == nothingUnshown:
		*rec = record{Landed: rec.Landed}
	case r.Outcome == NotNeeded && r.Reason == isWorking:
		// Its hooks will show the mail. If it has none, the end of the turn is the
		// time to try.
		rec.set(r, now)
		rec.Reached = false
	case r.Outcome == NotNeeded:
	case r.Outcome == Submitted, r.Outcome == Native, r.gone:
		rec.set(r, now)
		rec.Typed, rec.Reached = time.Time{}, true
		rec.Tries++
		rec.Next = now.Add(firstFollow << min(2*rec.Tries-2, 10))
	default:
		rec.Reached = false
		rec.set(r, now)
		rec.Tries++
		rec.Next = now.Add(min(firstRetry<<min(rec.Tries-1, 10), lastRetry))
	}
}

func (rec *record) set(r Result, now time.Time) {
	if !rec.Wanted || rec.Outcome != r.Outcome || rec.Reason != r.Reason {
		rec.Since = now
	}
	rec.Wanted, rec.Outcome, rec.Reason = true, r.Outcome, r.Reason
}

// land counts a wake that reaches the client.
func (rec *record) land(from string, now time.Time) {
	rec.Landed = slices.DeleteFunc(rec.Landed, func(l landed) bool { return now.Sub(l.At) > budgetOf })
	rec.Landed = append(rec.Landed, landed{At: now, From: from})
}

// spent says why no further wake is due in this hour, or "".
func (rec *record) spent(from string, budget int, now time.Time) string {
	all, pair := 0, 0
	for _, l := range rec.Landed {
		if now.Sub(l.At) > budgetOf {
			continue
		}
		all++
		if from != "" && l.From == from {
			pair++
		}
	}
	if all >= budget {
		return fmt.Sprintf("it was woken %d times in the last hour, which is its budget", all)
	}
	if pair >= pairBudget {
		return fmt.Sprintf("it was woken %d times in the last hour by the same sender", pair)
	}
	return ""
}

func (w *Waker) recordPath(box string) string { return filepath.Join(w.Home, "wake", box+".json") }

func (w *Waker) load(box string) (*record, error) {
	data, err := private.ReadFile(w.recordPath(box), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, err
	}
	rec := &record{}
	if json.Unmarshal(data, rec) != nil {
		return &record{}, nil // see record
	}
	return rec, nil
}

func (w *Waker) save(box string, rec *record) error {
	rec.V = recordVersion
	if err := private.Dir(filepath.Join(w.Home, "wake")); err != nil {
		return err
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return private.WriteFile(w.recordPath(box), append(data, '\n'))
}

// lockWithin is longer than any single wake takes.
const (
	lockWithin = 15 * time.Second
	lockEvery  = 10 * time.Millisecond
)

// lock takes the kernel lock locks/<name>.lock; unlock is nil, without an error, when
// another process kept it all the time or ctx ended.
func (w *Waker) lock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(w.Home, "locks")
	if err := private.Dir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name+".lock")
	var held *os.File
	await(ctx, lockWithin, lockEvery, func() bool {
		held, err = tryLock(path)
		return held != nil || err != nil
	})
	if held == nil {
		return nil, err
	}
	return func() { held.Close() }, nil // closing gives the lock back; nothing was written
}

// tryLock takes the lock if it is free; else the file is nil.
func tryLock(path string) (*os.File, error) {
	f, err := private.Open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil && named(f, path):
		return f, nil
	case err == nil, err == unix.EWOULDBLOCK, err == unix.EINTR: // the first: GC has just removed it
		return nil, f.Close()
	default:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
}

// lockName is short, and unique to what it is made of.
func lockName(kind, of string) string {
	sum := sha256.Sum256([]byte(of))
	return fmt.Sprintf("%s-%x", kind, sum[:8])
}

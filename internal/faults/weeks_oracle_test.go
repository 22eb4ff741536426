package faults

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// month is how long it is remembered what is settled.
const month = 30 * 24 * time.Hour

// judgeRead compares what a session was shown with what it was owed.
func (w *weeks) judgeRead(a *agent, got []switchboard.Mail) {
	w.Helper()
	last := map[string]time.Time{} // by where it came from
	for _, m := range got {
		w.shown++
		l := w.letters[m.MessageID]
		if l == nil {
			w.Errorf("day %d: %s is shown %s, which nobody sent", w.day(), a.entry.Name, m.MessageID)
			continue
		}
		place := m.Scope + l.key
		if l.at.Before(last[place]) {
			w.Errorf("day %d: %s is shown %s after a later one", w.day(), a.entry.Name, m.MessageID)
		}
		last[place] = l.at
		switch {
		case l.scope == switchboard.ScopeRepos && a.repo.due[m.MessageID]:
			delete(a.repo.due, m.MessageID)
		case l.scope == "" && l.repo == a.repo && !l.closed && !a.seen[m.MessageID]:
			a.seen[m.MessageID] = true
		case a.due[m.MessageID]:
			delete(a.due, m.MessageID)
		default:
			w.Errorf("day %d: %s is shown %s once more, or it is not for it: %+v", w.day(), a.entry.Name, m.MessageID, *l)
		}
	}
	w.judgeOwed(a)
}

// judgeOwed: after a session has read, it is owed nothing any more. Only broadcasts
// that are older than a month may have gone meanwhile.
func (w *weeks) judgeOwed(a *agent) {
	w.Helper()
	for id := range a.due {
		l := w.letters[id]
		if l.scope == "" || w.now().Sub(l.at) < month {
			w.Errorf("day %d: %s was never shown %s: %+v", w.day(), a.entry.Name, id, *l)
		}
		delete(a.due, id)
	}
	for id := range a.repo.due {
		w.Errorf("day %d: the announcement %s was not shown in %s", w.day(), id, a.repo.root)
		delete(a.repo.due, id)
	}
	for _, id := range w.order {
		if l := w.letters[id]; l.scope == "" && l.repo == a.repo && !l.closed && !a.seen[id] {
			w.Errorf("day %d: %s was not shown %s, which is for its repository", w.day(), a.entry.Name, id)
		}
	}
}

// judgeWork: what was given to a session or its repository is open until it is closed.
func (w *weeks) judgeWork(a *agent) {
	w.Helper()
	work, err := w.board.OpenWork(context.Background(), a.actor())
	w.check("open work", err)
	var open, want []string
	for _, one := range work.Work {
		open = append(open, one.MessageID)
	}
	for id, l := range w.letters {
		if l.task && !l.closed && (l.to == a || l.to == nil && l.repo == a.repo) {
			want = append(want, id)
		}
	}
	slices.Sort(open)
	slices.Sort(want)
	if !slices.Equal(open, want) {
		w.Errorf("day %d: open work of %s is %q, want %q", w.day(), a.entry.Name, open, want)
	}
}

// judgeCursors: places in feeds only go on.
func (w *weeks) judgeCursors(a *agent) {
	w.Helper()
	st, err := w.board.Store.State(a.entry.Box)
	w.check("state", err)
	for feed, before := range a.cursors {
		if now := st.Cursors[feed]; now < before {
			w.Errorf("day %d: the place of %s in %s went back from %s to %q", w.day(), a.entry.Name, feed, before, now)
		}
	}
	a.cursors = st.Cursors
}

// judgeBoxes looks at what a night's gc left of the boxes that were there before.
func (w *weeks) judgeBoxes(before map[string]time.Time, living map[string]bool) {
	w.Helper()
	needed := map[string]bool{}
	owner := map[string]*agent{}
	for _, a := range w.agents {
		owner[a.entry.Box] = a
		needed[a.entry.Box] = living[a.entry.Box]
		for id := range a.due {
			needed[a.entry.Box] = needed[a.entry.Box] || w.letters[id].scope == ""
		}
	}
	for _, l := range w.letters {
		if l.task && !l.closed && l.to != nil {
			needed[l.to.entry.Box] = true
		}
	}
	after := w.boxes()
	for key, changed := range before {
		keeps := month
		if strings.HasPrefix(key, "p-") {
			keeps = 24 * time.Hour
		}
		_, left := after[key]
		if to, moved := w.went[key]; moved {
			if _, was := before[to]; was {
				if _, is := after[to]; is && !left {
					w.Errorf("day %d: box %s is gone, and %s, to which it leads, is not", w.day(), key, to)
				}
				continue
			}
		}
		// A repository's box knows how far the announcements were read.
		wanted := needed[key] || strings.HasPrefix(key, "r-") || w.now().Sub(changed) < keeps
		if left != wanted {
			w.Errorf("day %d: box %s, unchanged for %v: left is %v, want %v", w.day(), key, w.now().Sub(changed), left, wanted)
		}
		if left {
			continue
		}
		w.removed++
		if a := owner[key]; a != nil {
			// With its box went its places: it would begin anew.
			clear(a.cursors)
			clear(a.due)
		}
	}
}

// judgeMemory asks about messages of the last month, and looks for what should have
// been forgotten.
func (w *weeks) judgeMemory() {
	w.Helper()
	for range 20 {
		id := w.order[len(w.order)-1-w.rng.IntN(min(len(w.order), 400))]
		l := w.letters[id]
		if l.scope != "" || w.now().Sub(l.at) > month-24*time.Hour {
			continue
		}
		if it, err := w.board.Store.Find(l.key, id); err != nil || it.ID != id {
			w.Errorf("day %d: what became of %s is not known after %v: %v", w.day(), id, w.now().Sub(l.at), err)
		}
	}
	for dir, age := range map[string]time.Duration{"ended": month, "wake": 7 * 24 * time.Hour, "status": 24 * time.Hour} {
		files, err := filepath.Glob(filepath.Join(w.board.Home, dir, "*"))
		w.check("look into "+dir, err)
		for _, file := range files {
			info, err := os.Stat(file)
			w.check("look at what is remembered", err)
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			alive := slices.ContainsFunc(w.live(), func(a *agent) bool { return a.entry.Box == name })
			if old := w.now().Sub(info.ModTime()); old > age && !alive {
				w.Errorf("day %d: %s is kept after %v", w.day(), file, old)
			}
		}
	}
}

// judgeCompacted: nothing that was settled a month ago is left in a box that has just
// been compacted, and all that is younger.
func (w *weeks) judgeCompacted(a *agent) {
	w.Helper()
	st, err := w.board.Store.State(a.entry.Box)
	w.check("state", err)
	for _, it := range st.Items {
		settled := len(it.Shown) > 0 && !it.Open(false) || it.Closed != ""
		if settled && w.now().Sub(it.SentAt) > month {
			w.Errorf("day %d: %s of %s was settled and is kept after %v", w.day(), it.ID, a.entry.Name, w.now().Sub(it.SentAt))
		}
	}
}

// hooked says that peermux' hooks run in a session, and that it is idle.
func (w *weeks) hooked(a *agent) {
	w.Helper()
	drop := registry.Drop{
		V: 1, Box: a.entry.Box, Client: registry.Claude, SessionID: a.entry.SessionID, Event: "SessionStart", At: w.now(),
		PIDs: []proc.ID{a.entry.Client.ID()}, Hooks: map[string]time.Time{"SessionStart": w.now()},
	}
	w.check("put a drop", w.board.Registry.PutDrop(drop))
	w.check("set the status", w.board.Registry.SetStatus(a.entry.Box, registry.Idle, w.now()))
}

// onBell has a session read when its bell rings, once. What it returns stops that, and
// gives what was read: nothing when the bell did not ring.
func (w *weeks) onBell(a *agent) (rung func() ([]switchboard.Mail, error)) {
	path := mailbox.BellPath(w.board.Home, a.entry.Box)
	before, _ := os.ReadFile(path) // there may be none yet
	type reading struct {
		mail []switchboard.Mail
		err  error
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan reading, 1)
	go func() {
		for ctx.Err() == nil {
			if now, err := os.ReadFile(path); err == nil && string(now) != string(before) {
				res, delivery, err := w.board.Read(ctx, a.actor(), switchboard.ReadRequest{Limit: switchboard.MaxRead, Via: "FileChanged"})
				if err == nil {
					err = delivery.Shown()
				}
				done <- reading{res.Messages, err}
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
		done <- reading{}
	}()
	return func() ([]switchboard.Mail, error) {
		cancel()
		r := <-done
		return r.mail, r.err
	}
}

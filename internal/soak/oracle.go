package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/private"
	"peermux/internal/switchboard"
)

// A log has these lines:
//
//	born PID            a process of this session begins
//	session ID          it is about to go on under this new id, as after /clear
//	cleared ID          this is its id now
//	ack ID NAME         this message to that session was accepted; * is a broadcast
//	out ID              this message was put in front of the model
//	rec ID              and that was recorded
//	saw ID              it was in a list of open work and is being settled
//	refused CODE        a call was refused, as it may be
//	fail TEXT           a call failed, as it may not
//	health FILES ROUTINES BYTES

// verdict is what a soak found.
type verdict struct {
	length                     time.Duration
	kills, clears, sent, shown int
	broadcasts, twice          int
	refused                    map[string]int
	lost, wrong, stuck         []string
	leaked, failed             []string
	filesGrown, routinesGrown  int
	bytesGrown                 int64
}

// good reports whether every promise was kept.
func (v *verdict) good() bool {
	return v.sent > 0 && v.shown > 0 && len(v.lost)+len(v.wrong)+len(v.stuck)+len(v.leaked)+len(v.failed) == 0
}

// What a process may hold more at the end than at the beginning: connections and
// caches that exist once, not once for each message.
const (
	moreFiles    = 4
	moreRoutines = 6
	moreBytes    = 32 << 20
)

// grown compares what a process held at the beginning and at the end.
func (v *verdict) grown(who string, a, b health) {
	files, routines, bytes := b.files-a.files, b.routines-a.routines, int64(b.bytes)-int64(a.bytes)
	v.filesGrown, v.routinesGrown = max(v.filesGrown, files), max(v.routinesGrown, routines)
	v.bytesGrown = max(v.bytesGrown, bytes)
	if files > moreFiles || routines > moreRoutines || bytes > moreBytes {
		v.leaked = append(v.leaked, fmt.Sprintf("%s grew by %d descriptors, %d goroutines, %d KiB", who, files, routines, bytes>>10))
	}
}

// judgeHome looks for what waits or is held although everybody has read everything.
// The sessions still live, so what only the dead leave behind does not excuse it.
func (f *fleet) judgeHome(v *verdict) {
	note := func(err error) {
		if err != nil {
			v.failed = append(v.failed, err.Error())
		}
	}
	boxes, err := f.board.Store.Boxes()
	note(err)
	for _, box := range boxes {
		if box.Unshown > 0 || box.Open > 0 {
			v.stuck = append(v.stuck, fmt.Sprintf("box %s: %d unshown, %d open", box.Key, box.Unshown, box.Open))
		}
		asks, err := f.board.Store.OpenAsks(box.Key)
		note(err)
		for _, ask := range asks {
			v.stuck = append(v.stuck, fmt.Sprintf("box %s: question %s to %s has no end", box.Key, ask.ID, ask.ToName))
		}
		st, err := f.board.Store.State(box.Key)
		note(err)
		if err != nil {
			continue
		}
		for _, it := range st.Items {
			if it.Claimed {
				v.stuck = append(v.stuck, fmt.Sprintf("box %s: %s is still claimed", box.Key, it.ID))
			}
		}
	}
	res, err := f.board.List(context.Background(), f.person(), switchboard.ListRequest{})
	note(err)
	if len(res.Sessions) != f.plan.sessions {
		v.stuck = append(v.stuck, fmt.Sprintf("%d sessions are listed, %d live", len(res.Sessions), f.plan.sessions))
	}
	for _, s := range res.Sessions {
		if len(s.WaitingFor) > 0 {
			v.stuck = append(v.stuck, s.Name+" is listed as waiting")
		}
	}
}

// judgeRest looks at what is left when every process has ended.
func (f *fleet) judgeRest(v *verdict) {
	if err := f.collect(); err != nil {
		v.failed = append(v.failed, err.Error())
	}
	err := filepath.WalkDir(f.plan.home(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		dir := filepath.Base(filepath.Dir(path))
		switch {
		case dir == "sessions" && strings.HasSuffix(path, ".json"):
			v.stuck = append(v.stuck, "entry "+path+" of the dead is left")
		case private.IsTemp(d.Name()):
			v.stuck = append(v.stuck, "temporary file "+path+" is left")
		case dir == "locks" || strings.HasSuffix(path, ".jsonl"):
			return v.judgeLock(path)
		}
		return nil
	})
	if err != nil {
		v.failed = append(v.failed, err.Error())
	}
}

// judgeLock takes the kernel's lock on a file, which nobody can hold any more.
func (v *verdict) judgeLock(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // it was only locked, and that ends here
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		v.stuck = append(v.stuck, "somebody holds the lock on "+path)
		return nil
	}
	return err
}

// showing is one message in front of one session.
type showing struct{ session, id string }

// tally is what all logs say.
type tally struct {
	to    map[string]string // acknowledged message to the session it is for
	from  map[string]string
	out   map[showing]int
	doubt map[showing]int // shown by a process that died before it recorded that
	saw   map[showing]bool
	by    map[string][]string // message to the sessions that it was shown to
}

func (f *fleet) judgeLogs(v *verdict) error {
	t := tally{map[string]string{}, map[string]string{}, map[showing]int{}, map[showing]int{}, map[showing]bool{}, map[string][]string{}}
	v.refused = map[string]int{}
	for n := range f.plan.sessions {
		if err := f.readLog(nameOf(n), &t, v); err != nil {
			return err
		}
		said, err := os.ReadFile(f.plan.log(nameOf(n)) + ".err")
		if err != nil {
			return err
		}
		if len(said) > 0 {
			v.failed = append(v.failed, nameOf(n)+" wrote to standard error: "+string(said))
		}
	}
	for s, times := range t.out {
		t.by[s.id] = append(t.by[s.id], s.session)
		v.shown++
		v.twice += times - 1
		if times > 1+t.doubt[s] {
			v.wrong = append(v.wrong, fmt.Sprintf("%s was shown to %s %d times, %d of them by a process that was killed before it recorded that",
				s.id, s.session, times, t.doubt[s]))
		}
	}
	for s := range t.saw {
		if t.out[s] == 0 {
			t.by[s.id] = append(t.by[s.id], s.session)
			v.shown++
		}
	}
	for id, to := range t.to {
		v.judgeMessage(f, id, to, t)
	}
	return nil
}

// judgeMessage checks that an acknowledged message reached those it was for, and
// nobody else.
func (v *verdict) judgeMessage(f *fleet, id, to string, t tally) {
	got := t.by[id]
	if to != "*" {
		v.sent++
		if !slices.Contains(got, to) {
			v.lost = append(v.lost, fmt.Sprintf("%s from %s to %s", id, t.from[id], to))
		}
		if len(got) > 1 || len(got) == 1 && got[0] != to {
			v.wrong = append(v.wrong, fmt.Sprintf("%s to %s was shown to %v", id, to, got))
		}
		return
	}
	v.broadcasts++
	for n := range f.plan.sessions {
		if name := nameOf(n); name != t.from[id] && !slices.Contains(got, name) {
			v.lost = append(v.lost, fmt.Sprintf("broadcast %s from %s to %s", id, t.from[id], name))
		}
	}
}

func (f *fleet) readLog(name string, t *tally, v *verdict) error {
	file, err := os.Open(f.plan.log(name))
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	open := map[showing]bool{}
	var healths []health
	in := bufio.NewScanner(file)
	for in.Scan() {
		what, rest, _ := strings.Cut(in.Text(), " ")
		at := showing{name, rest}
		switch what {
		case "born":
			for s := range open {
				t.doubt[s]++
			}
			clear(open)
		case "ack":
			id, to, _ := strings.Cut(rest, " ")
			t.to[id], t.from[id] = to, name
		case "out":
			t.out[at]++
			open[at] = true
		case "saw":
			t.saw[at] = true
		case "rec":
			delete(open, at)
		case "cleared":
		case "refused":
			v.refused[rest]++
		case "fail":
			v.failed = append(v.failed, name+": "+rest)
		case "health":
			var h health
			if _, err := fmt.Sscan(rest, &h.files, &h.routines, &h.bytes); err != nil {
				return fmt.Errorf("%s: %q: %w", name, in.Text(), err)
			}
			healths = append(healths, h)
		case "session":
			v.clears++
		default:
			return fmt.Errorf("%s: no word of a log: %q", name, in.Text())
		}
	}
	if len(healths) == 2 {
		v.grown(name, healths[0], healths[1])
	}
	return in.Err()
}

// print shows the verdict as a short table, then the particulars of what failed.
func (v *verdict) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "storm\t%.1f s, %d kills, %d new session ids\n", v.length.Seconds(), v.kills, v.clears)
	fmt.Fprintf(t, "sent\t%d messages, %d broadcasts\n", v.sent, v.broadcasts)
	fmt.Fprintf(t, "shown\t%d\n", v.shown)
	fmt.Fprintf(t, "twice\t%d, all of them after a kill: %v\n", v.twice, len(v.wrong) == 0)
	refused := 0
	for _, n := range v.refused {
		refused += n
	}
	fmt.Fprintf(t, "refused\t%d %v\n", refused, v.refused)
	fmt.Fprintf(t, "lost\t%d\n", len(v.lost))
	fmt.Fprintf(t, "stuck\t%d\n", len(v.stuck))
	fmt.Fprintf(t, "leaked\t%d; grown by %d descriptors, %d goroutines, %d KiB\n",
		len(v.leaked), v.filesGrown, v.routinesGrown, v.bytesGrown>>10)
	word := "verdict\tgood\n"
	if !v.good() {
		word = "verdict\tBAD\n"
	}
	fmt.Fprint(t, word)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, part := range []struct {
		what string
		list []string
	}{{"lost", v.lost}, {"wrong", v.wrong}, {"stuck", v.stuck}, {"leaked", v.leaked}, {"failed", v.failed}} {
		for _, one := range part.list[:min(len(part.list), 20)] {
			if _, err := fmt.Fprintf(w, "%s: %s\n", part.what, one); err != nil {
				return err
			}
		}
	}
	return nil
}

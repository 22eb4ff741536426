package faults

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// order is what a worker process is told, as JSON in its environment.
type order struct {
	Role   string
	Home   string
	Box    string   // where to send, read, or work
	Boxes  []string // for those who move or need several
	Name   string   // of this worker: no two workers have the same
	Feed   string
	Count  int  // how much to do; 0 is until told to stop
	Drain  bool // read until nothing is left, and do not hesitate
	Jump   bool // the clock jumps by up to a day with every look at it
	Sync   bool // fsync each message
	Clumsy bool // give a claim back now and then
	Most   int  // greatest number of messages that a reader takes at once; 0 is 4
}

const orderEnv = "PEERMUX_FAULTS_ORDER"

func TestMain(m *testing.M) {
	spec := os.Getenv(orderEnv)
	if spec == "" {
		os.Exit(m.Run())
	}
	if err := work(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work(spec string) error {
	w := &worker{stopped: make(chan struct{})}
	if err := json.Unmarshal([]byte(spec), &w.order); err != nil {
		return err
	}
	now := time.Now
	if w.Jump {
		now = func() time.Time {
			return time.Now().Add(time.Duration(rand.Int64N(int64(48*time.Hour))) - 24*time.Hour)
		}
	}
	w.now = now
	store, err := mailbox.Open(w.Home, now)
	if err != nil && w.Role != "stranger" { // who looks at that himself
		return err
	}
	w.store = store
	roles := map[string]func() error{
		"send": w.send, "read": w.read, "compact": w.compact, "move": w.move, "follow": w.follow,
		"close": w.close, "say": w.say, "hear": w.hear, "fill": w.fill, "denied": w.denied, "flood": w.flood, "stranger": w.stranger,
	}
	role, ok := roles[w.Role]
	if !ok {
		return fmt.Errorf("no role %q", w.Role)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the end of stdin is the signal to stop
		close(w.stopped)
	}()
	return role()
}

type worker struct {
	order
	now     func() time.Time
	store   *mailbox.Store
	stopped chan struct{}
}

// report tells the test something, with one write. What is in the pipe survives
// a kill.
func report(lines ...string) {
	if len(lines) > 0 {
		fmt.Print(strings.Join(lines, "\n") + "\n")
	}
}

func (w *worker) more(done int) bool {
	select {
	case <-w.stopped:
		return false
	default:
		return w.Count == 0 || done < w.Count
	}
}

// bodyOf makes a body that shows when it is not whole: of any length, sometimes of
// many pages, with its checksum at the end.
func bodyOf(name string, n int) string {
	rnd := rand.New(rand.NewPCG(uint64(n), uint64(len(name))))
	size := rnd.IntN(400)
	if rnd.IntN(20) == 0 {
		size = rnd.IntN(30_000)
	}
	text := fmt.Sprintf("%s %d %s", name, n, strings.Repeat("a line\n", size/7))
	return fmt.Sprintf("%s%x", text, sha256.Sum256([]byte(text)))
}

func wholeBody(body string) bool {
	cut := len(body) - 2*sha256.Size
	return cut > 0 && body[cut:] == fmt.Sprintf("%x", sha256.Sum256([]byte(body[:cut])))
}

// label is the part of a body that names it: sender and number.
func label(body string) string {
	f := strings.SplitN(body, " ", 3)
	if len(f) < 3 {
		return "?"
	}
	if !wholeBody(body) {
		return f[0] + "/" + f[1] + "/damaged"
	}
	return f[0] + "/" + f[1]
}

func (w *worker) send() error {
	for n := 1; w.more(n - 1); {
		m := mailbox.Message{Body: bodyOf(w.Name, n), From: mailbox.Party{Name: w.Name}}
		_, err := w.store.Append(w.Box, &m, mailbox.AppendOptions{NoSync: !w.Sync})
		if errors.Is(err, mailbox.ErrInboxFull) {
			time.Sleep(20 * time.Millisecond) // readers are slower than writers
			continue
		}
		if err != nil {
			return err
		}
		report("ack " + label(m.Body))
		n++
	}
	return nil
}

func (w *worker) read() error {
	return w.showAll(func() (*mailbox.Claim, error) { return w.claim(w.Box) })
}

// follow reads the box that the session is in now.
func (w *worker) follow() error {
	return w.showAll(func() (*mailbox.Claim, error) { return w.claim(w.store.Resolve(w.Box)) })
}

func (w *worker) claim(key string) (*mailbox.Claim, error) {
	return w.store.Claim(key, mailbox.ClaimOptions{Reader: w.Name, Via: "faults", Limit: 1 + rand.IntN(cmp.Or(w.Most, 4))})
}

func (w *worker) hear() error {
	return w.showAll(func() (*mailbox.Claim, error) {
		return w.store.FeedNew(w.Feed, w.Box, mailbox.FeedOptions{Self: "reader", Limit: 1 + rand.IntN(5), FromStart: true})
	})
}

// showAll does what hooks do: claim, put the text out, record that.
func (w *worker) showAll(claim func() (*mailbox.Claim, error)) error {
	for w.more(0) {
		c, err := claim()
		if err != nil {
			return err
		}
		switch {
		case len(c.Messages) == 0 && w.Drain:
			return nil
		case len(c.Messages) == 0:
			time.Sleep(time.Millisecond)
			continue
		case !w.Drain && w.Clumsy && rand.IntN(10) == 0:
			if err := c.Release(); err != nil { // the text could not be put out
				return err
			}
			continue
		}
		var out, rec []string
		for _, it := range c.Messages {
			out = append(out, "out "+label(it.Body))
			rec = append(rec, "rec "+label(it.Body))
		}
		report(out...)
		if err := c.Shown(); err != nil {
			return err
		}
		report(rec...)
	}
	return nil
}

func (w *worker) compact() error {
	for n := 0; w.more(n); n++ {
		for _, key := range w.Boxes {
			if err := w.store.Compact(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// move lets a session go on under one id after the other, as /clear does, and
// sometimes come back to an old one.
func (w *worker) move() error {
	for n := 0; w.more(n); n++ {
		at := w.store.Resolve(w.Box)
		to := w.Boxes[rand.IntN(len(w.Boxes))]
		if to == at {
			continue
		}
		if err := w.store.Move(at, to); err != nil {
			return err
		}
		report("moved " + to)
	}
	return nil
}

// close closes every task it finds, racing with others who do.
func (w *worker) close() error {
	for w.more(0) {
		open, err := w.store.OpenWork(w.Box)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		task := open[rand.IntN(len(open))]
		how := []string{"done", "blocked"}[rand.IntN(2)]
		_, err = w.store.Complete(w.Box, mailbox.Completion{
			Task: task.ID, How: how, By: mailbox.Party{SessionID: w.Name},
			Result: &mailbox.Message{Body: how + " by " + w.Name, From: mailbox.Party{SessionID: w.Name}},
		})
		switch {
		case err == nil:
			report("closed " + task.ID + " " + how)
		case !errors.Is(err, mailbox.ErrAlreadyClosed):
			return err
		}
	}
	return nil
}

func (w *worker) say() error {
	for n := 1; w.more(n - 1); {
		// A feed drops its oldest messages some time, also for those who have not
		// read them. This is not what is tested here, so readers are waited for.
		behind, more, err := w.store.FeedPeek(w.Feed, w.Box, mailbox.FeedOptions{FromStart: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(behind)+more > 200 {
			time.Sleep(time.Millisecond)
			continue
		}
		m := mailbox.Message{Body: bodyOf(w.Name, n), From: mailbox.Party{SessionID: w.Name}}
		if _, err := w.store.Broadcast(w.Feed, &m); err != nil {
			return err
		}
		report("ack " + label(m.Body))
		n++
	}
	return nil
}

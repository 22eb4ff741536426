package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// order is what a worker is told, as JSON in its environment. After that it is led
// through its standard input, a word a line, and answers each with a word of its own
// when that is done: go, quiet (nothing new is begun), close (all that is owed),
// drain (all that waits). The end of its input ends it.
type order struct {
	Dir  string // of the soak
	Name string
	Of   int // how many sessions there are
}

const orderEnv = "PEERMUX_SOAK_ORDER"

func (p plan) home() string             { return filepath.Join(p.dir, "peermux") }
func (p plan) project() string          { return filepath.Join(p.dir, "project") }
func (p plan) log(name string) string   { return filepath.Join(p.dir, name+".log") }
func nameOf(n int) string               { return fmt.Sprintf("w%02d", n) }
func newSession(name string) string     { return name + "-" + strings.ToLower(mailbox.NewID(time.Now())) }
func (w *worker) pause(d time.Duration) { time.Sleep(rand.N(d)) }

// worker is one session: what a client, its MCP server and its hooks do for it.
type worker struct {
	order
	plan  plan
	board *switchboard.Board
	self  proc.Info
	diary *os.File
	quiet atomic.Bool

	mu    sync.Mutex
	entry registry.Entry
}

// boardAt is the switchboard of one process; no terminal of this machine is looked at.
func boardAt(p plan) (*switchboard.Board, error) {
	env := func(key string) string {
		switch key {
		case "HOME":
			return p.dir
		case "TMUX_TMPDIR":
			return filepath.Join(p.dir, "none")
		case "PEERMUX_WAKE":
			return wake.ModeOff
		}
		return ""
	}
	return switchboard.Open(switchboard.Place{Home: p.home(), UserHome: p.dir, Env: env, Now: time.Now})
}

func work(spec string) (code int) {
	w := &worker{}
	err := json.Unmarshal([]byte(spec), &w.order)
	if err == nil {
		w.plan.dir = w.Dir
		err = w.live()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", w.Name, err)
		return 1
	}
	return 0
}

func (w *worker) live() (err error) {
	if w.board, err = boardAt(w.plan); err != nil {
		return err
	}
	defer w.board.Watch.Close()
	if w.self, err = proc.Self(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	defer w.diary.Close() // every line is written at once: nothing is left to fail
	fmt.Println("ready")
	var busy sync.WaitGroup
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch word := in.Text(); word {
		case "go":
			busy.Go(w.act)
			busy.Go(w.hook)
		case "quiet":
			w.quiet.Store(true)
			busy.Wait()
		case "close":
			w.closeAll()
		case "drain":
			w.drain()
		case "health":
			w.health()
		default:
			return fmt.Errorf("told to %q", word)
		}
		fmt.Println(in.Text())
	}
	e := w.current()
	return w.board.Registry.Remove(e.PID, e.Start)
}

// begin registers the session, as it was when the process before this one was killed.
func (w *worker) begin() error {
	last, pending, err := w.remember()
	if err != nil {
		return err
	}
	w.say("born " + fmt.Sprint(w.self.PID))
	if last == "" {
		last = newSession(w.Name)
		w.say("cleared " + last)
	}
	if pending != "" {
		if err := w.board.Store.Move(mailbox.SessionKey(last), mailbox.SessionKey(pending)); err != nil {
			return err
		}
		w.say("cleared " + pending)
		last = pending
	}
	w.entry = registry.Entry{
		PID: w.self.PID, Start: w.self.Start, SessionID: last, SessionSource: "soak",
		Client: registry.Client{Kind: registry.Claude, PID: w.self.PID, Start: w.self.Start, Mode: registry.Interactive},
		Box:    mailbox.SessionKey(last), Name: w.Name, CWD: w.plan.project(), Project: w.plan.project(), StartedAt: time.Now(),
	}
	if w.entry, err = w.board.Register(w.entry, ""); err != nil {
		return err
	}
	w.read() // a first look gives the session its place in the feeds
	return nil
}

// remember finds in the log the session that this worker was, and the one that it was
// about to become.
func (w *worker) remember() (last, pending string, err error) {
	w.diary, err = os.OpenFile(w.plan.log(w.Name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", "", err
	}
	in := bufio.NewScanner(w.diary)
	for in.Scan() {
		what, id, _ := strings.Cut(in.Text(), " ")
		switch what {
		case "session":
			pending = id
		case "cleared":
			last, pending = id, ""
		}
	}
	return last, pending, in.Err()
}

// say writes lines into the log, with one write.
func (w *worker) say(lines ...string) {
	if len(lines) == 0 {
		return
	}
	if _, err := w.diary.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		panic("a log that cannot be written proves nothing: " + err.Error())
	}
}

func (w *worker) current() registry.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entry
}

func (w *worker) actor() switchboard.Actor { return switchboard.ActorOf(w.current(), w.self.ID) }

// peer picks another session at random.
func (w *worker) peer() string {
	for {
		if name := nameOf(rand.IntN(w.Of)); name != w.Name {
			return name
		}
	}
}

// closeAll brings to an end what this session owes. What it sends makes no new debts.
func (w *worker) closeAll() {
	for range 1000 {
		res, err := w.board.OpenWork(context.Background(), w.actor())
		if w.failed("open work", err) || res.Count == 0 {
			return
		}
		for _, one := range res.Work {
			w.takeUp(one)
		}
	}
	w.say("fail open work does not end")
}

// drain reads until nothing waits.
func (w *worker) drain() {
	for w.read() > 0 {
	}
}

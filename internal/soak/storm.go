package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"peermux/internal/switchboard"
	"peermux/internal/tui"
	"peermux/mailbox"
	"peermux/registry"
)

// plan is one soak.
type plan struct {
	dir      string // of its own, with a real path
	program  string // to start as a worker
	sessions int
	length   time.Duration
	pause    time.Duration // mean, between two kills
}

// patience is how long a worker may take for one step before it counts as stuck.
const patience = 90 * time.Second

// process is a worker that runs.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	words  chan string
	stderr *os.File
}

func (p plan) start(name string) (*process, error) {
	spec, err := json.Marshal(order{Dir: p.dir, Name: name, Of: p.sessions})
	if err != nil {
		return nil, err
	}
	w := &process{name: name, cmd: exec.Command(p.program), words: make(chan string, 8)}
	w.cmd.Env = append(os.Environ(), orderEnv+"="+string(spec), "HOME="+p.dir, "PEERMUX_HOME="+p.home())
	w.cmd.Dir = p.project()
	if w.stderr, err = os.OpenFile(p.log(name)+".err", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	defer w.stderr.Close() // only the worker writes there
	w.cmd.Stderr = w.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.words)
		for in := bufio.NewScanner(out); in.Scan(); {
			w.words <- in.Text()
		}
	}()
	return w, nil
}

// tell has the worker do a step; hear waits until it is done.
func (w *process) tell(word string) error {
	_, err := io.WriteString(w.stdin, word+"\n")
	return err
}

func (w *process) hear(word string) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case got, ok := <-w.words:
		if !ok || got != word {
			return fmt.Errorf("%s said %q instead of %q", w.name, got, word)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("%s is stuck: no %q within %v", w.name, word, patience)
	}
}

// kill ends the worker with SIGKILL and reaps it.
func (w *process) kill() error {
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	for range w.words { // read to the end, as Wait wants it
	}
	// Its error is that it was killed.
	_ = w.cmd.Wait()
	return nil
}

// fleet is all workers.
type fleet struct {
	plan    plan
	board   *switchboard.Board
	workers []*process
	kills   int
}

// storm runs a soak and judges it.
func storm(ctx context.Context, p plan) (v verdict, err error) {
	if err := os.Mkdir(p.project(), 0o700); err != nil {
		return v, err
	}
	board, err := boardAt(p)
	if err != nil {
		return v, err
	}
	defer board.Watch.Close()
	f := &fleet{plan: p, board: board}
	defer func() { err = errors.Join(err, f.killAll()) }()
	if err := f.startAll(); err != nil {
		return v, err
	}
	before, err := measure()
	if err != nil {
		return v, err
	}
	begun := time.Now()
	if err := f.rage(ctx); err != nil {
		return v, err
	}
	v.length = time.Since(begun)
	for _, step := range []string{"quiet", "close", "drain", "health"} {
		if err := f.all(step); err != nil {
			return v, err
		}
	}
	f.judgeHome(&v)
	f.end(&v)
	v.kills = f.kills
	after, err := measure()
	if err != nil {
		return v, err
	}
	v.grown("the parent", before, after)
	return v, f.judgeLogs(&v)
}

func (f *fleet) startAll() error {
	for n := range f.plan.sessions {
		w, err := f.plan.start(nameOf(n))
		if err != nil {
			return err
		}
		f.workers = append(f.workers, w)
	}
	for _, w := range f.workers {
		if err := w.hear("ready"); err != nil {
			return err
		}
	}
	// The first one is never killed: what it holds is compared with the end.
	if err := f.step(f.workers[0], "health"); err != nil {
		return err
	}
	// Everybody has a place in the feeds before anybody broadcasts.
	return f.all("go")
}

func (f *fleet) step(w *process, word string) error {
	return errors.Join(w.tell(word), w.hear(word))
}

func (f *fleet) all(word string) error {
	for _, w := range f.workers {
		if err := w.tell(word); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	for _, w := range f.workers {
		if err := w.hear(word); err != nil {
			return err
		}
	}
	return nil
}

// rage kills and starts again, while others look and tidy up, until the time is over.
func (f *fleet) rage(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.plan.length)
	defer cancel()
	var beside sync.WaitGroup
	errs := make([]error, 3)
	for i, one := range []func(context.Context) error{f.tidy, f.look, f.top} {
		beside.Go(func() { errs[i] = one(ctx) })
	}
	err := f.harass(ctx)
	cancel()
	beside.Wait()
	return errors.Join(append(errs, err)...)
}

// harass kills one to three sessions at a time, and starts them again, all at once.
func (f *fleet) harass(ctx context.Context) error {
	for wait(ctx, rand.N(2*f.plan.pause)) {
		victims := rand.Perm(f.plan.sessions - 1)[:1+rand.IntN(min(3, f.plan.sessions-1))]
		for _, n := range victims {
			f.kills++
			if err := f.workers[n+1].kill(); err != nil {
				return err
			}
		}
		for _, n := range victims {
			w, err := f.plan.start(nameOf(n + 1))
			if err != nil {
				return err
			}
			f.workers[n+1] = w
		}
		for _, n := range victims {
			w := f.workers[n+1]
			if err := errors.Join(w.hear("ready"), f.step(w, "go")); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait reports whether the time is not over yet.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// tidy does what `peermux gc` does, and compacts boxes that need it or not.
func (f *fleet) tidy(ctx context.Context) error {
	for wait(ctx, rand.N(300*time.Millisecond)) {
		if err := f.collect(); err != nil {
			return err
		}
		live, err := f.board.Registry.Peek()
		if err != nil {
			return err
		}
		for _, e := range live {
			if rand.IntN(4) > 0 || ctx.Err() != nil {
				continue
			}
			if err := f.board.Store.Compact(f.board.Store.Resolve(e.Box)); err != nil {
				return fmt.Errorf("compact: %w", err)
			}
		}
	}
	return nil
}

func (f *fleet) collect() error {
	if err := f.board.Registry.Sweep(); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	live, err := f.board.Registry.Peek()
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, e := range live {
		keep[e.Box] = true
	}
	living := func(key string) bool { return keep[key] }
	if _, err := f.board.Store.GC(mailbox.GCOptions{Keep: living}); err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	if _, err := f.board.Waker.GC(false, living); err != nil {
		return fmt.Errorf("gc of wake records: %w", err)
	}
	return nil
}

// person is who looks: the one at the keyboard.
func (f *fleet) person() switchboard.Actor {
	return switchboard.Actor{
		Party: mailbox.Party{Name: "user", Client: "user", Box: mailbox.UserKey(""), Project: f.plan.project()},
		Kind:  registry.ToUser, Dir: f.plan.project(),
	}
}

// look lists the sessions and counts what waits. Whom it sees may die meanwhile.
func (f *fleet) look(ctx context.Context) error {
	for wait(ctx, rand.N(500*time.Millisecond)) {
		res, err := f.board.List(context.WithoutCancel(ctx), f.person(), switchboard.ListRequest{})
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if n := len(res.Sessions); n > f.plan.sessions {
			return fmt.Errorf("list shows %d sessions of %d", n, f.plan.sessions)
		}
		if _, err := f.board.Count(ctx, ""); err != nil {
			return fmt.Errorf("count: %w", err)
		}
	}
	return nil
}

// top is `peermux top --plain`, for as long as the storm lasts.
func (f *fleet) top(ctx context.Context) error {
	err := tui.Plain(ctx, tui.Options{Board: f.board, Actor: f.person(), Now: time.Now}, io.Discard)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}

// end lets the workers go. One that does not is a leak.
func (f *fleet) end(v *verdict) {
	for _, w := range f.workers {
		if err := w.stdin.Close(); err != nil {
			v.stuck = append(v.stuck, fmt.Sprintf("%s: %v", w.name, err))
		}
	}
	for _, w := range f.workers {
		hung := time.AfterFunc(patience, func() {
			// It may end at this very moment: Wait tells.
			_ = w.cmd.Process.Kill()
		})
		for range w.words {
		}
		err := w.cmd.Wait()
		if !hung.Stop() {
			v.leaked = append(v.leaked, w.name+" does not end")
		} else if err != nil {
			v.failed = append(v.failed, fmt.Sprintf("%s ended with: %v", w.name, err))
		}
	}
	f.workers = nil
	f.judgeRest(v)
}

// killAll is for a soak that ended half way.
func (f *fleet) killAll() error {
	var errs []error
	for _, w := range f.workers {
		if err := w.kill(); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

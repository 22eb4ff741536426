package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/tmux"
	"peermux/internal/watch"
	"peermux/registry"
)

// Fleet starts and ends plans.
type Fleet struct {
	Home     string // of peermux
	Registry *registry.Registry
	Watch    *watch.Watcher
	Tmux     *tmux.Runner
	Wait     time.Duration // for each session to come up
	Say      func(format string, args ...any)
}

// started is one pane that is ours to end.
type started struct {
	Name string  `json:"name"`
	Pane string  `json:"pane"`
	Proc proc.ID `json:"proc"` // the process that tmux started in it
}

// record is what fleets/<session>.json holds.
type record struct {
	Session   string    `json:"session"`
	Socket    string    `json:"socket"`
	ServerPID int       `json:"server_pid"`
	Panes     []started `json:"panes"`
}

// Up starts the agents of a plan that do not run yet and waits until each is in
// the registry. An agent that is a plain command is not waited for: it need not
// know peermux.
func (f *Fleet) Up(ctx context.Context, p Plan) error {
	unlock, err := f.lock(p.Session)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := f.load(p.Session)
	if err != nil {
		return err
	}
	rec = f.living(ctx, rec)
	if len(rec.Panes) == 0 {
		taken, err := f.Tmux.HasSession(ctx, p.Session)
		if err != nil && !errors.Is(err, tmux.ErrNoServer) {
			return err
		}
		if taken {
			return fmt.Errorf("a tmux session called %s runs already and was not started here; name another one in the file (session = …)", p.Session)
		}
	}
	rec.Session = p.Session
	var waiting []Agent
	for _, a := range p.Agents {
		if slices.ContainsFunc(rec.Panes, func(s started) bool { return s.Name == a.Name }) {
			f.Say("%s runs already", a.Name)
			continue
		}
		if err := f.startAgent(ctx, p, a, &rec); err != nil {
			return fmt.Errorf("%s: %w; what was started before it runs, and peermux down ends it", a.Name, err)
		}
		if a.Client != "" {
			waiting = append(waiting, a)
		}
	}
	return f.awaitAll(ctx, waiting, rec)
}

// awaitAll says of those that do not come whether there is a pane to look into.
func (f *Fleet) awaitAll(ctx context.Context, agents []Agent, rec record) error {
	var ended, late []string
	for _, a := range agents {
		switch err := f.await(ctx, a, rec); {
		case errors.Is(err, errEnded):
			ended = append(ended, a.Name)
		case err != nil:
			late = append(late, a.Name)
		}
	}
	var errs []error
	if len(ended) > 0 {
		errs = append(errs, fmt.Errorf("%s ended before it was ready: run its command by hand to see why", strings.Join(ended, ", ")))
	}
	if len(late) > 0 {
		errs = append(errs, fmt.Errorf("%s did not appear within %s: look into the pane (a first-run dialog?), or run peermux doctor", strings.Join(late, ", "), f.Wait))
	}
	return errors.Join(errs...)
}

var errEnded = errors.New("the process in its pane has ended")

func (f *Fleet) startAgent(ctx context.Context, p Plan, a Agent, rec *record) error {
	if err := a.makeWorktree(ctx, p.File); err != nil {
		return err
	}
	pane, err := f.open(ctx, p, a, *rec)
	if err != nil {
		return err
	}
	info, err := proc.Stat(pane.PID)
	if err != nil || pane.Dead {
		return fmt.Errorf("%s ended at once", a.Command[0])
	}
	rec.Socket, rec.ServerPID = pane.Socket, pane.ServerPID
	rec.Panes = append(rec.Panes, started{a.Name, pane.ID, info.ID})
	if err := f.save(*rec); err != nil {
		return errors.Join(err, f.Tmux.KillPane(ctx, pane.ID))
	}
	f.Say("%s starts in %s (%s)", a.Name, a.Dir, pane.ID)
	return nil
}

// open makes the agent's pane: the session's first one, a window, or a split.
func (f *Fleet) open(ctx context.Context, p Plan, a Agent, rec record) (tmux.Pane, error) {
	o := tmux.SessionOptions{Name: a.Name, Dir: a.Dir, Command: a.Command}
	if a.Client == "claude" {
		// Codex's sessions share one process, whose environment names none of them.
		o.Env = []string{"PEERMUX_NAME=" + a.Name}
	}
	switch {
	case len(rec.Panes) == 0:
		o.Name = p.Session
		pane, err := f.Tmux.NewSession(ctx, o)
		if err != nil {
			return pane, err
		}
		return pane, f.Tmux.RenameWindow(ctx, pane.ID, windowName(p, a))
	case p.Layout == Windows:
		return f.Tmux.NewWindow(ctx, p.Session, o)
	}
	pane, err := f.Tmux.SplitWindow(ctx, rec.Panes[0].Pane, o)
	if err != nil {
		return pane, err
	}
	return pane, f.Tmux.SelectLayout(ctx, pane.ID, p.Layout)
}

func windowName(p Plan, a Agent) string {
	if p.Layout == Windows {
		return a.Name
	}
	return p.Session
}

// await waits for the entry of an agent: a session whose client runs in its pane.
// A client that ends instead, such as one that is offline, is [errEnded].
func (f *Fleet) await(ctx context.Context, a Agent, rec record) error {
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	events, stop := f.Watch.Dir(filepath.Join(f.Home, "sessions"))
	defer stop()
	i := slices.IndexFunc(rec.Panes, func(s started) bool { return s.Name == a.Name })
	gone, halt := watch.Process(rec.Panes[i].Proc)
	defer halt()
	for {
		if e, ok := f.entryIn(rec.Panes[i]); ok {
			f.Say("%s is here as %s", a.Name, e.Name)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gone:
			return errEnded
		case <-events:
		}
	}
}

func (f *Fleet) entryIn(s started) (registry.Entry, bool) {
	live, err := f.Registry.Peek()
	if err != nil {
		return registry.Entry{}, false
	}
	for _, e := range live {
		if e.Tmux != nil && e.Tmux.Pane == s.Pane || e.Client.ID() == s.Proc {
			return e, true
		}
		chain, err := proc.Ancestors(e.Client.PID)
		if err == nil && slices.ContainsFunc(chain, func(i proc.Info) bool { return i.ID == s.Proc }) {
			return e, true
		}
	}
	return registry.Entry{}, false
}

// Down ends the panes of a fleet that are still what was started.
func (f *Fleet) Down(ctx context.Context, session string) (ended int, err error) {
	unlock, err := f.lock(session)
	if err != nil {
		return 0, err
	}
	defer unlock()
	rec, err := f.load(session)
	if err != nil {
		return 0, err
	}
	rec = f.living(ctx, rec)
	runner := *f.Tmux
	runner.Socket = rec.Socket
	for _, s := range rec.Panes {
		if err := runner.KillPane(ctx, s.Pane); err != nil {
			return ended, fmt.Errorf("%s: %w", s.Name, err)
		}
		f.Say("%s ended", s.Name)
		ended++
	}
	if err := os.Remove(f.path(session)); !errors.Is(err, fs.ErrNotExist) {
		return ended, err
	}
	return ended, nil
}

// living keeps the panes that are still there with the process that was started
// in them, on the same tmux server: ids are used again after a restart.
func (f *Fleet) living(ctx context.Context, rec record) record {
	runner := *f.Tmux
	if rec.Socket != "" {
		runner.Socket = rec.Socket
	}
	rec.Panes = slices.DeleteFunc(slices.Clone(rec.Panes), func(s started) bool {
		pane, err := runner.Pane(ctx, s.Pane)
		return err != nil || pane.Dead || pane.PID != s.Proc.PID || pane.ServerPID != rec.ServerPID || !proc.Alive(s.Proc)
	})
	return rec
}

// Sessions lists the fleets that were started and not ended.
func (f *Fleet) Sessions() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(f.Home, "fleets"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names, err
}

func (f *Fleet) path(session string) string {
	return filepath.Join(f.Home, "fleets", session+".json")
}

func (f *Fleet) lock(session string) (unlock func(), err error) {
	for _, dir := range []string{f.Home, filepath.Join(f.Home, "fleets")} {
		if err := private.Dir(dir); err != nil {
			return nil, err
		}
	}
	return private.Lock(filepath.Join(f.Home, "fleets", session+".lock"))
}

func (f *Fleet) load(session string) (record, error) {
	var rec record
	data, err := private.ReadFile(f.path(session), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return record{}, fmt.Errorf("%s is damaged: %w; end the panes by hand and remove the file", f.path(session), err)
	}
	return rec, nil
}

func (f *Fleet) save(rec record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return private.WriteFile(f.path(rec.Session), append(data, '\n'))
}

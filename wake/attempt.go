package wake

import (
	"context"
	"time"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/registry"
)

// attempt is one climb of the ladder. The lock of the box is held all the time.
type attempt struct {
	*Waker
	entry   registry.Entry
	from    string // box of the sender, "" for a retry
	rec     *record
	config  config
	status  detect.Status
	vimKeys *bool // see vim
}

// route tries one way. Unless it was taken (ok), its reason tells why not, and
// the next one is tried.
type route func(ctx context.Context) (r Result, ok bool)

const noRoute = "there is no native route, no PTY host and no tmux pane"

func (a *attempt) run(ctx context.Context) Result {
	if r, stop := a.preflight(); stop {
		return r
	}
	last := Result{Outcome: NoRoute, Reason: noRoute}
	for _, route := range a.routes() {
		r, ok := route(ctx)
		if ok {
			return r
		}
		// What broke tells more than that another way is not there.
		if r.Reason != "" && (r.Outcome == Failed || last.Outcome != Failed) {
			last = r
		}
	}
	return last
}

// preflight asks everything that does not depend on a route.
func (a *attempt) preflight() (r Result, stop bool) {
	now := a.Now()
	// A wrong file counts as none: it must neither be half obeyed nor stop the
	// native routes. Explain says what is wrong with it.
	a.config, _ = loadConfig(a.Home)
	unshown, err := a.Waker.unshown(a.entry, a.config)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}, true
	}
	a.status = a.statusOf(a.entry)
	a.rec.Status = a.status.Word
	switch {
	case unshown.none():
		return Result{Outcome: NotNeeded, Reason: nothingUnshown}, true
	case !proc.Alive(a.entry.Client.ID()):
		return Result{Outcome: NoRoute, Reason: "the session is not running"}, true
	case !a.entry.Listed():
		return Result{Outcome: NoRoute, Reason: "nobody sits at it (" + a.entry.Client.Mode + ")"}, true
	case a.status.Word == registry.Working:
		return Result{Outcome: NotNeeded, Reason: isWorking}, true
	case a.underWay(now):
		return Result{Outcome: NotNeeded, Reason: "a wake is already on its way"}, true
	}
	if why := a.rec.spent(a.from, a.config.BudgetPerHour, now); why != "" {
		return Result{Outcome: Held, Reason: why}, true
	}
	return Result{}, false
}

const (
	// queueKept: Codex keeps a queued message until the thread takes it, so a
	// second one would only make a second turn.
	queueKept = 10 * time.Minute
	// turnSettle: between Enter and the hook that says "working" a session still
	// looks idle.
	turnSettle = 1500 * time.Millisecond
)

// underWay reports whether an earlier wake reached the client and neither showed
// mail, nor led to a turn, nor is too old to count.
func (a *attempt) underWay(now time.Time) bool {
	o := a.rec.Outstanding
	if o == nil {
		return false
	}
	until := o.At.Add(firstFollow)
	if o.Route == routeQueue {
		until = o.At.Add(queueKept)
	}
	if !now.Before(until) || a.turnedSince(o.At.Add(turnSettle)) || a.shownSince(o.At) {
		a.rec.Outstanding = nil
		return false
	}
	a.rec.Next = until
	return true
}

// turnedSince reports whether the session's status changed after t.
func (a *attempt) turnedSince(t time.Time) bool {
	s := a.statusOf(a.entry)
	return s.Since.After(t)
}

// shownSince reports whether any mail of the box, or any broadcast, was shown after
// t.
func (a *attempt) shownSince(t time.Time) bool {
	if a.Store.FeedsShownSince(a.entry.Box, t) {
		return true
	}
	shown, err := a.Store.ShownSince(a.entry.Box, t)
	return err == nil && shown
}

// routes lists what may be tried for this client, in order.
func (a *attempt) routes() []route {
	var native, typed []route
	switch a.entry.Client.Kind {
	case registry.Claude:
		native = []route{a.bell}
	case registry.Codex:
		native = []route{a.queue}
	}
	for _, find := range a.terminals() {
		typed = append(typed, a.typed(find))
	}
	switch a.Mode {
	case ModeNative:
		return native
	case ModeTmux:
		return typed
	}
	return append(native, typed...)
}

// finder looks for a terminal that is proven to be the client's, and says how it
// was proven, or why there is none.
type finder func(ctx context.Context) (t terminal, route, why string)

// terminals lists where the client may be typed at.
func (a *attempt) terminals() []finder {
	return []finder{a.findHost, a.findPane}
}

// typed is the route that types into what find finds.
func (a *attempt) typed(find finder) route {
	return func(ctx context.Context) (Result, bool) {
		term, name, why := find(ctx)
		if term == nil {
			return Result{Outcome: NoRoute, Reason: why}, false
		}
		return a.typeInto(ctx, name, term), true
	}
}

// statusOf asks the client's own record of its state, then its hooks.
func (w *Waker) statusOf(e registry.Entry) detect.Status {
	return detect.StatusOf(e, w.Registry, detect.StatusFacts{Env: w.clientEnv(e), Now: w.Now})
}

// clientEnv reads the environment of the client's process where the system shows
// it (Linux), since its folders need not be ours; else the caller's.
func (w *Waker) clientEnv(e registry.Entry) func(string) string {
	vars := proc.Env(e.Client.PID, "HOME", "PATH", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "TMUX", "PEERMUX_PTY_HOST")
	if len(vars) == 0 {
		return w.Env
	}
	return func(key string) string { return vars[key] }
}

// typeInto runs the gate and the keys on one terminal, under its own lock.
func (a *attempt) typeInto(ctx context.Context, route string, term terminal) Result {
	unlock, err := a.lock(ctx, term.Name())
	if err != nil {
		return Result{Outcome: Failed, Route: route, Reason: err.Error()}
	}
	if unlock == nil {
		return Result{Outcome: Held, Route: route, Reason: "somebody else is waking a session in the same terminal"}
	}
	defer unlock()
	began := a.Now()
	t := &typist{
		terminal: term,
		facts:    func(v view) Facts { return a.facts(v, term) },
		turned:   func(since time.Time) bool { return a.turnedSince(since) || a.unshown() == 0 },
		typing: func() error {
			a.rec.Typed = a.Now()
			a.rec.land(a.from, a.Now())
			return a.save(a.entry.Box, a.rec)
		},
		now: a.Now,
	}
	r := t.run(ctx)
	r.Route = route
	if r.Outcome == Submitted {
		a.rec.Outstanding = &outstanding{At: began, Route: route}
	}
	return r
}

// facts gathers what the gate looks at, now.
func (a *attempt) facts(v view, term terminal) Facts {
	a.status = a.statusOf(a.entry)
	return Facts{
		Client:       a.entry.Client.Kind,
		ClientAlive:  proc.Alive(a.entry.Client.ID()),
		Headless:     !a.entry.Listed(),
		Unshown:      a.unshown(),
		Status:       a.status.Word,
		WaitingFor:   a.status.WaitingFor,
		Terminal:     true,
		Dead:         v.Dead,
		InMode:       v.InMode,
		Foreground:   term.Foreground(),
		Vim:          a.vim(),
		Screen:       v.Screen,
		Rules:        a.config.Client,
		Typed:        !a.rec.Typed.IsZero(),
		TypedJustNow: a.Now().Sub(a.rec.Typed) < turnSettle,
	}
}

// left is what waits still; a box that cannot be read has nothing to wake for.
func (a *attempt) left() unshown {
	u, err := a.Waker.unshown(a.entry, a.config)
	if err != nil {
		return unshown{}
	}
	return u
}

// unshown counts what waits still.
func (a *attempt) unshown() int {
	u := a.left()
	return u.mail + u.broadcasts
}

package wake

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"peermux/detect"
	"peermux/internal/proc"
	"peermux/registry"
)

// Explain gathers every fact that a wake would look at, with its source, and the
// verdict; it wakes nobody and writes nothing. The outcome is what Wake would try
// for: submitted or native where it would act, else what it would answer.
func (w *Waker) Explain(ctx context.Context, e registry.Entry) Result {
	rec, err := w.load(e.Box)
	if err != nil {
		return Result{Outcome: Failed, Reason: err.Error()}
	}
	a := &attempt{Waker: w, entry: e, rec: rec}
	x := &explanation{attempt: a}
	x.general()
	r, stop := a.preflight()
	if why := w.off(); why != "" {
		r, stop = Result{Outcome: NoRoute, Reason: why}, true
	}
	planned := x.plan(ctx)
	if !stop {
		r = planned
	}
	r.Facts = x.facts
	return r
}

// explanation collects facts.
type explanation struct {
	*attempt
	facts []Fact
}

func (x *explanation) add(name, source, format string, args ...any) {
	x.facts = append(x.facts, Fact{Name: name, Value: fmt.Sprintf(format, args...), Source: source})
}

func (x *explanation) general() {
	e := x.entry
	mode := x.Mode
	if mode == "" {
		mode = ModeAuto
	}
	x.add("mode", "PEERMUX_WAKE", "%s", mode)
	x.add("client", "registry", "%s pid %d, %s", e.Client.Kind, e.Client.PID, orUnknown(e.Client.Mode))
	x.add("alive", "kernel", "%s", yes(proc.Alive(e.Client.ID())))
	config, configErr := loadConfig(x.Home)
	if u, err := x.Waker.unshown(e, config); err != nil {
		x.add("unshown", "mailbox", "not readable: %v", err)
	} else {
		x.add("unshown", "mailbox", "%d", u.mail)
		if config.Broadcast.Wake == broadcastHigh {
			x.add("urgent broadcasts", "feeds", "%d", u.broadcasts)
		}
	}
	s := x.statusOf(e)
	status := s.Word
	if s.WaitingFor != "" {
		status += " (" + s.WaitingFor + ")"
	}
	if !s.Since.IsZero() {
		status += " since " + s.Since.Format(time.TimeOnly)
	}
	x.add("status", s.Source, "%s", status)
	if configErr != nil {
		x.add("wake.toml", "file", "ignored: %v", configErr)
	}
	x.history()
}

// history is what the record says.
func (x *explanation) history() {
	source := "wake/" + x.entry.Box + ".json"
	lately := 0
	for _, l := range x.rec.Landed {
		if x.Now().Sub(l.At) <= budgetOf {
			lately++
		}
	}
	x.add("wakes in the last hour", source, "%d", lately)
	if x.rec.Wanted {
		x.add("last attempt", source, "%s: %s (tries: %d)", x.rec.Outcome, x.rec.Reason, x.rec.Tries)
	}
	if o := x.rec.Outstanding; o != nil {
		x.add("outstanding", source, "%s, %s", o.Route, o.At.Format(time.TimeOnly))
	}
}

// plan goes through the routes without taking any.
func (x *explanation) plan(ctx context.Context) Result {
	last := Result{Outcome: NoRoute, Reason: noRoute}
	if native := x.planNative(); native.Route != "" {
		if native.Reason == "" {
			native.Reason = "it would be woken by " + native.Route
			return native
		}
		last = Result{Outcome: NoRoute, Reason: native.Reason}
	}
	if x.Mode == ModeNative {
		return last
	}
	for _, find := range x.terminals() {
		term, route, why := find(ctx)
		if term == nil {
			x.add("route "+route, "kernel, terminals", "no: %s", why)
			last = Result{Outcome: NoRoute, Reason: why}
			continue
		}
		x.add("route "+route, "kernel, terminals", "yes: %s", why)
		return x.gate(ctx, term, route)
	}
	return last
}

func (x *explanation) planNative() Result {
	var route, why string
	switch x.entry.Client.Kind {
	case registry.Claude:
		route, why = routeBell, x.bellMissing()
	case registry.Codex:
		route = routeQueue
		_, why = x.codex()
		x.add("attended", "process table", "%s", yes(detect.Attended(x.entry)))
	default:
		return Result{}
	}
	if x.Mode == ModeTmux {
		why = "PEERMUX_WAKE=tmux"
	}
	if why != "" {
		x.add("route "+route, "hook drop, client's process", "no: %s", why)
	} else {
		x.add("route "+route, "hook drop, client's process", "yes")
	}
	return Result{Outcome: Native, Route: route, Reason: why}
}

// gate asks Decide about the terminal as it is now.
func (x *explanation) gate(ctx context.Context, term terminal, route string) Result {
	seen, err := term.Look(ctx)
	if err != nil {
		return Result{Outcome: Failed, Route: route, Reason: err.Error()}
	}
	f := x.attempt.facts(seen, term)
	x.add("program ended", route, "%s", yes(f.Dead))
	x.add("in a mode", route, "%s", yes(f.InMode))
	x.add("foreground", "kernel", "%s", yes(f.Foreground))
	x.add("title", route, "%s", strconv.Quote(f.Screen.Title))
	x.add("cursor", route, "%d,%d of %dx%d", f.Screen.CursorX, f.Screen.CursorY, f.Screen.Width, f.Screen.Height)
	c := readComposer(f.Client, f.Screen, f.Rules)
	x.add("composer", "screen", "%s (%s)", orUnknown(string(c.State)), c.Why)
	v := Decide(f)
	if !v.Do {
		return Result{Outcome: v.Outcome, Route: route, Reason: v.Reason}
	}
	return Result{Outcome: Submitted, Route: route, Reason: "it would be woken by typing: " + v.Reason}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

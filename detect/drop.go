package detect

import (
	"fmt"

	"peermux/registry"
)

const sessionStart = "SessionStart"

// byHookDrop takes the session from a hook that ran under the same client
// process. An ancestor in common is not enough: terminals and tmux servers are
// above everybody, and an agent can be above an agent. The first agent above the
// hook, found when it ran, has to be our client.
func byHookDrop(f Facts, c client) Outcome {
	o := Outcome{Strategy: HookDrop, Outcome: Abstained}
	if c.PID == 0 {
		o.Outcome, o.Reason = NotApplicable, "no client process is known"
		return o
	}
	if c.kind == registry.Codex && validID(readMeta(f.Meta).threadID) {
		o.Outcome, o.Reason = NotApplicable, "not needed: meta names the thread"
		return o
	}
	drops, err := f.Registry.Drops()
	if err != nil {
		o.Reason = err.Error()
		return o
	}
	var ours []registry.Drop
	for _, d := range drops {
		if d.Client == c.kind && validID(d.SessionID) && d.Agent == c.info.ID {
			ours = append(ours, d)
		}
	}
	if len(ours) == 0 {
		o.Reason = "no hook of this client process has reported yet"
		return o
	}
	if c.kind == registry.Codex {
		return codexDrop(f, c, ours, o)
	}
	return latestDrop(ours, o)
}

// latestDrop is for clients that hold one session at a time: of several that one
// process has held, the one that began last is the present one.
func latestDrop(drops []registry.Drop, o Outcome) Outcome {
	var latest registry.Drop
	tie := false
	for _, d := range drops {
		began, last := d.Hooks[sessionStart], latest.Hooks[sessionStart]
		switch {
		case latest.SessionID == "" || began.After(last):
			latest, tie = d, false
		case began.Equal(last):
			tie = true
		}
		o.Candidates = append(o.Candidates, d.SessionID)
	}
	if tie {
		o.Reason = "hooks of this client process reported several sessions, and none began last"
		return o
	}
	return fromDrop(o, latest)
}

func fromDrop(o Outcome, d registry.Drop) Outcome {
	o.Outcome, o.SessionID, o.Transcript = Fired, d.SessionID, d.Transcript
	o.Candidates = nil
	o.Reason = fmt.Sprintf("the %s hook of this client process reported the session", d.Event)
	return o
}

// codexDrop is for Codex, where one process can hold many threads at once: the
// daemon those of all terminals, a terminal of its own the last one for another
// minute. A drop is ours only when its thread began under this server, and when
// by the locks of the threads no other one can be ours.
func codexDrop(f Facts, c client, drops []registry.Drop, o Outcome) Outcome {
	started, known := f.Self.StartedAt(f.Now)
	var fits []registry.Drop
	for _, d := range drops {
		if known && d.Hooks[sessionStart].After(started) {
			fits = append(fits, d)
		}
	}
	if len(fits) == 0 {
		o.Reason = "the threads that hooks reported began before this server"
		return o
	}
	own, err := ownThreads(f, c)
	if err != nil {
		o.Reason = "hooks reported threads of this client process, but which it has loaded is not known: " + err.Error()
		return o
	}
	if len(own) == 1 {
		for _, d := range fits {
			if d.SessionID == own[0] {
				return fromDrop(o, d)
			}
		}
	}
	o.Reason = "this client process holds several threads, and nothing tells which is ours"
	for _, d := range fits {
		o.Candidates = append(o.Candidates, d.SessionID)
	}
	return o
}

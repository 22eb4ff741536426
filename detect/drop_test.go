package detect

import (
	"os"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

// adopt gives a process of the tree the identity of this test's own process, which
// lives: the registry asks the kernel whether a drop's client does.
func (r recorded) adopt(t *testing.T, pid int, children ...int) proc.ID {
	t.Helper()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	p := r[pid]
	delete(r, pid)
	p.PID, p.Start = self.PID, self.Start
	r[p.PID] = p
	for _, child := range children {
		r.change(child, func(c *recordedProcess) { c.PPID, c.Start = self.PID, startOf(t, time.Now()) })
	}
	return self.ID
}

// put writes a drop as a hook below the agent would.
func put(t *testing.T, f Facts, d registry.Drop, agent proc.ID) {
	t.Helper()
	d.Box, d.Agent = "s-"+d.SessionID, agent
	if err := f.Registry.PutDrop(d); err != nil {
		t.Fatal(err)
	}
}

func TestHookDrop(t *testing.T) {
	now := time.Now()
	drop := func(id string, at time.Time) registry.Drop {
		return registry.Drop{Client: "claude", SessionID: id, Event: sessionStart, Transcript: "/t/" + id, Hooks: startedAt(at)}
	}
	r := tree(t, "claude-2.1.328", t.TempDir())
	client := r.adopt(t, claudePID, claudeServer)
	parent, err := proc.Stat(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	r.change(claudeServer, func(p *recordedProcess) { delete(p.Environ, "CLAUDE_CODE_SESSION_ID") })
	tests := []struct {
		name  string
		drops func(f Facts)
		want  string
	}{
		{"ours", func(f Facts) { put(t, f, drop(sid, now), client) }, sid},
		{"none", func(Facts) {}, ""},
		{"of another client process", func(f Facts) { put(t, f, drop(sid, now), parent.ID) }, ""},
		{"of another client kind", func(f Facts) {
			d := drop(sid, now)
			d.Client = "codex"
			put(t, f, d, client)
		}, ""},
		{"with our client further up", func(f Facts) {
			d := drop(sid, now)
			d.PIDs = []proc.ID{parent.ID, client}
			put(t, f, d, parent.ID)
		}, ""},
		{"after /clear", func(f Facts) {
			put(t, f, drop(sid, now.Add(-time.Hour)), client)
			put(t, f, drop(otherSID, now), client)
		}, otherSID},
		{"a tie", func(f Facts) {
			put(t, f, drop(sid, now), client)
			put(t, f, drop(otherSID, now), client)
		}, ""},
		{"of a dead client with our pid", func(f Facts) {
			put(t, f, drop(sid, now), proc.ID{PID: client.PID, Start: "1"})
		}, ""},
	}
	for _, tt := range tests {
		f := r.facts(t, claudeServer)
		tt.drops(f)
		d := Identify(f)
		if d.SessionID != tt.want || tt.want != "" && (d.Source != HookDrop || d.Transcript != "/t/"+tt.want) {
			t.Errorf("%s: got %+v", tt.name, d)
		}
		if o := d.outcome(HookDrop); o.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
	}
}

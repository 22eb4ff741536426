package detect

import (
	"path/filepath"
	"testing"
	"time"

	"peermux/registry"
)

func TestBeginning(t *testing.T) {
	r := tree(t, "claude-2.1.328", t.TempDir())
	client := r.adopt(t, claudePID, claudeServer)
	f := r.facts(t, claudeServer)
	file := filepath.Join(t.TempDir(), "t.jsonl")
	d := Diagnosis{SessionID: sid, Transcript: file, Client: registry.Client{Kind: "claude", PID: claudePID}}

	step, err := Beginning(f, d)
	if err != nil || step.TranscriptSeen || step.Source != "" || step.Server != f.Self.ID {
		t.Errorf("before anything is written: got %+v, %v", step, err)
	}
	write(t, file, `{"forkedFrom":{"sessionId":"`+otherSID+`"}}`)
	put(t, f, registry.Drop{Client: "claude", SessionID: sid, Source: "fork", Hooks: startedAt(time.Now())}, client)
	step, err = Beginning(f, d)
	if err != nil || !step.TranscriptSeen || step.ForkedFrom != otherSID || step.Source != registry.SourceFork {
		t.Errorf("got %+v, %v", step, err)
	}
}

// codexThreads makes the entries of the two recorded threads, both in one
// directory that has one terminal.
func codexThreads(t *testing.T) (recorded, registry.Entry, registry.Entry) {
	t.Helper()
	r := tree(t, "codex-0.171.0-daemon", t.TempDir())
	r.change(server2, func(p *recordedProcess) { p.CWD = r[server1].CWD })
	entry := func(server int, id string) registry.Entry {
		return registry.Entry{
			PID: server, Start: r[server].Start, SessionID: id, Box: "s-" + id[:8], CWD: r[server].CWD,
			Client: registry.Client{Kind: "codex", PID: daemonPID, Start: r[daemonPID].Start},
		}
	}
	return r, entry(server1, thread1), entry(server2, thread2)
}

// After /new the old thread ends a minute later; then, and only then, the new one
// inherits.
func TestPredecessors(t *testing.T) {
	r, old, next := codexThreads(t)
	p := findPredecessors(next, []registry.Entry{old, next}, r)
	if len(p.Entries()) != 1 {
		t.Fatal("the old thread was not found")
	}
	if ended := p.Ended(); len(ended) != 0 {
		t.Errorf("while the old thread lives: got %+v", ended)
	}
	delete(r, server1)
	if ended := p.Ended(); len(ended) != 1 || ended[0].SessionID != thread1 {
		t.Errorf("got %+v", ended)
	}
	t.Run("another thread is still there", func(t *testing.T) {
		third := r[server2]
		third.PID = 90001
		r[90001] = third
		if ended := p.Ended(); len(ended) != 0 {
			t.Errorf("got %+v", ended)
		}
		delete(r, 90001)
	})
	t.Run("the terminal is gone", func(t *testing.T) {
		delete(r, tui1)
		if ended := p.Ended(); len(ended) != 0 {
			t.Errorf("got %+v", ended)
		}
	})
}

func TestNoPredecessors(t *testing.T) {
	tests := []struct {
		name   string
		change func(r recorded, old, next *registry.Entry)
	}{
		{"two terminals in the directory", func(r recorded, old, _ *registry.Entry) {
			r.change(tui2, func(p *recordedProcess) { p.CWD = old.CWD })
		}},
		{"no terminal", func(r recorded, _, _ *registry.Entry) { delete(r, tui1) }},
		{"the terminal is younger than the old thread", func(r recorded, _, _ *registry.Entry) {
			r.change(tui1, func(p *recordedProcess) { p.Start = "212526" })
		}},
		{"another directory", func(_ recorded, old, _ *registry.Entry) { old.CWD = "/elsewhere" }},
		{"another client process", func(_ recorded, old, _ *registry.Entry) { old.Client.PID = 7 }},
		{"a subagent", func(_ recorded, old, _ *registry.Entry) { old.Client.Mode = registry.Subagent }},
		{"the other thread is younger", func(_ recorded, old, _ *registry.Entry) { old.Start = "999999" }},
		{"another client", func(_ recorded, old, next *registry.Entry) {
			old.Client.Kind, next.Client.Kind = "claude", "claude"
		}},
	}
	for _, tt := range tests {
		r, old, next := codexThreads(t)
		tt.change(r, &old, &next)
		if p := findPredecessors(next, []registry.Entry{old, next}, r); len(p.Entries()) > 0 {
			t.Errorf("%s: got %+v", tt.name, p.left)
		}
	}
}

package registry

import (
	"testing"

	"peermux/internal/proc"
)

func TestSuccession(t *testing.T) {
	server := proc.ID{PID: 5, Start: "1"}
	claude := Client{Kind: Claude, PID: 7, Start: "1", Mode: Interactive}
	codex := Client{Kind: Codex, PID: 7, Start: "1", Mode: Interactive}
	in := func(c Client, id string) Entry {
		return Entry{PID: server.PID, Start: server.Start, SessionID: id, Box: "s-" + id, Client: c}
	}
	otherProcess := claude
	otherProcess.PID = 8
	reused := claude
	reused.Start = "2"
	sub := codex
	sub.Mode = Subagent
	const moves, stays, waits = "moves", "stays", "waits"
	tests := []struct {
		name string
		prev Entry
		step Step
		want string
	}{
		// Claude Code: the lineage table of 2.1.197 and 2.1.328.
		{"/clear", in(claude, "old"), Step{SessionID: "new", Source: SourceClear, Client: claude}, moves},
		{"in-session /resume", in(claude, "old"), Step{SessionID: "new", Source: SourceResume, Client: claude}, moves},
		{"in-session /resume of an earlier fork", in(claude, "old"),
			Step{SessionID: "new", Source: SourceResume, Client: claude, TranscriptSeen: true, ForkedFrom: "old"}, moves},
		{"/compact", in(claude, "old"), Step{SessionID: "old", Source: SourceCompact, Client: claude}, stays},
		{"/branch", in(claude, "old"), Step{SessionID: "new", Source: SourceFork, Client: claude}, stays},
		{"/branch, no hooks", in(claude, "old"), Step{SessionID: "new", Client: claude, TranscriptSeen: true, ForkedFrom: "old"}, stays},
		{"/clear, no hooks", in(claude, "old"), Step{SessionID: "new", Client: claude, TranscriptSeen: true}, moves},
		{"no hooks, no transcript yet", in(claude, "old"), Step{SessionID: "new", Client: claude}, waits},
		{"--resume in a new process", in(claude, "old"), Step{SessionID: "old", Source: SourceResume, Client: otherProcess}, stays},
		{"--fork-session", in(claude, "old"), Step{SessionID: "new", Source: SourceFork, Client: otherProcess}, stays},
		{"another process", in(claude, "old"), Step{SessionID: "new", Source: SourceClear, Client: otherProcess}, stays},
		{"a reused pid", in(claude, "old"), Step{SessionID: "new", Source: SourceClear, Client: reused}, stays},
		{"no client process", in(Client{Kind: Claude}, "old"), Step{SessionID: "new", Source: SourceClear, Client: Client{Kind: Claude}}, stays},
		{"identified at last", in(claude, ""), Step{SessionID: "new", Server: server, Client: claude}, moves},
		{"not known", in(claude, "old"), Step{Client: claude}, stays},

		// Codex: one process, many threads.
		{"codex /clear", in(codex, "old"), Step{SessionID: "new", Source: SourceClear, Client: codex}, moves},
		{"codex /new", in(codex, "old"), Step{SessionID: "new", Source: SourceStartup, Client: codex}, stays},
		{"codex /new, the old thread has ended", in(codex, "old"), Step{SessionID: "new", Source: SourceStartup, Client: codex, Inherits: true}, moves},
		{"codex /resume, the old thread has ended", in(codex, "old"), Step{SessionID: "new", Source: SourceResume, Client: codex, Inherits: true}, moves},
		{"codex /fork", in(codex, "old"), Step{SessionID: "new", Source: SourceFork, Client: codex, Inherits: true}, stays},
		{"codex /fork, no hooks", in(codex, "old"), Step{SessionID: "new", Client: codex, Inherits: true, TranscriptSeen: true, ForkedFrom: "old"}, stays},
		{"codex identified at last", in(codex, ""), Step{SessionID: "new", Server: server, Client: codex}, moves},
		{"codex, another thread's unidentified server", in(codex, ""), Step{SessionID: "new", Server: proc.ID{PID: 6, Start: "1"}, Client: codex}, stays},
		{"codex subagent", in(codex, "old"), Step{SessionID: "new", Source: SourceClear, Client: sub, Inherits: true}, stays},
		{"after a codex subagent", in(sub, "old"), Step{SessionID: "new", Source: SourceClear, Client: codex, Inherits: true}, stays},
	}
	for _, tt := range tests {
		v := Succession(tt.prev, tt.step)
		got := stays
		switch {
		case v.Move:
			got = moves
		case v.Wait:
			got = waits
		}
		if got != tt.want || v.Reason == "" || v.Move && v.From != tt.prev.Box {
			t.Errorf("%s: got %s (%+v), want %s", tt.name, got, v, tt.want)
		}
	}
}

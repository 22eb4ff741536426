package detect

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

const (
	sid      = "13c882e9-e964-4cd7-9a7d-e8532f66634c"
	otherSID = "0d94a7d2-58e1-4d0c-a0a3-1f5f1c7f6a10"
	thread1  = "01a22c36-d4c4-7c70-a32c-c8939c5d1d17" // of the recorded daemon
	thread2  = "01a22c36-d803-7563-b405-8e6d40157bfe"
)

// The processes of the recorded trees.
const (
	claudePID, claudeServer, claudeStart = 24551, 24611, "212083"
	printPID, printServer                = 29104, 29111
	daemonPID, server1, server2          = 24949, 25067, 25245
	tui1, tui2                           = 24741, 25167
)

func TestClaudeInteractive(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": claudeStart, "sessionId": sid, "name": "app-2c",
	})
	f := r.facts(t, claudeServer)
	f.ClientInfo = ClientInfo{"claude-code", "2.1.328"}
	d := Identify(f)
	if d.SessionID != sid || d.Source != ClientRegistry {
		t.Errorf("got session %q by %q, want %q by %q", d.SessionID, d.Source, sid, ClientRegistry)
	}
	want := registry.Client{Kind: "claude", PID: claudePID, Start: claudeStart, Version: "2.1.328", Mode: "interactive"}
	if d.Client != want {
		t.Errorf("got client %+v, want %+v", d.Client, want)
	}
	if d.ClientName != "app-2c" {
		t.Errorf("got name %q", d.ClientName)
	}
	if o := d.outcome(EnvVariable); o.Outcome != Fired || o.SessionID != sid {
		t.Errorf("env: got %+v", o)
	}
}

// After /clear and in-session /resume the server's variable is stale, and Claude's
// record is right.
func TestClaudeAfterClear(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": claudeStart, "sessionId": otherSID,
	})
	d := Identify(r.facts(t, claudeServer))
	if d.SessionID != otherSID || d.Source != ClientRegistry {
		t.Errorf("got session %q by %q", d.SessionID, d.Source)
	}
	if o := d.outcome(EnvVariable); o.Outcome != Disagrees || !strings.Contains(o.Reason, otherSID) {
		t.Errorf("the stale variable was not called out: %+v", o)
	}
}

func TestClaudeOldVersion(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.197-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": claudeStart, "sessionId": sid,
	})
	d := Identify(r.facts(t, claudeServer))
	if d.SessionID != sid || d.Client.Version != "2.1.197" || d.Client.Mode != registry.Interactive {
		t.Errorf("got %+v", d)
	}
}

// A record that was left behind by an earlier process with the same pid.
func TestClaudeStaleRecord(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": "7", "sessionId": otherSID,
	})
	d := Identify(r.facts(t, claudeServer))
	if d.SessionID != sid || d.Source != EnvVariable {
		t.Errorf("got session %q by %q, want that of the environment", d.SessionID, d.Source)
	}
	if o := d.outcome(ClientRegistry); o.Outcome != Abstained || !strings.Contains(o.Reason, "earlier process") {
		t.Errorf("got %+v", o)
	}
}

func TestClaudeWithoutRecord(t *testing.T) {
	r := tree(t, "claude-2.1.328", t.TempDir())
	d := Identify(r.facts(t, claudeServer))
	if d.SessionID != sid || d.Source != EnvVariable || d.Client.PID != claudePID {
		t.Errorf("got %+v", d)
	}
}

func TestClaudeHeadless(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328-print", home)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-print", nil)
	f := r.facts(t, printServer)
	f.ClientInfo = ClientInfo{"claude-code", "2.1.328"}
	d := Identify(f)
	if d.Client.Mode != registry.Headless || d.Source != ClientRegistry || d.Client.PID != printPID {
		t.Errorf("got %+v", d)
	}
}

// A shell that the agent runs: Claude's Bash tool.
func TestClaudeShell(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328-shell", home)
	shell := youngest(r)
	d := Identify(r.facts(t, shell))
	if d.SessionID != sid || d.Source != EnvVariable || d.Client.PID != claudePID {
		t.Errorf("got %+v", d)
	}
}

func youngest(r recorded) int {
	pid := 0
	for p := range r {
		pid = max(pid, p)
	}
	return pid
}

// An agent that was started from another agent's shell inherits its variables.
func TestForeignShell(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328-shell", home)
	shell := youngest(r)
	claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": claudeStart, "sessionId": sid,
	})
	inherited := r[shell].Environ
	add := func(pid, parent int, exe string, env map[string]string, args ...string) {
		r[pid] = recordedProcess{PID: pid, PPID: parent, Start: "999999", State: "S", Comm: filepath.Base(exe),
			Exe: exe, CWD: r[shell].CWD, Argv: args, Environ: env}
	}
	t.Run("codex in claude's shell", func(t *testing.T) {
		add(90001, shell, "/opt/codex/bin/codex", inherited, "codex")
		add(90002, 90001, "/opt/peermux", inherited, "peermux", "mcp")
		f := r.facts(t, 90002)
		f.ClientInfo = ClientInfo{"codex-mcp-client", "0.171.0"}
		d := Identify(f)
		if d.SessionID != "" || d.Client.Kind != registry.Codex || d.Client.PID != 90001 {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("unknown agent in claude's shell", func(t *testing.T) {
		add(90003, shell, "/opt/gemini/gemini", inherited, "gemini")
		add(90004, 90003, "/opt/peermux", inherited, "peermux", "mcp")
		f := r.facts(t, 90004)
		f.ClientInfo = ClientInfo{"gemini-cli", "1.0"}
		d := Identify(f)
		if d.SessionID != "" || d.Client.Kind != "gemini-cli" || d.Client.PID != 90003 || d.Client.Mode != registry.UnknownMode {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("claude in claude's shell", func(t *testing.T) {
		add(90005, shell, "/opt/claude/bin/claude", inherited, "claude")
		own := map[string]string{"HOME": inherited["HOME"], "CLAUDE_CODE_SESSION_ID": otherSID}
		add(90006, 90005, "/opt/peermux", own, "peermux", "mcp")
		d := Identify(r.facts(t, 90006))
		if d.SessionID != otherSID || d.Source != EnvVariable || d.Client.PID != 90005 {
			t.Errorf("got %+v", d)
		}
		// A server that only has the outer variable proves nothing with it.
		add(90007, 90005, "/opt/peermux", inherited, "peermux", "mcp")
		d = Identify(r.facts(t, 90007))
		if o := d.outcome(EnvVariable); d.SessionID != "" || o.Outcome != Abstained || !strings.Contains(o.Reason, "inherited") {
			t.Errorf("got %+v", d)
		}
	})
}

// Wrappers between the client and the server.
func TestFindClient(t *testing.T) {
	home := t.TempDir()
	r := recorded{
		10: {PID: 10, PPID: 1, Start: "10", State: "S", Comm: "claude", Exe: "/x/claude", Argv: []string{"claude"}},
		11: {PID: 11, PPID: 10, Start: "11", State: "S", Comm: "sh", Exe: "/bin/sh", Argv: []string{"sh", "-c", "npx peermux mcp"}},
		12: {PID: 12, PPID: 11, Start: "12", State: "S", Comm: "node", Exe: "/usr/bin/node", Argv: []string{"node", "/usr/bin/npx"}},
		13: {PID: 13, PPID: 12, Start: "13", State: "S", Comm: "peermux", Exe: "/x/peermux", Argv: []string{"peermux", "mcp"}, CWD: home},
	}
	f := r.facts(t, 13)
	f.Home = home
	if c := findClient(f); c.Kind != registry.Claude || c.PID != 10 || !strings.Contains(c.how, "wrapper node") {
		t.Errorf("got %+v", c)
	}
}

// A stand-in whose program nobody knows is recognised by the record that Claude
// keeps about it.
func TestFindClientByRecord(t *testing.T) {
	home := t.TempDir()
	r := recorded{
		10: {PID: 10, PPID: 1, Start: "10", State: "S", Comm: "agent", Exe: "/x/agent", Argv: []string{"agent"}},
		11: {PID: 11, PPID: 10, Start: "11", State: "S", Comm: "peermux", Exe: "/x/peermux", CWD: home},
	}
	claudeSession(t, home, "claude-2.1.328-idle-fresh", map[string]any{"pid": 10, "procStart": "10", "sessionId": sid})
	f := r.facts(t, 11)
	f.Home = home
	if d := Identify(f); d.SessionID != sid || d.Client.Kind != registry.Claude {
		t.Errorf("got %+v", d)
	}
}

func TestNobody(t *testing.T) {
	r := recorded{
		10: {PID: 10, PPID: 1, Start: "10", State: "S", Comm: "bash", Exe: "/bin/bash", Argv: []string{"-bash"}},
		11: {PID: 11, PPID: 10, Start: "11", State: "S", Comm: "peermux", Exe: "/x/peermux", CWD: t.TempDir()},
	}
	f := r.facts(t, 11)
	f.Home = t.TempDir()
	d := Identify(f)
	if d.SessionID != "" || d.Client.Kind != "" || d.Client.PID != 0 {
		t.Errorf("got %+v", d)
	}
	for _, o := range d.Outcomes {
		if o.Outcome != NotApplicable || o.Reason == "" {
			t.Errorf("got %+v", o)
		}
	}
}

func TestClaudeModes(t *testing.T) {
	tests := []struct {
		kind, entrypoint string
		args             []string
		mode             string
	}{
		{"interactive", "cli", []string{"claude"}, registry.Interactive},
		{"interactive", "sdk-cli", []string{"claude", "-p", "x"}, registry.Headless},
		{"interactive", "sdk-ts", []string{"claude"}, registry.Headless},
		{"bg", "cli", []string{"claude"}, registry.Background},
		{"daemon-worker", "cli", []string{"claude"}, registry.Background},
		{"interactive", "cli", []string{"claude", "--agent-id", "x", "--team-name", "t"}, registry.Teammate},
		{"something-new", "cli", []string{"claude"}, registry.UnknownMode},
		{"interactive", "something-new", []string{"claude"}, registry.UnknownMode},
	}
	for _, tt := range tests {
		home := t.TempDir()
		r := tree(t, "claude-2.1.328", home)
		r.change(claudePID, func(p *recordedProcess) { p.Argv = tt.args })
		claudeSession(t, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
			"pid": claudePID, "procStart": claudeStart, "sessionId": sid, "kind": tt.kind, "entrypoint": tt.entrypoint,
		})
		if d := Identify(r.facts(t, claudeServer)); d.Client.Mode != tt.mode {
			t.Errorf("%+v: got %q", tt, d.Client.Mode)
		}
	}
}

func TestClaim(t *testing.T) {
	r := tree(t, "codex-0.171.0-daemon", t.TempDir())
	f := r.facts(t, server1)
	f.Claim = thread1
	if d := Identify(f); d.SessionID != thread1 || d.Source != Claim {
		t.Errorf("got %+v", d)
	}
	t.Run("meta is stronger", func(t *testing.T) {
		f := f
		f.Meta = json.RawMessage(`{"threadId":"` + thread2 + `"}`)
		d := Identify(f)
		if d.SessionID != thread2 || d.outcome(Claim).Outcome != Disagrees {
			t.Errorf("got %+v", d)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		f := f
		for _, claim := range []string{"../../etc/passwd", "a b", ".hidden", strings.Repeat("x", 200)} {
			f.Claim = claim
			if d := Identify(f); d.SessionID != "" {
				t.Errorf("%q was believed: %+v", claim, d)
			}
		}
	})
	t.Run("held by another live session", func(t *testing.T) {
		f := f
		self, err := proc.Self()
		if err != nil {
			t.Fatal(err)
		}
		e := registry.Entry{PID: self.PID, Start: self.Start, SessionID: thread1, Box: "s-x", Name: "holder"}
		if err := f.Registry.Put(e); err != nil {
			t.Fatal(err)
		}
		d := Identify(f)
		if d.SessionID != "" || !strings.Contains(d.outcome(Claim).Reason, "holder") {
			t.Errorf("got %+v", d)
		}
		// Another server of the same client is no conflict.
		e.Client = registry.Client{Kind: "codex", PID: self.PID, Start: self.Start}
		if err := f.Registry.Put(e); err != nil {
			t.Fatal(err)
		}
		if _, held, err := ClaimHolder(f.Registry, thread1, e.Client); held || err != nil {
			t.Errorf("a sibling server counts as another holder: %v", err)
		}
	})
}

func startedAt(at time.Time) map[string]time.Time {
	return map[string]time.Time{sessionStart: at}
}

func BenchmarkIdentify(b *testing.B) {
	home := b.TempDir()
	r := tree(b, "claude-2.1.328", home)
	claudeSession(b, filepath.Join(home, "cl"), "claude-2.1.328-idle-fresh", map[string]any{
		"pid": claudePID, "procStart": claudeStart, "sessionId": sid,
	})
	f := r.facts(b, claudeServer)
	for b.Loop() {
		if d := Identify(f); d.SessionID != sid {
			b.Fatal(d)
		}
	}
}

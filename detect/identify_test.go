package detect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/transcript"
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

func TestCodexMeta(t *testing.T) {
	r := tree(t, "codex-0.171.0-daemon", t.TempDir())
	f := r.facts(t, server1)
	f.ClientInfo = ClientInfo{"codex-mcp-client", "0.171.0"}
	if d := Identify(f); d.SessionID != "" || d.outcome(Meta).Outcome != Abstained {
		t.Errorf("before the first call: got %+v", d)
	}
	f.Meta = json.RawMessage(`{"callId":"c","threadId":"` + thread1 + `","sessionId":"` + thread1 + `","progressToken":1}`)
	d := Identify(f)
	if d.SessionID != thread1 || d.Source != Meta {
		t.Errorf("got %q by %q", d.SessionID, d.Source)
	}
	want := registry.Client{Kind: "codex", PID: daemonPID, Start: "212479", Version: "0.171.0", Mode: "interactive"}
	if d.Client != want {
		t.Errorf("got client %+v, want %+v", d.Client, want)
	}
}

// A subagent's thread names the root thread as its session; it is its own thread.
func TestCodexSubthread(t *testing.T) {
	r := tree(t, "codex-0.171.0-daemon", t.TempDir())
	f := r.facts(t, server2)
	f.Meta = json.RawMessage(`{"threadId":"` + thread2 + `","sessionId":"` + thread1 + `",
		"x-codex-turn-metadata":{"session_id":"` + thread1 + `","thread_id":"` + thread2 + `"}}`)
	d := Identify(f)
	if d.SessionID != thread2 || d.Client.Mode != registry.Subagent {
		t.Errorf("got %q, mode %q", d.SessionID, d.Client.Mode)
	}
}

func TestCodexModes(t *testing.T) {
	tests := []struct {
		tree, mode string
	}{
		{"codex-0.171.0-exec", registry.Headless},
		{"codex-0.171.0-nodaemon", registry.Interactive},
	}
	for _, tt := range tests {
		r := tree(t, tt.tree, t.TempDir())
		d := Identify(r.facts(t, youngest(r)))
		if d.Client.Kind != registry.Codex || d.Client.Mode != tt.mode {
			t.Errorf("%s: got %+v", tt.tree, d.Client)
		}
	}
}

// A command in a Codex shell knows its thread by a variable, even in the daemon
// that holds several.
func TestCodexShell(t *testing.T) {
	r := tree(t, "codex-0.171.0-shell", t.TempDir())
	d := Identify(r.facts(t, youngest(r)))
	if d.SessionID != thread1 || d.Source != EnvVariable {
		t.Errorf("got %+v", d)
	}
}

// Codex's daemon tells its MCP servers nothing of CODEX_HOME: its own environment
// has it.
func TestCodexHomeOfClient(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "codex-0.171.0-daemon", home)
	f := r.facts(t, server1)
	f.Home = "/nowhere"
	if got, want := findClient(f).home, filepath.Join(home, "cx", ".codex"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
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

func startedAt(at time.Time) map[string]time.Time {
	return map[string]time.Time{sessionStart: at}
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

// births are files as if they had been born at other times.
type births struct {
	System
	of map[string]time.Time // by the base name; the zero time: unknown
}

func (b births) Born(file string) (time.Time, bool) {
	at, ok := b.of[filepath.Base(file)]
	return at, ok && !at.IsZero()
}

// Codex's daemon is above the hooks and servers of all its threads: which server
// is whose follows from the births of locks and the starts of servers, or not at
// all. Times are milliseconds.
func TestCodexElimination(t *testing.T) {
	const none = -1
	tests := []struct {
		name             string
		lock1, lock2     int // when the threads' locks were taken
		server1, server2 int // when the servers were started
		want             string
		candidates       int
	}{
		{"one thread", 0, none, 25, none, thread1, 0},
		{"one thread, older than the window", 0, none, 6000, none, "", 0},
		{"one thread, younger than the server", 300, none, 0, none, "", 0},
		{"one after the other", 0, 400, 200, 600, thread1, 0},
		{"we are the later one", 400, 0, 600, 200, thread1, 0},
		{"both at once", 0, 20, 200, 210, "", 2},
		{"the other one's server is not there yet", 0, 20, 200, none, "", 2},
		{"the other one's server has ended", 7000, 0, 7025, none, thread1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			r := tree(t, "codex-0.171.0-daemon", home)
			codex := filepath.Join(home, "cx", ".codex")
			daemon := r.adopt(t, daemonPID)
			look := func(age time.Duration, blinded bool) Facts {
				base := time.Now().Add(-age - 10*time.Second)
				at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
				b := births{of: map[string]time.Time{}}
				r.change(daemon.PID, func(p *recordedProcess) { p.Open = nil })
				for id, ms := range map[string]int{thread1: tt.lock1, thread2: tt.lock2} {
					if ms == none {
						continue
					}
					write(t, lockPath(codex, id), "")
					b.of[id+".lock"] = at(ms)
					r.change(daemon.PID, func(p *recordedProcess) { p.Open = append(p.Open, lockPath(codex, id)) })
				}
				for pid, ms := range map[int]int{server1: tt.server1, server2: tt.server2} {
					if ms == none {
						delete(r, pid)
						continue
					}
					r.change(pid, func(p *recordedProcess) { p.PPID, p.Start = daemon.PID, startOf(t, at(ms)) })
				}
				f := r.facts(t, server1)
				f.Ancestors = []proc.Info{r[daemon.PID].info()} // the test's process is younger than it plays
				if b.System = r; blinded {
					b.System = blind{r}
				}
				f.System = b
				return f
			}
			check := func(how string, f Facts, strategy string, candidates int) {
				t.Helper()
				o := Identify(f).outcome(strategy)
				if o.SessionID != tt.want || len(o.Candidates) != candidates || o.Reason == "" {
					t.Errorf("%s: got %+v", how, o)
				}
			}
			check("by birth", look(grace, false), Fingerprint, tt.candidates)
			check("by birth, with no word about open files", look(grace, true), Fingerprint, tt.candidates)

			f := look(0, false)
			reported := 0
			for id, ms := range map[string]int{thread1: tt.lock1, thread2: tt.lock2} {
				if ms != none { // each has had its first turn
					put(t, f, registry.Drop{Client: "codex", SessionID: id, Event: sessionStart, Hooks: startedAt(f.Now)}, daemon)
					reported++
				}
			}
			if tt.want != "" {
				reported = 0
			}
			check("by hook", f, HookDrop, reported)
		})
	}
}

func TestCodexBirths(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "codex-0.171.0-daemon", home)
	daemon := r.adopt(t, daemonPID, server1, server2)
	write(t, lockPath(filepath.Join(home, "cx", ".codex"), thread1), "")
	started := startOf(t, time.Now().Add(-time.Minute))
	r.change(server1, func(p *recordedProcess) { p.Start = started })
	f := r.facts(t, server1)
	f.Ancestors = []proc.Info{r[daemon.PID].info()}
	f.System = births{System: r}
	if o := Identify(f).outcome(Fingerprint); o.Outcome != Abstained || !strings.Contains(o.Reason, "no birth times") {
		t.Errorf("no birth times: got %+v", o)
	}
	// A hook's report of a thread that began before this server is another's.
	put(t, f, registry.Drop{Client: "codex", SessionID: thread1, Event: sessionStart, Hooks: startedAt(time.Now().Add(-time.Hour))}, daemon)
	if o := Identify(f).outcome(HookDrop); o.Outcome != Abstained || !strings.Contains(o.Reason, "before this server") {
		t.Errorf("an old report: got %+v", o)
	}
}

func TestClaudeToolUse(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	r.change(claudeServer, func(p *recordedProcess) { delete(p.Environ, "CLAUDE_CODE_SESSION_ID") })
	f := r.facts(t, claudeServer)
	file := func(id string) string { return transcript.ClaudePath(filepath.Join(home, "cl", ".claude"), f.CWD, id) }
	line := `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_01","name":"mcp__x"}]}}` + "\n"
	quoted := `{"type":"user","message":{"content":"he wrote \"id\":\"toolu_01\""}}` + "\n"
	write(t, file(sid), strings.Repeat(quoted, 3)+line)
	write(t, file(otherSID), quoted)
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_01","progressToken":2}`)
	if d := Identify(f); d.SessionID != sid || d.Source != Meta || d.Transcript != file(sid) {
		t.Errorf("got %+v", d)
	}
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_02"}`)
	if d := Identify(f); d.SessionID != "" {
		t.Errorf("a tool use that stands nowhere: got %+v", d)
	}
	write(t, file(otherSID), line)
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_01"}`)
	if o := Identify(f).outcome(Meta); o.Outcome != Abstained || len(o.Candidates) != 2 {
		t.Errorf("in two transcripts: got %+v", o)
	}
}

func TestClaudeFingerprint(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name    string
		files   []string
		started time.Duration // of the client, before the files were born
		rivals  []registry.Entry
		want    string
		reason  string
	}{
		{"one", []string{sid}, time.Minute, nil, sid, "one transcript"},
		{"none", nil, time.Minute, nil, "", "no transcript"},
		{"older than the client", []string{sid}, -time.Minute, nil, "", "no transcript"},
		{"two", []string{sid, otherSID}, time.Minute, nil, "", "several"},
		{"two, one of them taken", []string{sid, otherSID}, time.Minute,
			[]registry.Entry{{SessionID: otherSID, CWD: "/elsewhere"}}, sid, "one transcript"},
		{"one that is taken", []string{sid}, time.Minute, []registry.Entry{{SessionID: sid}}, "", "no transcript"},
		{"another unidentified session here", []string{sid}, time.Minute,
			[]registry.Entry{{Name: "rival"}}, "", "rival"},
		{"another unidentified session elsewhere", []string{sid}, time.Minute,
			[]registry.Entry{{CWD: "/elsewhere"}}, sid, "one transcript"},
	}
	for _, tt := range tests {
		home := t.TempDir()
		r := tree(t, "claude-2.1.328", home)
		r.change(claudePID, func(p *recordedProcess) { p.Start = startOf(t, now.Add(-tt.started)) })
		r.change(claudeServer, func(p *recordedProcess) {
			p.Start = startOf(t, now.Add(-max(tt.started, grace)))
			delete(p.Environ, "CLAUDE_CODE_SESSION_ID")
		})
		f := r.facts(t, claudeServer)
		f.Ancestors = []proc.Info{r[claudePID].info()} // also where it is younger, as above
		for _, id := range tt.files {
			write(t, transcript.ClaudePath(filepath.Join(home, "cl", ".claude"), f.CWD, id), "{}")
		}
		for i, e := range tt.rivals {
			e = live(t, e, i)
			if e.CWD == "" {
				e.CWD = f.CWD
			}
			if err := f.Registry.Put(e); err != nil {
				t.Fatal(err)
			}
		}
		f.Now = now.Add(grace)
		o := Identify(f).outcome(Fingerprint)
		if o.SessionID != tt.want || !strings.Contains(o.Reason, tt.reason) {
			t.Errorf("%s: got %+v", tt.name, o)
		}
	}
}

// live makes an entry of a Claude session that lives as long as the test.
func live(t *testing.T, e registry.Entry, n int) registry.Entry {
	t.Helper()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := proc.Stat(self.PPID)
	if err != nil {
		t.Fatal(err)
	}
	who := []proc.ID{self.ID, parent.ID}[n]
	e.PID, e.Start, e.Box = who.PID, who.Start, "s-x"
	e.Client = registry.Client{Kind: "claude", PID: who.PID, Start: who.Start}
	return e
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

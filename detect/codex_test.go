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

// births are files as if they had been born at other times.
type births struct {
	System
	of map[string]time.Time // by the base name; the zero time: unknown
}

func (b births) Born(file string) (time.Time, bool) {
	at, ok := b.of[filepath.Base(file)]
	return at, ok && !at.IsZero()
}

// never is when a lock is not taken, or a server not started.
const never = -1

// timetable says, in milliseconds, when locks were taken and servers started.
type timetable struct {
	locks   map[string]int // by thread
	servers map[int]int    // by pid
}

// facts are those of the first server of the recorded daemon, age and ten seconds
// after the timetable began.
func (tt timetable) facts(t *testing.T, age time.Duration) (Facts, recorded, proc.ID) {
	t.Helper()
	home := t.TempDir()
	r := tree(t, "codex-0.171.0-daemon", home)
	daemon := r.adopt(t, daemonPID)
	began := time.Now().Add(-age - 10*time.Second)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	b := births{System: r, of: map[string]time.Time{}}
	r.change(daemon.PID, func(p *recordedProcess) { p.Open = nil })
	for id, ms := range tt.locks {
		if ms == never {
			continue
		}
		lock := lockPath(filepath.Join(home, "cx", ".codex"), id)
		write(t, lock, "")
		b.of[id+".lock"] = at(ms)
		r.change(daemon.PID, func(p *recordedProcess) { p.Open = append(p.Open, lock) })
	}
	for pid, ms := range tt.servers {
		if ms == never {
			delete(r, pid)
			continue
		}
		r.change(pid, func(p *recordedProcess) { p.PPID, p.Start = daemon.PID, startOf(t, at(ms)) })
	}
	f := r.facts(t, server1)
	f.Ancestors = []proc.Info{r[daemon.PID].info()} // the test's process is younger than it plays
	f.System = b
	return f, r, daemon
}

// Codex's daemon is above the hooks and servers of all its threads: which server
// is whose follows from the births of locks and the starts of servers, or not at
// all.
func TestCodexElimination(t *testing.T) {
	tests := []struct {
		name             string
		lock1, lock2     int
		server1, server2 int
		want             string
		candidates       int
	}{
		{"one thread", 0, never, 25, never, thread1, 0},
		{"one thread, older than the window", 0, never, 6000, never, "", 0},
		{"one thread, younger than the server", 300, never, 0, never, "", 0},
		{"one after the other", 0, 400, 200, 600, thread1, 0},
		{"we are the later one", 400, 0, 600, 200, thread1, 0},
		{"both at once", 0, 20, 200, 210, "", 2},
		{"the other one's server is not there yet", 0, 20, 200, never, "", 2},
		{"the other one's server has ended", 7000, 0, 7025, never, thread1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := timetable{
				locks:   map[string]int{thread1: tt.lock1, thread2: tt.lock2},
				servers: map[int]int{server1: tt.server1, server2: tt.server2},
			}
			check := func(how string, f Facts, strategy string, candidates int) {
				t.Helper()
				o := Identify(f).outcome(strategy)
				if o.SessionID != tt.want || len(o.Candidates) != candidates || o.Reason == "" {
					t.Errorf("%s: got %+v", how, o)
				}
			}
			f, r, _ := table.facts(t, grace)
			check("by birth", f, Fingerprint, tt.candidates)
			f.System = births{System: blind{r}, of: f.System.(births).of}
			check("by birth, with no word about open files", f, Fingerprint, tt.candidates)

			f, _, daemon := table.facts(t, 0)
			reported := 0
			for id, ms := range table.locks {
				if ms != never { // each has had its first turn
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

func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"threadId":"a","sessionId":"b","claudecode/toolUseId":"toolu_1"}`))
	f.Add([]byte(`{"threadId":7,"sessionId":[]}`))
	f.Add([]byte(`"x"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := readMeta(data)
		if m.subthread() && (m.threadID == m.sessionID || !validID(m.threadID)) {
			t.Errorf("got %+v", m)
		}
	})
}

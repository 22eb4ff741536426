package detect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/tmux"
	"peermux/registry"
)

// tmuxServer starts a tmux server on a socket of its own, with one session that
// runs the command, and ends it with the test.
func tmuxServer(t *testing.T, command ...string) *tmux.Runner {
	t.Helper()
	// Not t.TempDir: the path of a unix socket is limited to about 104 bytes.
	dir, err := os.MkdirTemp("", "pmx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	r := &tmux.Runner{
		Socket:  filepath.Join(dir, "s"),
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color"},
		Timeout: 30 * time.Second, // a busy machine is no failure
	}
	t.Cleanup(func() {
		_, err := r.Run(context.Background(), "", "kill-server")
		if err != nil && !errors.Is(err, tmux.ErrNoServer) {
			t.Error(err)
		}
	})
	tmuxRun(t, r, append([]string{"-f", "/dev/null", "new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "--"}, command...)...)
	return r
}

func tmuxRun(t *testing.T, r *tmux.Runner, args ...string) string {
	t.Helper()
	out, err := r.Run(context.Background(), "", args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// agent is a stand-in for a client: it writes its pid to a file, and sleeps.
func agent(pidFile string) []string {
	return []string{"sh", "-c", "echo $$ >" + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "; exec sleep 600"}
}

// clientIn waits for the agent and makes its entry.
func clientIn(t *testing.T, pidFile string) registry.Entry {
	t.Helper()
	var data []byte
	until(t, "the agent", func() bool {
		var err error
		data, err = os.ReadFile(pidFile)
		return err == nil
	})
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	// While a process changes its program, its environment can't be read.
	until(t, "the agent to sleep", func() bool { return slices.Contains(proc.Args(pid), "600") })
	info, err := proc.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Entry{Client: registry.Client{Kind: "claude", PID: info.PID, Start: info.Start}}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// find looks for the pane among the given servers only, never the developer's.
func find(t *testing.T, e registry.Entry, first *tmux.Runner, known ...*tmux.Runner) (*registry.Tmux, string) {
	t.Helper()
	f := paneFinder{System: machine{}, runner: first, known: func(func(string) string) []string {
		var sockets []string
		for _, r := range known {
			sockets = append(sockets, r.Socket)
		}
		return sockets
	}}
	return f.find(context.Background(), e)
}

// self is this test binary in one of its roles; see TestMain.
func self(t *testing.T, role ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe, "role:" + role[0]}, append(role[1:], "--")...)
}

func TestPane(t *testing.T) {
	dir := t.TempDir()
	pids := func(name string) string { return filepath.Join(dir, name) }
	r := tmuxServer(t, "sh", "-c", strings.Join(quoted(agent(pids("direct"))), " ")+"; :")
	first := tmuxRun(t, r, "display-message", "-p", "-t", "main", "#{pane_id}")
	second := tmuxRun(t, r, append([]string{"split-window", "-t", "main", "-P", "-F", "#{pane_id}", "--"},
		append(self(t, "wrapper"), agent(pids("wrapped"))...)...)...)
	other := tmuxServer(t, agent(pids("other"))...)

	tests := []struct {
		name  string
		entry registry.Entry
		first *tmux.Runner
		want  string
		on    *tmux.Runner
	}{
		{"a shell between, in a pane that is not active", clientIn(t, pids("direct")), r, first, r},
		{"a wrapper between", clientIn(t, pids("wrapped")), r, second, r},
		{"on another server than the one asked", clientIn(t, pids("other")), r, "%0", other},
		{"with no server named", clientIn(t, pids("direct")), &tmux.Runner{Env: r.Env, Timeout: r.Timeout}, first, r},
	}
	for _, tt := range tests {
		got, why := find(t, tt.entry, tt.first)
		if got == nil || got.Pane != tt.want || got.Socket != tt.on.Socket || got.Session != "main" || got.ServerPID == 0 {
			t.Errorf("%s: got %+v (%s), want %s on %s", tt.name, got, why, tt.want, tt.on.Socket)
		}
	}
}

func quoted(args []string) []string {
	var q []string
	for _, a := range args {
		q = append(q, "'"+a+"'")
	}
	return q
}

// What inherits TMUX_PANE, or merely descends from a pane, is not in the pane.
func TestNoPane(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, role, why string
	}{
		{"a daemon that was started from the pane", "detach", "no terminal"},
		{"a program on a terminal of its own inside the pane", "pty", "no tmux pane has the client's terminal"},
	}
	for _, tt := range tests {
		pidFile := filepath.Join(dir, tt.role)
		r := tmuxServer(t, append(self(t, tt.role), agent(pidFile)...)...)
		e := clientIn(t, pidFile)
		if env := (machine{}).Env(e.Client.PID, "TMUX_PANE"); env["TMUX_PANE"] != "%0" {
			t.Fatalf("%s: TMUX_PANE is not inherited: %v", tt.name, env)
		}
		got, why := find(t, e, r)
		if got != nil || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %+v, %q", tt.name, got, why)
		}
		if err := kill(e.Client.PID); err != nil {
			t.Error(err)
		}
	}
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// tmux inside tmux: the inner pane has the client's terminal.
func TestNestedTmux(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	inner := tmuxServer(t, agent(pidFile)...)
	outer := tmuxServer(t, "env", "-u", "TMUX", "tmux", "-S", inner.Socket, "attach")
	until(t, "the inner client to attach", func() bool {
		return tmuxRun(t, inner, "list-clients") != ""
	})
	got, why := find(t, clientIn(t, pidFile), outer, outer, inner)
	if got == nil || got.Socket != inner.Socket {
		t.Errorf("got %+v, %s", got, why)
	}
}

// After a restart of the server its ids start from 0 again.
func TestPaneAfterRestart(t *testing.T) {
	dir := t.TempDir()
	r := tmuxServer(t, agent(filepath.Join(dir, "old"))...)
	e := clientIn(t, filepath.Join(dir, "old"))
	was, why := find(t, e, r)
	if was == nil {
		t.Fatal(why)
	}
	tmuxRun(t, r, "kill-server")
	until(t, "the agent's end", func() bool { return !proc.Alive(e.Client.ID()) })
	tmuxRun(t, r, append([]string{"-f", "/dev/null", "new-session", "-d", "-s", "main", "--"}, agent(filepath.Join(dir, "new"))...)...)
	now, why := find(t, clientIn(t, filepath.Join(dir, "new")), r)
	if now == nil || now.Pane != was.Pane || now.ServerPID == was.ServerPID {
		t.Fatalf("got %+v, %s: the restart did not use the id again", now, why)
	}
	if got, why := find(t, e, r); got != nil || !strings.Contains(why, "not running") {
		t.Errorf("got %+v, %s", got, why)
	}
}

func TestNoServer(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := tmuxServer(t, agent(pidFile)...)
	gone := &tmux.Runner{Socket: filepath.Join(t.TempDir(), "none"), Env: r.Env, Timeout: r.Timeout}
	e := clientIn(t, pidFile)
	got, why := find(t, e, gone)
	if got == nil || got.Socket != r.Socket {
		t.Errorf("a dead socket hides the living one: got %+v, %s", got, why)
	}
}

func TestCodexTerminal(t *testing.T) {
	tests := []struct {
		name   string
		change func(r recorded, e *registry.Entry)
		want   int
		why    string
	}{
		{"one terminal in the directory", func(recorded, *registry.Entry) {}, tui1, ""},
		{"two terminals in the directory", func(r recorded, e *registry.Entry) {
			r.change(tui2, func(p *recordedProcess) { p.CWD = r[e.PID].CWD })
		}, 0, "several Codex terminals"},
		{"two threads in the directory", func(r recorded, e *registry.Entry) {
			r.change(server2, func(p *recordedProcess) { p.CWD = r[e.PID].CWD })
		}, 0, "several threads"},
		{"a younger terminal", func(r recorded, e *registry.Entry) {
			r.change(tui1, func(p *recordedProcess) { p.Start = "212526" })
		}, 0, "younger than the thread"},
		{"no terminal any more", func(r recorded, e *registry.Entry) { delete(r, tui1) }, 0, "no Codex terminal"},
		{"a terminal that holds a thread itself", func(r recorded, e *registry.Entry) {
			r.change(tui1, func(p *recordedProcess) { p.Open = []string{lockPath(p.Environ["CODEX_HOME"], thread2)} })
		}, 0, "no Codex terminal"},
		{"a terminal of another Codex home", func(r recorded, e *registry.Entry) {
			r.change(tui1, func(p *recordedProcess) { p.Environ = map[string]string{"CODEX_HOME": "/elsewhere"} })
		}, 0, "no Codex terminal"},
		{"a thread of an editor's app server", func(r recorded, e *registry.Entry) {
			r.change(daemonPID, func(p *recordedProcess) { p.Argv = []string{"codex", "app-server"} })
		}, 0, "client has no terminal"},
		{"the server has ended", func(r recorded, e *registry.Entry) { delete(r, server1) }, 0, "server is not running"},
		{"the daemon has ended", func(r recorded, e *registry.Entry) { delete(r, daemonPID) }, 0, "client is not running"},
		{"another process has the daemon's pid", func(r recorded, e *registry.Entry) { e.Client.Start = "1" }, 0, "client is not running"},
	}
	for _, tt := range tests {
		r := tree(t, "codex-0.171.0-daemon", t.TempDir())
		e := registry.Entry{PID: server1, Start: r[server1].Start, Client: registry.Client{Kind: "codex", PID: daemonPID, Start: r[daemonPID].Start}}
		tt.change(r, &e)
		got, why := terminal(e, r)
		if got.PID != tt.want || !strings.Contains(why, tt.why) {
			t.Errorf("%s: got %d, %q", tt.name, got.PID, why)
		}
	}
	t.Run("without the daemon", func(t *testing.T) {
		r := tree(t, "codex-0.171.0-nodaemon", t.TempDir())
		parent := r[youngest(r)].PPID
		e := registry.Entry{Client: registry.Client{Kind: "codex", PID: parent, Start: r[parent].Start}}
		if got, why := terminal(e, r); got.PID != parent || got.TTY == 0 {
			t.Errorf("got %+v, %s", got, why)
		}
	})
	t.Run("codex exec", func(t *testing.T) {
		r := tree(t, "codex-0.171.0-exec", t.TempDir())
		parent := r[youngest(r)].PPID
		e := registry.Entry{Client: registry.Client{Kind: "codex", PID: parent, Start: r[parent].Start}}
		if got, why := terminal(e, r); why != "the client has no terminal" {
			t.Errorf("got %+v, %s", got, why)
		}
	})
}

func TestAttended(t *testing.T) {
	r := tree(t, "codex-0.171.0-daemon", t.TempDir())
	e := registry.Entry{PID: server1, Start: r[server1].Start, Client: registry.Client{Kind: "codex", PID: daemonPID, Start: r[daemonPID].Start}}
	if !attended(e, r) {
		t.Error("a thread with its terminal counts as unattended")
	}
	delete(r, tui1)
	if attended(e, r) {
		t.Error("a thread that outlived its terminal counts as attended")
	}
	// Where open files can't be seen (macOS), nobody is declared absent.
	r = tree(t, "codex-0.171.0-daemon", t.TempDir())
	if !attended(e, blind{r}) {
		t.Error("what can't be seen counts as absent")
	}
}

// blind is a system that does not tell which files are open.
type blind struct{ recorded }

func (blind) Files(int) ([]string, error) { return nil, errors.ErrUnsupported }

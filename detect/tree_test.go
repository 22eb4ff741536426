package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"peermux/internal/proc"
	"peermux/registry"
)

// The test binary also plays the processes of a real tree. Its command line is
//
//	PROGRAM [words] role:ROLE ARGUMENT… -- the next program of the tree
//
// where PROGRAM is a copy of it under the name of the program that it plays.
func TestMain(m *testing.M) {
	for i, arg := range os.Args {
		role, ok := strings.CutPrefix(arg, "role:")
		if !ok {
			continue
		}
		args, next := os.Args[i+1:], []string(nil)
		if j := slices.Index(args, "--"); j >= 0 {
			args, next = args[:j], args[j+1:]
		}
		if err := play(role, args, next); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role string, args, next []string) error {
	switch role {
	case "claude": // SESSION, as recorded; the child's variable is the one of the start
		if err := writeRecord(args[0]); err != nil {
			return err
		}
		return follow(next, append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+args[0]))
	case "norecord": // SESSION, of a Claude that keeps no record
		return follow(next, append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+args[0]))
	case "codex": // THREAD…, whose locks it holds
		for _, thread := range args {
			f, err := takeLock(thread)
			if err != nil {
				return err
			}
			defer f.Close()
		}
		return follow(next, os.Environ())
	case "wrapper":
		return follow(next, os.Environ())
	case "detach": // a daemon: a session of its own, without a terminal
		cmd := exec.Command(next[0], next[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Run()
	case "pty": // a program on a terminal of its own
		cmd := exec.Command(next[0], next[1:]...)
		terminal, err := pty.Start(cmd)
		if err != nil {
			return err
		}
		defer terminal.Close()
		return cmd.Wait()
	case "hook": // CLIENT SESSION
		return report(args[0], args[1])
	case "server": // [CLIENT [await]]: the name in the handshake; wait for a hook first
		return serve(args)
	}
	return errors.New("unknown role")
}

// playRegistry is the registry of the stage.
func playRegistry() *registry.Registry { return registry.Open(os.Getenv("PEERMUX_HOME"), time.Now) }

func writeRecord(session string) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	record := fmt.Sprintf(`{"pid":%d,"procStart":%q,"sessionId":%q,"kind":"interactive","entrypoint":"cli","status":"idle"}`,
		self.PID, self.Start, session)
	name := filepath.Join(os.Getenv("HOME"), ".claude", "sessions", fmt.Sprint(self.PID)+".json")
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(record), 0o600))
}

func takeLock(thread string) (*os.File, error) {
	name := lockPath(filepath.Join(os.Getenv("HOME"), ".codex"), thread)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.Create(name)
}

func report(client, session string) error {
	chain, err := proc.Ancestors(os.Getpid())
	if err != nil {
		return err
	}
	now := time.Now()
	d := registry.Drop{Box: "s-" + session, Client: client, SessionID: session, Event: sessionStart, At: now, Hooks: startedAt(now)}
	for _, a := range chain {
		d.PIDs = append(d.PIDs, a.ID)
	}
	return playRegistry().PutDrop(d)
}

func serve(args []string) error {
	r := playRegistry()
	if len(args) > 1 {
		if err := await(r); err != nil {
			return err
		}
	}
	f, err := Gather(os.Getenv, os.Getenv("HOME"), r, time.Now())
	if err != nil {
		return err
	}
	if len(args) > 0 {
		f.ClientInfo.Name = args[0]
	}
	return json.NewEncoder(os.Stdout).Encode(Identify(f))
}

// await waits for the first hook to report.
func await(r *registry.Registry) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		drops, err := filepath.Glob(filepath.Join(r.Home(), "drops", "*.json"))
		if err != nil || len(drops) > 0 {
			return err
		}
	}
	return errors.New("no hook reported")
}

// follow starts the next programs of the tree as children, in order, and waits
// for all of them.
func follow(next, env []string) error {
	var started []*exec.Cmd
	for len(next) > 0 {
		one := next
		next = nil
		if i := slices.Index(one, "and"); i >= 0 {
			one, next = one[:i], one[i+1:]
		}
		cmd := exec.Command(one[0], one[1:]...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		started = append(started, cmd)
	}
	var errs []error
	for _, cmd := range started {
		errs = append(errs, cmd.Wait())
	}
	return errors.Join(errs...)
}

// stage is where a tree plays: a home, and programs to play with.
type stage struct {
	home, peermux, dir string
	programs           string
}

func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{home: t.TempDir(), peermux: t.TempDir(), dir: t.TempDir(), programs: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex", "peermux", "npx", "gemini"} {
		copyFile(t, self, filepath.Join(s.programs, name))
	}
	return s
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// run plays a tree and returns what its servers found out. Names of programs are
// replaced by their paths.
func (s stage) run(t *testing.T, words ...string) []Diagnosis {
	t.Helper()
	line := slices.Clone(words)
	for i, w := range line {
		program := filepath.Join(s.programs, w)
		boundary := i == 0 || line[i-1] == "--" || line[i-1] == "and"
		if _, err := os.Stat(program); err == nil && boundary {
			line[i] = program
		}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"HOME=" + s.home, "PEERMUX_HOME=" + s.peermux, "PATH=" + os.Getenv("PATH"), "P=" + s.programs,
		"GORACE=atexit_sleep_ms=0", // else every program of the tree lingers for a second
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s", words, err, errs.String())
	}
	var found []Diagnosis
	for dec := json.NewDecoder(&out); dec.More(); {
		var d Diagnosis
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		found = append(found, d)
	}
	if len(found) == 0 {
		t.Fatalf("%q: no server spoke\n%s", words, errs.String())
	}
	return found
}

func words(s string) []string { return strings.Fields(s) }

func TestRealTrees(t *testing.T) {
	tests := []struct {
		name, tree            string
		kind, session, source string
	}{
		{"claude starts the server",
			"claude role:claude one -- peermux role:server claude-code", "claude", "one", ClientRegistry},
		{"a shell between",
			"claude role:claude one -- sh shell.sh role:server claude-code", "claude", "one", ClientRegistry},
		{"an npx-like wrapper between",
			"claude role:claude one -- npx role:wrapper -- npx role:wrapper -- peermux role:server claude-code", "claude", "one", ClientRegistry},
		{"a stand-in under another name",
			"gemini role:claude one -- peermux role:server claude-code", "claude", "one", ClientRegistry},
		{"claude without a record",
			"claude role:norecord one -- peermux role:server claude-code", "claude", "one", EnvVariable},
		{"claude without a record, after /clear",
			"claude role:norecord one -- peermux role:server claude-code await and peermux role:hook claude two", "claude", "two", HookDrop},
		{"no handshake: a command in claude's shell",
			"claude role:claude one -- sh shell.sh role:server", "claude", "one", ClientRegistry},
		{"codex's daemon, one thread that reported",
			"codex app-server --managed-daemon role:codex t1 -- peermux role:server codex-mcp-client await and peermux role:hook codex t1", "codex", "t1", HookDrop},
		{"codex's daemon, one of two threads reported",
			"codex app-server --managed-daemon role:codex t1 t2 -- peermux role:server codex-mcp-client await and peermux role:hook codex t1", "codex", "", ""},
		{"codex in claude's shell, with all its variables",
			"claude role:claude one -- sh shell.sh role:wrapper -- codex role:codex -- peermux role:server codex-mcp-client", "codex", "", ""},
		{"an unknown agent in claude's shell",
			"claude role:claude one -- gemini role:wrapper -- peermux role:server gemini-cli", "gemini-cli", "", ""},
		{"claude in claude's shell",
			"claude role:claude one -- sh shell.sh role:wrapper -- claude role:claude two -- peermux role:server claude-code", "claude", "two", ClientRegistry},
		{"claude in codex's shell",
			"codex role:codex t1 -- sh shell.sh role:wrapper -- claude role:claude two -- peermux role:server claude-code", "claude", "two", ClientRegistry},
		{"a hook of the inner claude says nothing to the outer one",
			"claude role:norecord one -- peermux role:server claude-code await and " +
				"sh shell.sh role:wrapper -- claude role:norecord two -- peermux role:hook claude two", "claude", "one", EnvVariable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			// The second command keeps the shell from becoming the first.
			write(t, filepath.Join(s.dir, "shell.sh"), `"$P/peermux" "$@"; exit $?`)
			d := s.run(t, words(tt.tree)...)[0]
			if d.Client.Kind != tt.kind || d.SessionID != tt.session || d.Source != tt.source {
				t.Errorf("got %s session %q by %q; %+v", d.Client.Kind, d.SessionID, d.Source, d.Outcomes)
			}
			if d.Client.PID == 0 {
				t.Error("no client process")
			}
		})
	}
}

func TestTwoInOneFolder(t *testing.T) {
	s := newStage(t)
	for _, session := range []string{"one", "two"} {
		d := s.run(t, words("claude role:claude "+session+" -- peermux role:server claude-code")...)[0]
		if d.SessionID != session {
			t.Errorf("got %q, want %q", d.SessionID, session)
		}
	}
}

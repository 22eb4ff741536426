//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/mockmodel"
)

// programs are what every bench runs, found or built once.
type programs struct {
	peermux string // folder with peermux and peermux-hook
	clients string // folder with claude and codex
	node    string // folder with node, for Codex's wrapper
}

// apiKey is a dummy; Claude asks about keys that ~/.claude.json does not approve.
const apiKey = "dummy-key-for-the-mock-0123456789"

// bench is one home with peermux set up, one mock model, one tmux server.
type bench struct {
	programs
	dir, home, work string
	model           *mockmodel.Server
	sessions        []*session
}

// newBench makes a bench whose clients are configured for the mock and start
// without a first-run dialog. peermux is not set up yet.
func newBench(t *testing.T) *bench {
	t.Helper()
	t.Parallel() // benches share nothing, and most of a case is waiting
	have := found(t)
	// Not t.TempDir: unix sockets lie in it, and their paths may have 104 bytes.
	dir, err := os.MkdirTemp("", "pmx")
	must(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	b := &bench{programs: have, dir: dir, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work", "shop")}
	for _, d := range []string{b.home, b.work, filepath.Join(dir, "tmp")} {
		must(t, os.MkdirAll(d, 0o700))
	}
	b.model, err = mockmodel.Start(filepath.Join(dir, "log"))
	must(t, err)
	t.Cleanup(func() { b.close(t) })
	writeClaudeHome(t, b.home, b.work)
	writeCodexHome(t, b.home, b.work, b.model.OpenAIURL())
	return b
}

// setup runs the one command a person runs.
func (b *bench) setup(t *testing.T) {
	t.Helper()
	b.peermuxOK(t, "setup", "--yes")
}

// env is the whole environment of a client: nothing of the developer's, dummy
// keys, and every way out of loopback leads to the mock, which refuses it.
func (b *bench) env() []string {
	path := strings.Join([]string{b.peermux, b.clients, b.node, "/usr/local/bin", "/usr/bin", "/bin"}, ":")
	return []string{
		"PATH=" + path, "HOME=" + b.home, "TMPDIR=" + filepath.Join(b.dir, "tmp"), "SHELL=/bin/bash",
		"TERM=xterm-256color", "LANG=C.UTF-8", "PEERMUX_E2E=" + b.dir, runMark(os.Getpid()), "PEERMUX_TRACE=1",
		"IS_SANDBOX=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"ANTHROPIC_API_KEY=" + apiKey, "ANTHROPIC_BASE_URL=" + b.model.URL(), "MOCK_KEY=dummy",
		"HTTP_PROXY=" + b.model.URL(), "HTTPS_PROXY=" + b.model.URL(), "ALL_PROXY=" + b.model.URL(),
		"NO_PROXY=127.0.0.1,localhost,::1",
	}
}

// run runs a program as a person in a shell of the project would.
func (b *bench) run(t *testing.T, extra []string, name string, args ...string) (stdout string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = b.work, append(b.env(), extra...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 || !slices.Contains(args, "--json") {
		t.Logf("$ %s %.200s\n%s%s", filepath.Base(name), strings.Join(args, " "), out.String(), errs.String())
	}
	return out.String(), code
}

// peermuxOK runs a peermux command that must succeed and returns its stdout.
func (b *bench) peermuxOK(t *testing.T, args ...string) string {
	t.Helper()
	out, code := b.run(t, nil, filepath.Join(b.peermux, "peermux"), args...)
	if code != 0 {
		t.Fatalf("peermux %s: exit %d", strings.Join(args, " "), code)
	}
	return out
}

// tmux runs one tmux command on the bench's own server.
func (b *bench) tmux(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", filepath.Join(b.dir, "tmux"), "-f", "/dev/null"}, args...)...)
	cmd.Env = b.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %v: %s", args[0], err, out)
	}
	return string(out), nil
}

// close ends everything the bench started and fails when something is left.
func (b *bench) close(t *testing.T) {
	if t.Failed() {
		b.evidence(t)
	}
	if len(b.sessions) > 0 {
		if _, err := b.tmux("kill-server"); err != nil {
			t.Error(err)
		}
	}
	b.stopCodexDaemon(t)
	if left := b.endProcesses(); len(left) > 0 {
		t.Errorf("still running after the end: %v", left)
	}
	if err := b.model.Close(); err != nil {
		t.Error(err)
	}
	if t.Failed() && os.Getenv("PEERMUX_E2E_KEEP") != "" {
		t.Logf("kept: %s", b.dir)
		return
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Error(err)
	}
}

// evidence shows the screens and the end of the model's log, for who reads a
// failed run.
func (b *bench) evidence(t *testing.T) {
	for _, s := range b.sessions {
		t.Logf("screen of %s:\n%s", s.name, indent(s.screen()))
	}
	for _, f := range []string{"wake/*", "status/*", "drops/*", "trace.ndjson"} {
		files, err := filepath.Glob(filepath.Join(b.home, ".peermux", f))
		must(t, err)
		for _, file := range files {
			if raw, err := os.ReadFile(file); err == nil {
				lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
				t.Logf("%s:\n%s", file, indent(strings.Join(lines[max(0, len(lines)-25):], "\n")))
			}
		}
	}
	events := b.model.Events()
	t.Logf("the model's log:\n%s", indent(strings.Join(events[max(0, len(events)-25):], "\n")))
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if r := []rune(strings.TrimRight(line, "\n ")); len(r) > 0 {
			b.WriteString("    | " + string(r[:min(len(r), 300)]) + "\n")
		}
	}
	return b.String()
}

// eventually waits for a state. what completes "waited for …".
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stays checks that a state holds for a while: that something did NOT happen.
func stays(t *testing.T, during time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !ok() {
			t.Fatalf("not any more: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

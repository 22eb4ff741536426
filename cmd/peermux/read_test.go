package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"peermux/internal/transcript"
)

// TestReadScripts runs read and transcripts on what the real clients wrote, as
// if it had been written in the script's folder.
func TestReadScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/read",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMUX_TMPDIR", filepath.Join(e.WorkDir, "none")) // no tmux server of this machine
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "wrote": wrote},
	})
}

const fixtures = "../../internal/transcript/testdata"

// wrote puts the transcripts of a client's version in place: wrote FIXTURE DIR.
func wrote(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wrote FIXTURE DIR")
	}
	dir, err := filepath.EvalSymlinks(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(writeFixture(filepath.Join(fixtures, args[0]), ts.Getenv("HOME"), dir))
}

// writeFixture copies a client's folder into home, with dir for the project.
func writeFixture(from, home, dir string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(home, ".codex", rel)
		if rest, ok := strings.CutPrefix(rel, "projects/-home-dev-parser/"); ok {
			to = filepath.Join(transcript.ClaudeFolder(filepath.Join(home, ".claude"), dir), rest)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte("/home/dev/parser"), []byte(dir))
		return os.WriteFile(to, data, 0o600)
	})
}

// lines is an output that tells when it holds a text.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	tell chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		select {
		case l.tell <- struct{}{}:
		default:
		}
	}()
	return l.buf.Write(p)
}

func (l *lines) wait(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		got := l.buf.String()
		l.mu.Unlock()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-l.tell:
		case <-timeout:
			t.Fatalf("%q did not come: %s", text, got)
		}
	}
}

func TestReadFollow(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(base, "home"), filepath.Join(base, "project")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFixture(filepath.Join(fixtures, "claude-2.1.197"), home, project); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	t.Setenv("HOME", home)
	const id = "efd95687-e804-409e-a229-9fbaf70c9b0d"
	file := transcript.ClaudePath(filepath.Join(home, ".claude"), project, id)
	env := map[string]string{"HOME": home, "PEERMUX_HOME": filepath.Join(base, "peermux"), "TMUX_TMPDIR": filepath.Join(base, "none")}
	for _, asJSON := range []bool{false, true} {
		out := &lines{tell: make(chan struct{}, 1)}
		notes := &lines{tell: make(chan struct{}, 1)}
		a := &app{in: strings.NewReader(""), out: out, err: notes, env: func(key string) string { return env[key] }, now: time.Now}
		ctx, cancel := context.WithCancel(context.Background())
		args := []string{"read", id, "--follow"}
		if asJSON {
			args = append(args, "--json")
		}
		code := make(chan int, 1)
		go func() { code <- a.main(ctx, args) }()
		out.wait(t, "New.")
		appendLine(t, file, `{"type":"user","sessionId":"`+id+`","uuid":"x","timestamp":"2026-12-01T00:00:00Z","message":{"role":"user","content":"one more"}}`)
		out.wait(t, "one more")
		cancel()
		if got := <-code; got != 0 {
			t.Errorf("exit code %d: %s", got, notes.buf.String())
		}
	}
}

func appendLine(t *testing.T, file, line string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

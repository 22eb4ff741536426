package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"peermux/internal/agentsim"
	"peermux/internal/proc"
	"peermux/internal/screen"
	"peermux/mailbox"
	"peermux/registry"
)

// TestCompletionInShells presses tab in the real shells: a command's name, the name
// of a session that lives, and a word that a flag takes have to be completed.
func TestCompletionInShells(t *testing.T) {
	inShells(t, "reviewer", func(t *testing.T, s *shellTerminal) {
		s.types(t, "peermux send revi\t")
		s.shows(t, "peermux send reviewer")
		s.types(t, "\x15peermux docto\t")
		s.shows(t, "peermux doctor")
		s.types(t, "\x15peermux broadcast --scope rep\t")
		s.shows(t, "peermux broadcast --scope repos")
	})
}

// TestCompletionRunsNothing: what stands in the file of a session is no command,
// whoever wrote it.
func TestCompletionRunsNothing(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	inShells(t, "$(touch "+ran+")`touch "+ran+"`", func(t *testing.T, s *shellTerminal) {
		s.types(t, "peermux send use\t")
		s.shows(t, "peermux send user")
		s.types(t, "\x15peermux send \t\t")
		s.shows(t, "touch")
		s.types(t, "\x15peermux send user\x15echo ov''er\r")
		s.shows(t, "over")
		if err := os.Remove(ran); err == nil {
			t.Error("it was run")
		}
	})
}

// inShells runs keys in each shell, beside a session with this name.
func inShells(t *testing.T, session string, keys func(*testing.T, *shellTerminal)) {
	peermux, _, err := agentsim.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir := t.TempDir(), t.TempDir()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	liveSession(t, filepath.Join(home, ".peermux"), session, dir)
	for _, shell := range []struct {
		name  string
		args  []string
		setup string
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, "source <(peermux completion bash)"},
		{"zsh", []string{"-f", "-i"}, "source <(peermux completion zsh)"},
		{"fish", []string{"--no-config", "-i"}, "peermux completion fish | source"},
	} {
		t.Run(shell.name, func(t *testing.T) {
			path, err := exec.LookPath(shell.name)
			if err != nil {
				t.Skipf("NOT TESTED: %s is not installed, so its completion was not tried", shell.name)
			}
			cmd := exec.Command(path, shell.args...)
			cmd.Dir = dir
			cmd.Env = []string{"HOME=" + home, "ZDOTDIR=" + home, "PATH=" + filepath.Dir(peermux) + ":/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8"}
			s := startShell(t, cmd)
			s.types(t, shell.setup+"\r")
			s.types(t, "echo rea''dy\r")
			s.shows(t, "ready")
			keys(t, s)
		})
	}
}

// liveSession registers this process as a session of a project.
func liveSession(t *testing.T, home, name, dir string) {
	t.Helper()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	id := "11111111-2222-4333-8444-555555555555"
	err = registry.Open(home, time.Now).Put(registry.Entry{
		PID: self.PID, Start: self.Start, Client: registry.Client{Kind: "claude", PID: self.PID, Start: self.Start, Mode: registry.Interactive},
		SessionID: id, Box: mailbox.SessionKey(id), Name: name, CWD: dir, Project: dir, StartedAt: time.Now(), SeenAt: time.Now(), BootID: proc.BootID(),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// shellTerminal is an interactive shell on a terminal.
type shellTerminal struct {
	terminal *os.File
	mu       sync.Mutex
	model    *screen.Model
}

func startShell(t *testing.T, cmd *exec.Cmd) *shellTerminal {
	t.Helper()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	s := &shellTerminal{terminal: terminal, model: screen.NewModel(100, 24)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := terminal.Read(buf)
			s.mu.Lock()
			_, _ = s.model.Write(buf[:n]) // the model takes anything
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed: that is what Wait says
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
		<-read
	})
	return s
}

func (s *shellTerminal) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.terminal.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (s *shellTerminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, l := range s.model.Screen().Lines {
		lines = append(lines, l.Text())
	}
	return strings.Join(lines, "\n")
}

func (s *shellTerminal) shows(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.text(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q on the terminal:\n%s", text, s.text())
		}
	}
}

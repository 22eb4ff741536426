package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/proc"
	"peermux/internal/ptytest"
	"peermux/mailbox"
	"peermux/registry"
)

// TestCompletionInShells presses tab in the real shells: a command's name, the name
// of a session that lives, and a word that a flag takes have to be completed.
func TestCompletionInShells(t *testing.T) {
	inShells(t, "reviewer", func(t *testing.T, s *ptytest.Terminal) {
		s.Type("peermux send revi\t")
		s.Shows("peermux send reviewer")
		s.Type("\x15peermux docto\t")
		s.Shows("peermux doctor")
		s.Type("\x15peermux broadcast --scope rep\t")
		s.Shows("peermux broadcast --scope repos")
	})
}

// TestCompletionRunsNothing: what stands in the file of a session is no command,
// whoever wrote it.
func TestCompletionRunsNothing(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	inShells(t, "$(touch "+ran+")`touch "+ran+"`", func(t *testing.T, s *ptytest.Terminal) {
		s.Type("peermux send use\t")
		s.Shows("peermux send user")
		s.Type("\x15peermux send \t\t")
		s.Shows("touch")
		s.Type("\x15peermux send user\x15echo ov''er\r")
		s.Shows("over")
		if err := os.Remove(ran); err == nil {
			t.Error("it was run")
		}
	})
}

// inShells runs keys in each shell, beside a session with this name.
func inShells(t *testing.T, session string, keys func(*testing.T, *ptytest.Terminal)) {
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
			s := ptytest.Start(t, cmd, 100, 24)
			s.Type(shell.setup + "\r")
			s.Type("echo rea''dy\r")
			s.Shows("ready")
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

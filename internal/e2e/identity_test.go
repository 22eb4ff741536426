//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// whoami is what `peermux whoami --json` says.
type whoami struct {
	SessionID string `json:"session_id"`
	Client    string `json:"client"`
	Pane      string `json:"pane"`
	Diagnosis struct {
		Source string `json:"source"`
	} `json:"diagnosis"`
}

// TestIdentity: who is who, proven with the real clients.
func TestIdentity(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude, codex := b.startPair(t)
	alone := b.startCodex(t, "alone", "--no-daemon")
	all := []*session{claude, codex, alone}
	program := filepath.Join(b.peermux, "peermux") // Codex's shells have another PATH

	// Codex tells nothing before its first turn; its locks do.
	t.Run("before the first prompt", func(t *testing.T) {
		b.waitListed(t, all...)
		for _, s := range []*session{claude, alone} {
			eventually(t, 10*time.Second, "the pane of "+s.name, func() bool { return s.entry(t).Tmux.Pane == s.pane })
		}
	})
	t.Run("the daemon's thread has no pane while two terminals could show it", func(t *testing.T) {
		if e := codex.entry(t); e.Tmux.Pane != "" && e.Tmux.Pane != codex.pane {
			t.Errorf("got pane %s, and it is in %s", e.Tmux.Pane, codex.pane)
		}
	})
	for _, s := range all {
		t.Run("a shell of "+s.name, func(t *testing.T) {
			file := filepath.Join(b.dir, "whoami-"+s.name)
			s.say(t, "who "+s.shell(program+" whoami --json >"+file)+" [[say known]]")
			s.waitIdle(t, 20*time.Second)
			raw, err := os.ReadFile(file)
			must(t, err)
			var w whoami
			must(t, json.Unmarshal(raw, &w))
			if w.SessionID != s.id() || w.Client != s.client {
				t.Errorf("got %+v, want session %s", w, s.id())
			}
		})
		t.Run("a call of "+s.name, func(t *testing.T) {
			s.say(t, "who "+call("get_my_session")+" [[say known]]")
			s.waitIdle(t, 20*time.Second)
			if e := s.entry(t); e.SessionID != s.id() {
				t.Errorf("got %+v", e)
			}
		})
	}
	t.Run("headless runs are not listed, and can send", func(t *testing.T) {
		for _, run := range [][]string{
			{"claude", "-p", "--permission-mode", "bypassPermissions", "--"},
			{"codex", "exec", "--skip-git-repo-check"},
		} {
			mail, before := word(t, "mail"), b.listedSessions(t)
			script := "tell " + call("send_message", "target", claude.row(t).Name, "body", mail) + " " + call("list_project_sessions") + " [[say told]]"
			if _, code := b.run(t, nil, filepath.Join(b.clients, run[0]), append(run[1:], script)...); code != 0 {
				t.Errorf("%s: exit %d", run[0], code)
			}
			claude.waitTold(t, 20*time.Second, mail)
			claude.waitIdle(t, 20*time.Second)
			if now := b.listedSessions(t); now > before {
				t.Errorf("%s: %d sessions are listed, were %d", run[0], now, before)
			}
		}
	})
	// Every variable of Claude's is inherited there.
	t.Run("codex in claude's shell is itself", func(t *testing.T) {
		file := filepath.Join(b.dir, "nested")
		marker := word(t, "nested")
		script := marker + " [[tool exec_command {\"cmd\":\"" + program + " whoami --json >" + file + "\"}]] " + call("get_my_session") + " [[say done]]"
		must(t, os.WriteFile(filepath.Join(b.dir, "prompt"), []byte(script), 0o600))
		claude.say(t, "run "+claude.shell("codex exec --skip-git-repo-check - <"+filepath.Join(b.dir, "prompt"))+" [[say ran]]")
		claude.waitIdle(t, 60*time.Second)
		raw, err := os.ReadFile(file)
		must(t, err)
		var w whoami
		must(t, json.Unmarshal(raw, &w))
		if w.SessionID == claude.id() || w.Diagnosis.Source != "env" && w.Diagnosis.Source != "meta" {
			t.Errorf("got %+v", w)
		}
		told := false
		for _, q := range b.model.Requests() {
			if q.API != "openai" || q.Told(marker) == 0 {
				continue
			}
			told = told || q.Told(q.Session) > 0
			if q.Told(claude.id()) > 0 {
				t.Errorf("the inner session was told of %s: %s", claude.id(), around(string(q.Body), claude.id()))
			}
		}
		if !told {
			t.Error("the inner session was not told who it is")
		}
	})
}

// entry is a session as the registry has it.
func (s *session) entry(t *testing.T) (e struct {
	SessionID string `json:"session_id"`
	Tmux      struct {
		Pane string `json:"pane"`
	} `json:"tmux"`
}) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.b.home, ".peermux", "sessions", "*.json"))
	must(t, err)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // ended meanwhile
		}
		if strings.Contains(string(raw), s.id()) {
			must(t, json.Unmarshal(raw, &e))
			return e
		}
	}
	return e
}

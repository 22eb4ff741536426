//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStatus: what `peermux list` says of a session and whose word it is, also
// when a turn ends in a way that no hook tells of.
func TestStatus(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	claude := b.launchClaude(t, "claude", "--permission-mode", "default")
	codex := b.startCodex(t, "codex", "-a", "on-request", "-s", "read-only")
	claude.readyClaude(t)
	for _, s := range []*session{claude, codex} {
		s.say(t, "hello [[say hello]]")
		s.waitIdle(t, 20*time.Second)
	}
	b.waitListed(t, claude, codex)
	claude.statusIs(t, "idle", "client")
	codex.statusIs(t, "idle", "hooks")

	for _, s := range []*session{claude, codex} {
		t.Run(s.client+"/the model fails", func(t *testing.T) { statusFails(t, s) })
		t.Run(s.client+"/mail, and the model fails", func(t *testing.T) { statusMail(t, s) })
		t.Run(s.client+"/dialog", func(t *testing.T) { statusDialog(t, s) })
		t.Run(s.client+"/escape", func(t *testing.T) { statusEscape(t, s) }) // Claude puts the prompt back: the last case
	}
}

// TestStatusWithoutHooks: Codex tells by its rollout, with its daemon and without.
func TestStatusWithoutHooks(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	must(t, os.Remove(filepath.Join(b.home, ".codex", "hooks.json")))
	for _, s := range []*session{b.startCodex(t, "shared"), b.startCodex(t, "alone", "--no-daemon")} {
		t.Run(s.name, func(t *testing.T) {
			b.waitListed(t, s)
			s.statusIs(t, "unknown", "no_witness")
			s.say(t, "hello [[say hello]]")
			s.statusIs(t, "idle", "client")
			statusFails(t, s)
			statusEscape(t, s)
		})
	}
}

// statusIs waits until the list says so; an empty source is any.
func (s *session) statusIs(t *testing.T, status, source string) {
	t.Helper()
	var r listed
	defer func() {
		if t.Failed() {
			t.Logf("the list says of %s: %+v", s.name, r)
		}
	}()
	eventually(t, 20*time.Second, fmt.Sprintf("%s to be %s by the word of %q", s.name, status, source), func() bool {
		r = s.row(t)
		return r.Status == status && (source == "" || r.Source == source)
	})
}

func statusEscape(t *testing.T, s *session) {
	s.say(t, "think [[delay 60]] [[say never]]")
	s.statusIs(t, "working", "")
	s.key(t, "Escape")
	s.statusIs(t, "idle", "")
}

func statusFails(t *testing.T, s *session) {
	s.say(t, "fail [[fail no-money]]")
	s.waitScreen(t, 30*time.Second, "no-money$|no-money\"")
	s.statusIs(t, "idle", "client")
	s.waitIdle(t, 20*time.Second)
}

// statusMail: mail that came in a turn that failed has no Stop to be shown at, and
// wakes the session once that is known to be idle. (Claude 2.1.328 tries seven
// times, in that turn too.)
func statusMail(t *testing.T, s *session) {
	s.say(t, "fail [[delay 2]] [[fail no-credit]]")
	mail := word(t, "mail")
	s.b.peermuxOK(t, "send", s.id(), mail)
	s.waitScreen(t, 40*time.Second, "no-credit$|no-credit\"")
	s.waitTold(t, 60*time.Second, mail)
	s.waitIdle(t, 60*time.Second)
	s.once(t, mail)
}

// statusDialog: a command that the client asks its user about.
func statusDialog(t *testing.T, s *session) {
	file := filepath.Join(s.b.work, "touched-by-"+s.name)
	tool, in := "Bash", map[string]string{"command": "touch " + file}
	if s.client == "codex" {
		tool, in = "exec_command", map[string]string{"cmd": "touch " + file, "sandbox_permissions": "require_escalated", "justification": "touch"}
	}
	raw, err := json.Marshal(in)
	must(t, err)
	s.say(t, "do [[tool "+tool+" "+string(raw)+"]] [[say after]]")
	s.statusIs(t, "waiting", "")
	s.key(t, "Escape")
	s.statusIs(t, "idle", "")
	s.waitIdle(t, 20*time.Second) // the hook says so before the dialog is gone
}

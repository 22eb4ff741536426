//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDialogs: mail for a session that waits for its user approves nothing, and
// arrives when the dialog is closed.
func TestDialogs(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	t.Run("claude", func(t *testing.T) {
		s := b.startClaude(t, "careful", "--permission-mode", "default")
		file := filepath.Join(b.work, "touched-by-claude")
		raw, err := json.Marshal(map[string]string{"command": "touch " + file})
		must(t, err)
		s.say(t, "do [[tool Bash "+string(raw)+"]] [[say after]]")
		dialog(t, s, `Do you want to proceed`, file)
	})
	t.Run("codex", func(t *testing.T) {
		s := b.startCodex(t, "careful2", "-a", "on-request", "-s", "read-only")
		s.say(t, "hello [[say hello]]")
		s.waitIdle(t, 20*time.Second)
		file := filepath.Join(b.work, "touched-by-codex")
		raw, err := json.Marshal(map[string]string{"cmd": "touch " + file, "sandbox_permissions": "require_escalated", "justification": "touch"})
		must(t, err)
		s.say(t, "do [[tool exec_command "+string(raw)+"]] [[say after]]")
		dialog(t, s, `Would you like to run the following command`, file)
	})
}

// dialog sends mail while the dialog is open, checks that nothing happens, and
// then closes it as a person would, with Esc.
func dialog(t *testing.T, s *session, open, file string) {
	mail := word(t, "mail")
	s.waitScreen(t, 20*time.Second, open)
	s.b.peermuxOK(t, "send", s.id(), mail)
	stays(t, 5*time.Second, "the dialog is open, nothing ran, no mail was shown", func() bool {
		_, err := os.Stat(file)
		return s.shows(open) && os.IsNotExist(err) && s.told(mail) == 0
	})
	s.key(t, "Escape")
	s.waitTold(t, 30*time.Second, mail)
	s.waitIdle(t, 10*time.Second)
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
	s.once(t, mail)
}

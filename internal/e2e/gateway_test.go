//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// TestGateway: an app, which here is this test and touches nothing but files,
// talks to real sessions.
func TestGateway(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	b.peermuxOK(t, "gateway", "add", "voice")
	b.peermuxOK(t, "gateway", "set", "voice", "--wait", "1")
	s := b.startClaude(t, "worker")
	careful := b.startClaude(t, "careful", "--permission-mode", "default")
	t.Run("an idle session is woken and answers", func(t *testing.T) { appAsks(t, s) })
	t.Run("a message without an answer is named once at Stop", func(t *testing.T) { appReminder(t, s) })
	t.Run("clear", func(t *testing.T) { appAfterClear(t, s) })
	t.Run("waiting", func(t *testing.T) { appWaiting(t, careful) })
}

// appFolder waits for a session's folder.
func (s *session) appFolder(t *testing.T) string {
	t.Helper()
	var folder string
	eventually(t, 20*time.Second, "the folder of "+s.name, func() bool {
		cards, err := filepath.Glob(filepath.Join(s.b.home, ".peermux", "gateway", "voice", "*--*", "session.json"))
		must(t, err)
		for _, card := range cards {
			if raw, err := os.ReadFile(card); err == nil && s.id() != "" && strings.Contains(string(raw), `"`+s.id()+`"`) {
				folder = filepath.Dir(card)
				return true
			}
		}
		return false
	})
	return folder
}

// drop leaves a message for a session and returns its ULID.
func drop(t *testing.T, folder, front, body string) string {
	t.Helper()
	id := mailbox.NewID(time.Now())
	tmp := filepath.Join(folder, "in", "."+id+".tmp")
	must(t, os.WriteFile(tmp, []byte("---\n"+front+"---\n"+body+"\n"), 0o600))
	must(t, os.Rename(tmp, filepath.Join(folder, "in", id+".md")))
	return id
}

// collected waits for a message for the app that has a text, and removes it.
func collected(t *testing.T, limit time.Duration, folder, text string) string {
	t.Helper()
	var found string
	eventually(t, limit, fmt.Sprintf("%q in out/", text), func() bool {
		files, err := filepath.Glob(filepath.Join(folder, "out", "*.md"))
		must(t, err)
		for _, f := range files {
			if raw, err := os.ReadFile(f); err == nil && strings.Contains(string(raw), text) {
				found = string(raw)
				must(t, os.Remove(f))
				return true
			}
		}
		return false
	})
	return found
}

func waitFile(t *testing.T, limit time.Duration, path string) {
	t.Helper()
	eventually(t, limit, path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

func statusFile(folder string) string {
	raw, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(raw))
}

func appAsks(t *testing.T, s *session) {
	folder := s.appFolder(t)
	eventually(t, 10*time.Second, "status idle", func() bool { return statusFile(folder) == "idle" })
	question, answer := word(t, "question"), word(t, "answer")
	s.b.model.When(question, call("reply_to_message", "message_id", "{{message_id}}", "body", answer)+" [[delay 2]] [[say replied]]")
	id := drop(t, folder, "kind: ask\nsubject: a question\n", question)
	waitFile(t, 10*time.Second, filepath.Join(folder, "in", id+".seen.md"))
	s.waitTold(t, 30*time.Second, question)
	eventually(t, 10*time.Second, "status working", func() bool { return statusFile(folder) == "working" })
	got := collected(t, 30*time.Second, folder, answer)
	for _, want := range []string{"kind: tell\n", "reply_to: " + id + "\n", "to: voice\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	s.waitIdle(t, 20*time.Second)
	eventually(t, 10*time.Second, "status idle", func() bool { return statusFile(folder) == "idle" })
	s.once(t, question, "voice (an app)")
}

// appReminder: the model ends its turn without a word to the app.
func appReminder(t *testing.T, s *session) {
	const reminder = "before you stop, this still waits for you"
	folder := s.appFolder(t)
	before := s.told(reminder)
	s.say(t, "work "+s.shell("sleep 4; echo slept")+" [[say end]]")
	remark := word(t, "remark")
	id := drop(t, folder, "kind: tell\n", remark)
	s.waitTold(t, 20*time.Second, remark)
	eventually(t, 20*time.Second, "the reminder", func() bool { return s.told(reminder) == before+1 })
	s.waitIdle(t, 20*time.Second)
	all := s.requests()
	if all[len(all)-1].Told(id) < 2 {
		t.Errorf("the reminder does not name message %s", id)
	}
	s.say(t, "next [[say next-end]]")
	s.waitIdle(t, 20*time.Second)
	if n := s.told(reminder); n != before+1 {
		t.Errorf("reminded %d times, want once", n-before)
	}
}

// appAfterClear: the folder stays, and what is dropped into it reaches the
// session that goes on.
func appAfterClear(t *testing.T, s *session) {
	folder, was := s.appFolder(t), s.id()
	s.paste(t, "/clear")
	s.key(t, "Enter")
	eventually(t, 20*time.Second, "a new session id", func() bool { return s.id() != "" && s.id() != was })
	if now := s.appFolder(t); now != folder {
		t.Errorf("the folder is %s, and was %s", now, folder)
	}
	mail := word(t, "mail")
	s.b.model.When(mail, "[[say heard]]")
	drop(t, folder, "kind: tell\nurgency: high\n", mail)
	s.waitTold(t, 30*time.Second, mail)
	s.waitIdle(t, 20*time.Second)
}

// appWaiting: a permission dialog is open for a minute, then answered.
func appWaiting(t *testing.T, s *session) {
	folder := s.appFolder(t)
	waiting := func() []string {
		files, err := filepath.Glob(filepath.Join(folder, "out", "*.md"))
		must(t, err)
		return files
	}
	ask := func() {
		raw, err := json.Marshal(map[string]string{"command": "touch " + filepath.Join(s.b.work, "touched-for-app")})
		must(t, err)
		s.say(t, "do [[tool Bash "+string(raw)+"]] [[say after]]")
		s.waitScreen(t, 20*time.Second, `Do you want to proceed`)
		eventually(t, 10*time.Second, "status waiting", func() bool { return statusFile(folder) == "waiting" })
	}
	ask()
	stays(t, 10*time.Second, "nothing is said at once", func() bool { return len(waiting()) == 0 })
	eventually(t, 80*time.Second, "the waiting message", func() bool { return len(waiting()) == 1 })
	raw, err := os.ReadFile(waiting()[0])
	must(t, err)
	if !strings.Contains(string(raw), "kind: tell\n") || !strings.Contains(string(raw), "tag: waiting\n") {
		t.Errorf("the message: %s", raw)
	}
	stays(t, 5*time.Second, "it is said once", func() bool { return len(waiting()) == 1 })
	s.key(t, "Escape")
	s.waitIdle(t, 10*time.Second)
	eventually(t, 10*time.Second, "it is withdrawn", func() bool { return len(waiting()) == 0 })
	eventually(t, 10*time.Second, "status idle", func() bool { return statusFile(folder) == "idle" })
}

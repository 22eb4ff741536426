//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"peermux/internal/mockmodel"
)

// session is one client in a tmux session of its own.
type session struct {
	b            *bench
	name, client string
	pane         string
	thread       string // Codex: found at start; Claude's id is read when asked for, since /clear changes it
}

// start opens a tmux session and runs words in it as the pane's foreground job,
// as under a person's shell. The shell stays, so that a client's last words do.
func (b *bench) start(t *testing.T, name, client string, words ...string) *session {
	t.Helper()
	script := `set -m; "$@"; echo EXITED rc=$?; exec sleep 3600`
	args := append([]string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", "160", "-y", "50", "-c", b.work,
		"bash", "-c", script, "bash", "env", "TERM=xterm-256color"}, words...)
	pane, err := b.tmux(args...)
	must(t, err)
	s := &session{b: b, name: name, client: client, pane: strings.TrimSpace(pane)}
	b.sessions = append(b.sessions, s)
	return s
}

// screen is what the pane shows, without trailing blank lines.
func (s *session) screen() string {
	out, err := s.b.tmux("capture-pane", "-p", "-t", s.pane)
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(out, "\n ")
}

// shows reports whether a line of the screen matches.
func (s *session) shows(pattern string) bool {
	return regexp.MustCompile(`(?m)` + pattern).MatchString(s.screen())
}

func (s *session) waitScreen(t *testing.T, limit time.Duration, pattern string) {
	t.Helper()
	eventually(t, limit, fmt.Sprintf("%q on the screen of %s", pattern, s.name), func() bool { return s.shows(pattern) })
}

// paste puts text into the composer as a bracketed paste.
func (s *session) paste(t *testing.T, text string) {
	t.Helper()
	_, err := s.b.tmux("set-buffer", "-b", "e2e", "--", text)
	must(t, err)
	_, err = s.b.tmux("paste-buffer", "-p", "-r", "-d", "-b", "e2e", "-t", s.pane)
	must(t, err)
}

// say submits a prompt and waits until the model was asked: the person's part of
// every case. What of the text is looked for is its first word.
func (s *session) say(t *testing.T, text string) {
	t.Helper()
	before := len(s.requests())
	s.paste(t, text)
	head := strings.Fields(text)[0]
	s.waitScreen(t, 5*time.Second, `^[❯›].`+regexp.QuoteMeta(head))
	s.key(t, "Enter")
	eventually(t, 15*time.Second, s.name+"'s prompt to reach the model", func() bool { return len(s.requests()) > before })
}

// typ types literal characters, for drafts; no Enter.
func (s *session) typ(t *testing.T, text string) {
	t.Helper()
	_, err := s.b.tmux("send-keys", "-t", s.pane, "-l", "--", text)
	must(t, err)
}

// key presses one named key.
func (s *session) key(t *testing.T, name string) {
	t.Helper()
	_, err := s.b.tmux("send-keys", "-t", s.pane, name)
	must(t, err)
}

// id is the session id as the client itself tells the model.
func (s *session) id() string {
	if s.client == "codex" {
		return s.thread
	}
	c, err := s.claude()
	if err != nil {
		return ""
	}
	return c.SessionID
}

// requests are this session's turns at the model, side jobs left out.
func (s *session) requests() []mockmodel.Request { return s.b.model.Of(s.id()) }

// told counts text in what the model knows now: the session's last request.
// A client sends its whole history each time, so once there is once ever.
func (s *session) told(text string) int {
	all := s.requests()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Told(text)
}

// waitTold waits until text has reached the model, and checks that it did so once.
func (s *session) waitTold(t *testing.T, limit time.Duration, text string) mockmodel.Request {
	t.Helper()
	eventually(t, limit, fmt.Sprintf("%q to reach the model of %s", text, s.name), func() bool { return s.told(text) > 0 })
	if n := s.told(text); n != 1 {
		t.Errorf("%q reached the model of %s %d times", text, s.name, n)
	}
	for _, q := range s.requests() {
		if q.Told(text) > 0 {
			return q
		}
	}
	panic("unreachable: the request was just seen")
}

// waitIdle waits for the end of the turn.
func (s *session) waitIdle(t *testing.T, limit time.Duration) {
	t.Helper()
	eventually(t, limit, s.name+" to be idle", s.idle)
}

func (s *session) idle() bool {
	if s.client == "codex" {
		return s.codexIdle()
	}
	c, err := s.claude()
	return err == nil && c.Status == "idle"
}

// once checks, at the end of a case, that each text reached this session's model
// exactly once in all its requests.
func (s *session) once(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if n := s.told(text); n != 1 {
			t.Errorf("%q is %d times in what the model of %s knows, want once", text, n, s.name)
		}
	}
}

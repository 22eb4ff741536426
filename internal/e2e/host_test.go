//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/frame"
	"peermux/internal/ptyhost"
)

// TestWakeUnderHost: peermux run hosts a real client; its model of the screen is
// what tmux sees, and the wake goes through it, with the same gate.
func TestWakeUnderHost(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	b.peermuxOK(t, "uninstall-hook")
	b.model.When(frame.WakeLine, call("read_my_messages")+" [[say read]]")
	s := b.start(t, "hosted", "claude", "peermux", "run", "--", "claude", "--permission-mode", "bypassPermissions")
	s.readyClaude(t)
	b.waitListed(t, s)
	s.sameScreen(t)

	mail := s.post(t)
	w := s.wake(t)
	s.expectTyped(t, w)
	if w.Route != "pty" {
		t.Errorf("got route %q, want pty", w.Route)
	}
	s.arrives(t, mail)
	s.sameScreen(t)

	mail = s.post(t)
	s.typ(t, "half typed")
	s.waitScreen(t, 5*time.Second, `^❯.half typed`)
	s.heldWhile(t, mail, "a draft is in the composer", `^❯.half typed *$`)
	s.sameScreen(t)
	s.key(t, "C-u")
	s.arrives(t, mail)

	// A full-screen view, a dialog, and back.
	s.key(t, "C-o")
	s.waitScreen(t, 5*time.Second, "Showing detailed transcript")
	s.sameScreen(t)
	s.key(t, "C-o")
	s.waitIdle(t, 5*time.Second)

	_, err := b.tmux("resize-window", "-t", s.pane, "-x", "100", "-y", "30")
	must(t, err)
	s.sameScreen(t)

	s.paste(t, "/exit")
	s.waitScreen(t, 5*time.Second, `^❯./exit`)
	s.key(t, "Enter")
	s.waitScreen(t, 15*time.Second, `^EXITED rc=0`)
	if left, err := filepath.Glob(filepath.Join(b.home, ".peermux", "hosts", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// sameScreen checks the host's model against tmux's screen.
func (s *session) sameScreen(t *testing.T) {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(s.b.home, ".peermux", "hosts", "*.sock"))
	must(t, err)
	if len(sockets) != 1 {
		t.Fatalf("hosts: %v", sockets)
	}
	var got, want string
	eventually(t, 5*time.Second, "the model and tmux to show the same", func() bool {
		look, err := ptyhost.Client{Socket: sockets[0]}.Look(t.Context())
		must(t, err)
		var rows []string
		for _, l := range look.Screen.Lines {
			rows = append(rows, l.Text())
		}
		got, want = strings.TrimRight(strings.Join(rows, "\n"), "\n "), s.screen()
		same := got == want
		if !same {
			t.Logf("model:\n%s\ntmux:\n%s", got, want)
		}
		return same
	})
}

package mcpserver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"peermux/mailbox"
)

// Servers are killed while an app floods a session and the session floods the app:
// every drop has its receipt and was stored once, every message appeared once.
func TestGatewayKilledServers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	other := h.claude("watcher") // lives on, and finishes what the killed began
	h.folderOf(app, "watcher")
	const rounds, each = 6, 40
	drops, collected := 0, map[string]int{}
	collect := func() {
		files, err := filepath.Glob(filepath.Join(app.Dir, "*", "out", "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		old, err := filepath.Glob(filepath.Join(app.Dir, "gone", "*", "out", "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(append(files, old...), must(filepath.Glob(filepath.Join(app.Dir, "out", "*.md")))...) {
			if os.Remove(f) == nil { // else its folder has moved: the next look finds it
				collected[filepath.Base(f)]++
			}
		}
	}
	sent := map[string]bool{}
	for round := range rounds {
		ann := h.claude("ann")
		folder := h.folderOf(app, "ann")
		for n := range each {
			h.drop(folder, fmt.Sprintf("01KBB0T6Z2AAAAAAAAAA%02d%04d", round, n), fmt.Sprintf("---\nkind: tell\n---\nround %d drop %d\n", round, n))
			drops++
			if n%4 == 0 {
				m := mailbox.Message{Body: fmt.Sprint("out ", round, n), From: mailbox.Party{
					SessionID: "session-of-ann", Name: "ann", Box: mailbox.SessionKey("session-of-ann")}}
				sent[must(h.store().Append(app.Box(), &m, mailbox.AppendOptions{})).ID+".md"] = true
			}
			if n%8 == 0 {
				collect()
			}
		}
		if err := syscall.Kill(ann.server, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		ann.kill()
	}
	ann := h.claude("ann") // takes what is left
	eventually(t, "every drop has a receipt", func() bool {
		collect()
		seen, bad := 0, 0
		for _, pattern := range []string{"ann--*/in/01*.md", "gone/ann--*/in/01*.md"} {
			for _, f := range must(filepath.Glob(filepath.Join(app.Dir, pattern))) {
				switch {
				case strings.HasSuffix(f, ".seen.md"):
					seen++
				case strings.HasSuffix(f, ".bad.md"):
					bad++
				}
			}
		}
		return seen+bad == drops || drops == stored(t, h)+bad
	})
	eventually(t, "every message has appeared", func() bool { collect(); return len(collected) >= len(sent) })
	for name := range sent {
		if collected[name] != 1 {
			t.Errorf("%s appeared %d times", name, collected[name])
		}
	}
	_, _ = ann, other
}

// stored counts an app's drops in ann's box, each once.
func stored(t *testing.T, h *house) int {
	t.Helper()
	st, err := h.store().State(mailbox.SessionKey("session-of-ann"))
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]int{}
	for _, it := range st.Items {
		if bodies[it.Body]++; bodies[it.Body] > 1 {
			t.Errorf("%q is stored twice", it.Body)
		}
	}
	return len(bodies)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Several writers at once, and more than an inbox holds: nothing lost, nothing twice.
func TestGatewayThousands(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	const writers, each = 4, 300 // more than the 1,000 that a box holds unshown
	done := make(chan struct{})
	for w := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := range each {
				h.drop(folder, fmt.Sprintf("01KBB0T6Z2AAAAAAAAAA%02d%04d", w, n), fmt.Sprintf("---\nkind: tell\nurgency: low\n---\nwriter %d drop %d\n", w, n))
			}
		}()
	}
	for range writers {
		<-done
	}
	got := map[string]int{}
	for len(got) < writers*each {
		before := len(got)
		eventually(t, fmt.Sprint("more than ", before, " are read"), func() bool {
			for _, m := range ann.must("read_my_messages", map[string]any{"limit": 200}).list("messages") {
				got[result(m.(map[string]any)).text("body")]++
			}
			return len(got) > before
		})
	}
	for body, n := range got {
		if n != 1 {
			t.Errorf("%q was shown %d times", body, n)
		}
	}
	eventually(t, "all have receipts", func() bool {
		return len(must(filepath.Glob(filepath.Join(folder, "in", "*.seen.md")))) == writers*each
	})
}

// Two servers of one session, as a doubled registration gives: each drop is taken
// by one of them, and the folder stays while one of them lives.
func TestGatewayTwoServersOfOneSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	one, two := h.claude("ann"), h.claude("ann")
	folder := h.folderOf(app, "ann")
	const drops = 60
	for n := range drops {
		h.drop(folder, fmt.Sprintf("01KBB0T6Z2AAAAAAAAAAAA%04d", n), fmt.Sprintf("---\nkind: tell\n---\ndrop %d\n", n))
		if n == drops/2 {
			one.kill()
		}
	}
	eventually(t, "all have receipts", func() bool {
		return len(must(filepath.Glob(filepath.Join(folder, "in", "*.seen.md")))) == drops
	})
	if n := stored(t, h); n != drops {
		t.Errorf("%d drops are stored, want %d", n, drops)
	}
	two.in.Close()
	eventually(t, "the folder goes with the last server", notThere(folder))
}

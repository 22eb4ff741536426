package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// crowd is how full a home is.
type crowd struct {
	sessions int // live, each a real process
	boxes    int // theirs, and those of sessions that are gone
	inBox    int // messages, all but waiting of them read
}

// waiting is how many messages wait in each box.
const waiting = 2

// crowdedHome is a home with a crowd in it, and the folder of the person whose it is.
// A session called me is the child of this very process, so that what a test starts
// acts as that session.
type crowdedHome struct {
	crowd
	board   *switchboard.Board
	user    string // HOME
	project string
	live    []registry.Entry
	me      registry.Entry
}

// crowded makes the home. Its journals are written as they are after a session's
// life, so that 100,000 messages take seconds. processes are those of the live ones.
func crowded(t *testing.T, c crowd, processes []proc.ID) *crowdedHome {
	t.Helper()
	dir := t.TempDir()
	h := &crowdedHome{crowd: c, user: filepath.Join(dir, "user"), project: filepath.Join(dir, "user", "parser")}
	if err := os.MkdirAll(h.project, 0o700); err != nil {
		t.Fatal(err)
	}
	h.board, _ = boardOf(t, filepath.Join(h.user, ".peermux"), time.Now())
	h.board.UserHome = h.user
	words := usedBox(t, h.board, c.inBox)
	for n := range c.boxes - c.sessions - 1 { // and the one that was copied
		e := h.entry(n, proc.ID{PID: 1, Start: "gone"})
		e.SessionID = fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		e.Box = mailbox.SessionKey(e.SessionID)
		path := mailbox.JournalPath(h.board.Home, e.Box)
		words.into(t, path, n)
		last := time.Now().AddDate(0, 0, -2-n%20)
		if err := os.Chtimes(path, last, last); err != nil {
			t.Fatal(err)
		}
		h.remember(t, "ended", e)
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	for n, process := range processes {
		e := h.entry(n, process)
		if n == 0 {
			e.Name, e.Client.PID, e.Client.Start = "me", self.PID, self.Start
			h.me = e
		}
		if err := h.board.Registry.Put(e); err != nil {
			t.Fatal(err)
		}
		words.into(t, mailbox.JournalPath(h.board.Home, e.Box), c.boxes+n)
		h.talk(t, e)
		h.live = append(h.live, e)
	}
	return h
}

// person is who sits at the keyboard.
func (h *crowdedHome) person() switchboard.Actor {
	return switchboard.Actor{
		Party: mailbox.Party{Name: "user", Box: mailbox.UserKey(""), Project: h.project}, Kind: registry.ToUser, Dir: h.project,
	}
}

func (h *crowdedHome) entry(n int, process proc.ID) registry.Entry {
	id := fmt.Sprintf("11111111-0000-4000-8000-%012d", n)
	return registry.Entry{
		PID: process.PID, Start: process.Start, SessionID: id, Box: mailbox.SessionKey(id), Name: fmt.Sprintf("s%d", n),
		Client: registry.Client{Kind: registry.Claude, PID: process.PID, Start: process.Start, Mode: registry.Interactive},
		CWD:    h.project, Project: h.project, StartedAt: time.Now(),
	}
}

// remember writes the record of a session that has ended.
func (h *crowdedHome) remember(t *testing.T, folder string, e registry.Entry) {
	t.Helper()
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.board.Home, folder, e.Box+".json"), data)
}

// talk writes the transcript of a session.
func (h *crowdedHome) talk(t *testing.T, e registry.Entry) {
	t.Helper()
	var text bytes.Buffer
	for i := range 10 {
		fmt.Fprintf(&text, `{"type":"user","uuid":"u%d","sessionId":%q,"cwd":%q,"timestamp":"2026-06-01T12:00:00.000Z","message":{"role":"user","content":"question %d"}}`+"\n"+
			`{"type":"assistant","uuid":"a%d","sessionId":%q,"cwd":%q,"timestamp":"2026-06-01T12:00:01.000Z","message":{"id":"m%d","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"answer"}]}}`+"\n",
			i, e.SessionID, h.project, i, i, e.SessionID, h.project, i)
	}
	folder := regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(h.project, "-")
	write(t, filepath.Join(h.user, ".claude", "projects", folder, e.SessionID+".jsonl"), text.Bytes())
}

// sleepers are processes that live as long as the test.
func sleepers(t *testing.T, n int) (ids []proc.ID) {
	t.Helper()
	for range n {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			// Its error is that it was killed.
			_ = cmd.Wait()
		})
		info, err := proc.Stat(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

// ownDigits is how many digits at the end of a message id tell the boxes apart.
const ownDigits = 4

// template is a journal of which each box gets a copy with message ids of its own.
type template struct {
	parts [][]byte // those digits are missing after each but the last
}

// usedBox makes a box with read mail, compacted, and a little that waits.
func usedBox(t *testing.T, b *switchboard.Board, messages int) template {
	t.Helper()
	key := mailbox.SessionKey("gone-first")
	for n := range messages {
		if n == messages-waiting {
			claim, err := b.Store.Claim(key, mailbox.ClaimOptions{Reader: "gone"})
			if err != nil {
				t.Fatal(err)
			}
			if err := claim.Shown(); err != nil {
				t.Fatal(err)
			}
			if err := b.Store.Compact(key); err != nil {
				t.Fatal(err)
			}
		}
		m := mailbox.Message{
			ID:   mailbox.NewID(b.Now())[:10] + fmt.Sprintf("%012d%0*d", n, ownDigits, 0),
			Body: fmt.Sprintf("%d %s", n, strings.Repeat("words ", 50)),
		}
		if _, err := b.Store.Append(key, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(mailbox.JournalPath(b.Home, key))
	if err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	for _, at := range regexp.MustCompile(`"[0-9A-HJKMNP-TV-Z]{26}"`).FindAllIndex(journal, -1) {
		done := len(bytes.Join(parts, nil)) + len(parts)*ownDigits
		parts = append(parts, journal[done:at[1]-1-ownDigits])
	}
	done := len(bytes.Join(parts, nil)) + len(parts)*ownDigits
	return template{append(parts, journal[done:])}
}

// into writes the copy of box n.
func (j template) into(t *testing.T, path string, n int) {
	t.Helper()
	write(t, path, bytes.Join(j.parts, fmt.Appendf(nil, "%0*d", ownDigits, n)))
}

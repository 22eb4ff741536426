package wake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"peermux/internal/proc"
	"peermux/mailbox"
)

// The stand-in is this test program, run in a pane: a client whose composer logs
// every read with its time, and which can be told to behave badly.

// standIn is its configuration, passed as JSON in PEERMUX_STANDIN.
type standIn struct {
	Kind  string // claude, codex, other
	Dir   string // for log and pid
	Home  string // of peermux
	Box   string
	Draft string // text that stands in the composer at the start
	Ghost string // dim suggestion in an empty composer

	BurstNewline bool   // Enter within 120 ms of a burst is a newline (Codex)
	SwallowEnter int    // that many Enters do nothing
	OnPaste      string // dialog, copy-mode, die, stop, hang, draft, forget, read: happens before the echo
	Deaf         bool   // submits, but its hooks show no mail
	Silent       bool   // submits without ever changing its status
}

func TestMain(m *testing.M) {
	switch os.Getenv("PEERMUX_TEST_HOST") {
	case "host":
		hostMain()
		return
	case "leader":
		leaderMain()
		return
	}
	if conf := os.Getenv("PEERMUX_STANDIN"); conf != "" {
		var s standIn
		if err := json.Unmarshal([]byte(conf), &s); err != nil {
			panic(err)
		}
		s.main()
		return
	}
	if job := os.Getenv("PEERMUX_WAKER"); job != "" {
		wakerMain(job)
		return
	}
	if filepath.Base(os.Args[0]) == "codex" {
		fakeCodex()
		return
	}
	os.Exit(m.Run())
}

// composer is the state of the running stand-in.
type composer struct {
	standIn
	log    *os.File
	self   proc.Info
	text   string
	dialog bool
	status string
	paste  bool
	burst  time.Time
}

func (s standIn) main() {
	c := &composer{standIn: s, text: s.Draft}
	var err error
	if c.log, err = os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		panic(err)
	}
	if c.self, err = proc.Self(); err != nil {
		panic(err)
	}
	if _, err := term.MakeRaw(0); err != nil {
		panic(err)
	}
	c.setStatus("idle")
	c.draw()
	if err := os.WriteFile(filepath.Join(s.Dir, "pid"), []byte(fmt.Sprint(c.self.PID)), 0o600); err != nil {
		panic(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		c.note("read %q", buf[:n])
		c.input(buf[:n])
		c.draw()
	}
}

// note logs one line with the time in microseconds.
func (c *composer) note(format string, args ...any) {
	fmt.Fprintf(c.log, "%d %s\n", time.Now().UnixMicro(), fmt.Sprintf(format, args...))
}

func (c *composer) input(data []byte) {
	for len(data) > 0 {
		switch {
		case bytes.HasPrefix(data, []byte("\x1b[200~")):
			c.paste, data = true, data[6:]
		case bytes.HasPrefix(data, []byte("\x1b[201~")):
			c.paste, data = false, data[6:]
			c.pasted()
		case data[0] == '\r' && !c.paste:
			c.enter()
			data = data[1:]
		default:
			if !c.dialog { // the clients' dialogs ignore pasted text
				c.text += string(data[:1])
			}
			c.burst = time.Now()
			data = data[1:]
		}
	}
}

// pasted does what was asked for before the pasted text is shown.
func (c *composer) pasted() {
	switch c.OnPaste {
	case "dialog":
		c.dialog = true
		c.setStatus("waiting")
	case "copy-mode":
		// Before the echo, so that the wake cannot be quicker.
		if out, err := exec.Command("tmux", "copy-mode", "-t", os.Getenv("TMUX_PANE")).CombinedOutput(); err != nil {
			c.note("copy-mode: %v %s", err, out)
		}
	case "die":
		os.Exit(0)
	case "draft": // the person goes on typing in the same moment
		c.text += " and more"
	case "forget":
		c.text = ""
	case "read":
		c.show()
	}
}

func (c *composer) enter() {
	switch {
	case c.dialog:
		c.note("APPROVED")
		c.dialog = false
	case c.BurstNewline && time.Since(c.burst) < 120*time.Millisecond:
		c.text += "\n"
	case c.SwallowEnter > 0:
		c.SwallowEnter--
	case c.text == "":
	default:
		c.note("SUBMIT %q", c.text)
		c.text = ""
		c.turn()
	}
}

// turn is a turn of the model: its hook shows the mail that waits.
func (c *composer) turn() {
	if !c.Silent {
		c.setStatus("busy")
	}
	c.draw()
	if !c.Deaf {
		c.show()
	}
	if !c.Silent {
		c.setStatus("idle")
	}
}

// show puts the mail that waits in front of the model, as a hook does.
func (c *composer) show() {
	store, err := mailbox.Open(c.Home, time.Now)
	if err != nil {
		panic(err)
	}
	claim, err := store.Claim(c.Box, mailbox.ClaimOptions{Via: "hook", PID: c.self.PID, Start: c.self.Start, Limit: 100})
	if err != nil {
		panic(err)
	}
	if err := claim.Shown(); err != nil {
		panic(err)
	}
	c.note("SHOWN %d", len(claim.Messages))
}

// setStatus writes Claude's own session file; the other kinds have none.
func (c *composer) setStatus(status string) {
	c.status = status
	if c.Kind != "claude" {
		return
	}
	now := time.Now().UnixMilli()
	session := map[string]any{
		"pid": c.self.PID, "sessionId": "stand-in", "procStart": c.self.Start, "kind": "interactive",
		"entrypoint": "cli", "status": status, "statusUpdatedAt": now, "startedAt": now,
	}
	if status == "waiting" {
		session["waitingFor"] = "permission prompt"
	}
	data, err := json.Marshal(session)
	if err != nil {
		panic(err)
	}
	dir := filepath.Join(os.Getenv("HOME"), ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	temp := filepath.Join(dir, "temp")
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(temp, filepath.Join(dir, fmt.Sprint(c.self.PID)+".json")); err != nil {
		panic(err)
	}
}

// draw paints the whole screen, as each client does.
func (c *composer) draw() {
	var b strings.Builder
	b.WriteString("\x1b[?2004h\x1b[H\x1b[2J")
	shown := strings.ReplaceAll(c.text, "\n", "\r\n  ")
	ghost := ""
	if c.text == "" && c.Ghost != "" {
		ghost = "\x1b7\x1b[2m" + c.Ghost + "\x1b[22m\x1b8"
	}
	rule := strings.Repeat("─", 80)
	switch {
	case c.dialog:
		b.WriteString("Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n Esc to cancel")
	case c.Kind == "claude":
		b.WriteString("Claude Code\r\n\n" + rule + "\r\n\n" + rule + "\r\n  ? for shortcuts\x1b[4;1H❯\u00a0" + shown + ghost)
	case c.Kind == "codex":
		busy := ""
		if c.status == "busy" {
			busy = "• Working (1s • esc to interrupt)"
		}
		b.WriteString(busy + "\r\n\n\n\n  GPT-5.5 default · /dir\r\n  ← for agents · ? for shortcuts\x1b[3;1H\x1b[1m›\x1b[0m " + shown + ghost)
	default:
		b.WriteString("other agent\r\n\n╭──────╮\r\n│ > " + strings.Repeat(" ", 60) + " │\r\n╰──────╯\r\n  ready\x1b[4;5H" + shown + ghost)
	}
	if _, err := os.Stdout.WriteString(b.String()); err != nil {
		os.Exit(0)
	}
}

package agentsim

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// view is what the agent shows at one moment.
type view struct {
	client, cwd string
	transcript  []string // lines, oldest first
	draft       string
	busy        bool
}

// terminal draws views. It redraws whole screens: they are small and rare.
type terminal struct {
	out   *os.File
	state *term.State
}

// openTerminal puts the terminal into the mode both clients use: raw, alternate
// screen, bracketed paste.
func openTerminal(in, out *os.File) (*terminal, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("a stand-in agent needs a terminal: %w", err)
	}
	t := &terminal{out: out, state: state}
	_, err = io.WriteString(out, "\x1b[?1049h\x1b[?2004h")
	return t, err
}

func (t *terminal) close(in *os.File) error {
	if _, err := io.WriteString(t.out, "\x1b[?2004l\x1b[?1049l"); err != nil {
		return err // the terminal is gone, and its mode with it
	}
	return term.Restore(int(in.Fd()), t.state)
}

func (t *terminal) draw(v view) error {
	w, h, err := term.GetSize(int(t.out.Fd()))
	if err != nil || w < 20 || h < 8 {
		w, h = 80, 24 // a size of 0 is what a fresh PTY has
	}
	_, err = io.WriteString(t.out, render(v, w, h))
	return err
}

// render gives the bytes that draw v on a w×h terminal and put the cursor where
// the client has it.
func render(v view, w, h int) string {
	box, prompt := claudeBox(v, w), "❯\u00a0"
	title := "✳ Claude Code" // 2.1.328 shows the same while busy
	if v.client == "codex" {
		box, prompt = codexBox(v), "› "
		title = "stand-in | project"
		if v.busy {
			title = "⠹ " + title
		}
	}
	room := h - len(box.lines)
	lines := v.transcript[max(0, len(v.transcript)-room):]

	var b strings.Builder
	fmt.Fprintf(&b, "\x1b]2;%s\a\x1b[?25l\x1b[H\x1b[2J", title)
	for i, l := range lines {
		fmt.Fprintf(&b, "\x1b[%d;1H%s", i+1, cut(l, w))
	}
	for i, l := range box.lines {
		fmt.Fprintf(&b, "\x1b[%d;1H%s", room+i+1, l)
	}
	x := utf8.RuneCountInString(prompt) + utf8.RuneCountInString(oneLine(v.draft))
	fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", room+box.cursor+1, min(x, w-1)+1)
	return b.String()
}

// box is the bottom of the screen; cursor is the composer's line in it.
type box struct {
	lines  []string
	cursor int
}

func claudeBox(v view, w int) box {
	rule := strings.Repeat("─", w)
	footer := "  ⏸ manual mode on"
	switch {
	case v.draft != "": // with a draft only the mode remains, idle or busy
	case v.busy:
		footer += " · esc to interrupt · ← for agents"
	default:
		footer += " · ? for shortcuts · ← for agents"
	}
	spinner := ""
	if v.busy {
		spinner = "✻ Working…"
	}
	return box{lines: []string{spinner, "", rule, cut("❯\u00a0"+oneLine(v.draft), w), rule, footer}, cursor: 3}
}

func codexBox(v view) box {
	spinner := ""
	if v.busy {
		spinner = "• Working (0s • esc to interrupt)"
	}
	composer, footer := "\x1b[1m›\x1b[0m "+oneLine(v.draft), "  ← for agents · ? for shortcuts"
	if v.draft == "" {
		composer += "\x1b[2mAsk Codex to do anything\x1b[0m"
	} else {
		footer = ""
	}
	return box{lines: []string{spinner, "", composer, "", "  GPT-5.5 default · " + v.cwd, footer}, cursor: 2}
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func cut(s string, w int) string {
	if r := []rune(oneLine(s)); len(r) > w {
		return string(r[:w])
	}
	return oneLine(s)
}

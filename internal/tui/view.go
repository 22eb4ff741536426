package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
	"peermux/registry"
)

// look holds the styles. The basic sixteen colours are the terminal's own, so
// they suit light and dark; nothing is said by colour alone.
type look struct{ bold, dim, working, waiting, trouble, cursor ansi.Style }

func styles() look {
	s := ansi.NewStyle
	return look{
		bold: s().Bold(), dim: s().Faint(),
		working: s().ForegroundColor(ansi.Green), waiting: s().ForegroundColor(ansi.Yellow).Bold(),
		trouble: s().ForegroundColor(ansi.Red).Bold(), cursor: s().Reverse(true),
	}
}

// lines is the whole screen, exactly as high and at most as wide as the terminal.
func (m *model) lines() []string {
	var body []string
	room := max(1, m.height-m.footerHeight())
	switch m.screen {
	case mailPage:
		body = m.mailLines(room)
	case threadPage:
		body = m.threadLines(room)
	case helpPage:
		body = squeeze(helpLines(), room)
	default:
		body = m.overviewLines(room)
	}
	body = fill(body, room)
	return m.fit(append(body, m.footer()...))
}

func fill(lines []string, n int) []string {
	if len(lines) > n {
		return lines[:n]
	}
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// squeeze drops empty lines when there are too many.
func squeeze(lines []string, room int) []string {
	if len(lines) <= room {
		return lines
	}
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" })
}

func (m *model) fit(lines []string) []string {
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.width, "…")
	}
	return lines
}

func (m *model) footerHeight() int {
	if m.strip && m.asking == none && m.message == "" {
		return 0
	}
	return 1
}

// footer is the input line, what came of the last action, or the keys.
func (m *model) footer() []string {
	st := styles()
	switch {
	case m.footerHeight() == 0:
		return nil
	case m.asking != none:
		return []string{st.bold.Styled(m.label()) + m.input.view(m.width-ansi.StringWidth(m.label()))}
	case m.message != "" && m.failed:
		return []string{st.trouble.Styled("! ") + frame.Line(m.message, m.width)}
	case m.message != "":
		return []string{frame.Line(m.message, m.width)}
	}
	return []string{st.dim.Styled(m.screen.footLine())}
}

func (m *model) overviewLines(room int) []string {
	head := []string{m.header()}
	if m.listErr != nil {
		return append(head, styles().trouble.Styled("! ")+frame.Line(switchboard.AsError(m.listErr).Message, m.width))
	}
	if m.strip {
		return append(head, m.sessionLines(room-1)...)
	}
	lines := append(head, m.sessionLines(max(3, room/2))...)
	for _, ring := range m.rings {
		lines = append(lines, styles().trouble.Styled("ring: ")+strings.Join(ring, " → ")+" wait for each other")
	}
	left := room - len(lines) - 1
	if left < 3 {
		return lines
	}
	return append(lines, m.below(left)...)
}

// below puts the conversation and the preview side by side where there is room,
// else shows the one that has the focus.
func (m *model) below(room int) []string {
	st := styles()
	if m.width < 110 {
		if m.talkFocus {
			return append([]string{m.rule("conversation" + m.filtered())}, m.talkLines(room, m.width)...)
		}
		half := room / 2
		lines := append([]string{m.rule("conversation" + m.filtered())}, fill(m.talkLines(half, m.width), half)...)
		if room-half < 3 {
			return lines
		}
		return append(append(lines, m.rule(m.previewTitle())), m.previewLines(room-half-1, m.width)...)
	}
	left := m.width * 11 / 20
	right := m.width - left - 3
	talk := fill(m.talkLines(room, left), room)
	shown := fill(m.previewLines(room, right), room)
	lines := []string{pad(rule("conversation"+m.filtered(), left), left) + st.dim.Styled(" ┬ ") + rule(m.previewTitle(), right)}
	for i := range talk {
		lines = append(lines, pad(talk[i], left)+st.dim.Styled(" │ ")+ansi.Truncate(shown[i], right, "…"))
	}
	return lines
}

func (m *model) filtered() string {
	if m.filter == "" {
		return ""
	}
	return " with " + frame.Line(m.filter, 30)
}

func (m *model) rule(title string) string { return rule(title, m.width) }

func rule(title string, width int) string {
	line := "── " + title + " "
	if n := width - ansi.StringWidth(line); n > 0 {
		line += strings.Repeat("─", n)
	}
	return styles().dim.Styled(ansi.Truncate(line, width, ""))
}

func pad(s string, width int) string {
	s = ansi.Truncate(s, width, "…")
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// header says what is shown and what needs the person.
func (m *model) header() string {
	st := styles()
	waiting, working := 0, 0
	for _, s := range m.sessions {
		switch s.Status {
		case registry.Waiting:
			waiting++
		case registry.Working:
			working++
		}
	}
	where := m.scope
	if m.scope == switchboard.ScopeProject {
		where = "project " + base(m.actor.Project)
	}
	line := st.bold.Styled("peermux") + "  " + where + fmt.Sprintf("  %d sessions, %d working", len(m.sessions), working)
	if waiting > 0 {
		line += "  " + st.waiting.Styled(fmt.Sprintf("⏳ %d wait for you", waiting))
	}
	if m.talkFocus {
		line += st.dim.Styled("  [conversation]")
	}
	return line
}

func base(path string) string {
	return frame.Line(path[strings.LastIndexByte(path, '/')+1:], 40)
}

// since is how long ago, in one unit.
func (m *model) since(t time.Time) string {
	d := m.now().Sub(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

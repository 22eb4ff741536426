package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
	"peermux/registry"
)

// column of the sessions' table; the last ones go first when it gets narrow.
type column struct {
	title string
	width int // 0: what is left
	cell  func(m *model, s switchboard.SessionRow) string
}

func columns() []column {
	return []column{
		{"NAME", 16, func(_ *model, s switchboard.SessionRow) string { return s.Name }},
		{"STATUS", 14, (*model).statusCell},
		{"CLIENT", 7, func(_ *model, s switchboard.SessionRow) string { return s.Client }},
		{"MAIL", 5, func(_ *model, s switchboard.SessionRow) string { return number(s.Unread) }},
		{"TASKS", 5, func(_ *model, s switchboard.SessionRow) string { return number(s.OpenTasks) }},
		{"WAITS FOR", 12, (*model).waitsCell},
		{"PANE", 5, func(_ *model, s switchboard.SessionRow) string { return s.Pane }},
		{"BRANCH", 14, func(_ *model, s switchboard.SessionRow) string { return s.Branch }},
		{"ABOUT", 0, aboutCell},
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (m *model) statusCell(s switchboard.SessionRow) string {
	word := s.Status
	if s.StatusSince != nil {
		word += " " + m.since(*s.StatusSince)
	}
	return word
}

func (m *model) waitsCell(s switchboard.SessionRow) string {
	var names []string
	for _, w := range s.WaitingFor {
		names = append(names, w.Name+" "+m.since(w.Since))
	}
	return strings.Join(names, ", ")
}

// aboutCell is whatever matters most about a session beyond its numbers.
func aboutCell(_ *model, s switchboard.SessionRow) string {
	switch {
	case s.WaitsOn != "":
		return "asks its user: " + s.WaitsOn
	case s.Held != "":
		return "not woken: " + s.Held
	case len(s.Locks) > 0:
		return "holds: " + s.Locks[0]
	}
	return s.Purpose
}

// sessionLines is the table, scrolled so that the selected row is seen.
func (m *model) sessionLines(room int) []string {
	if len(m.sessions) == 0 {
		if !m.loaded {
			return []string{"looking …"}
		}
		return []string{"no session is running here; start claude or codex, or press g for a wider scope"}
	}
	st := styles()
	cols := columns()
	for len(cols) > 3 && used(cols) > m.width-2 {
		cols = append(cols[:len(cols)-2], cols[len(cols)-1])
	}
	lines := []string{st.dim.Styled("  " + m.row(cols, func(c column) string { return c.title }))}
	at := 0
	for i, s := range m.sessions {
		if key(s) == m.chosen {
			at = i
		}
	}
	first := max(0, at-(room-2))
	for i := first; i < len(m.sessions) && len(lines) < room; i++ {
		lines = append(lines, m.sessionLine(cols, m.sessions[i]))
	}
	if hidden := len(m.sessions) - first - (len(lines) - 1); hidden > 0 && len(lines) > 1 {
		lines[len(lines)-1] = st.dim.Styled(fmt.Sprintf("  … %d more", hidden+1))
	}
	return lines
}

func (m *model) sessionLine(cols []column, s switchboard.SessionRow) string {
	st := styles()
	row := m.row(cols, func(c column) string { return frame.Line(c.cell(m, s), 200) })
	mark := "  "
	if key(s) == m.chosen {
		mark = "› "
		if !m.talkFocus {
			return st.cursor.Styled(pad(mark+row, m.width))
		}
	}
	switch s.Status {
	case registry.Waiting:
		return st.waiting.Styled(mark + row)
	case registry.Working:
		return st.working.Styled(mark + row)
	}
	return mark + row
}

func used(cols []column) int {
	n := 12 // for the last one
	for _, c := range cols {
		n += c.width + 2
	}
	return n
}

func (m *model) row(cols []column, cell func(column) string) string {
	var b strings.Builder
	for _, c := range cols {
		if c.width == 0 {
			b.WriteString(ansi.Truncate(cell(c), max(8, m.width-2-b.Len()), "…"))
			break
		}
		b.WriteString(pad(cell(c), c.width) + "  ")
	}
	return strings.TrimRight(b.String(), " ")
}

// talkLines is the newest part of the conversation that fits, oldest first.
func (m *model) talkLines(room, width int) []string {
	talk := m.talk()
	end := max(0, len(talk)-m.back)
	var lines []string
	for i := max(0, end-room); i < end; i++ {
		line := ansi.Truncate(m.eventLine(talk[i]), width, "…")
		if m.talkFocus && i == end-1 {
			line = styles().cursor.Styled(pad(line, width))
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return []string{styles().dim.Styled("nothing was said yet")}
	}
	return lines
}

func (m *model) eventLine(e switchboard.Event) string {
	what := e.Event
	switch {
	case e.State != "":
		what = e.State
	case e.Event == switchboard.EventSent && e.Kind != "":
		what = e.Kind
	}
	about := ""
	switch {
	case e.Event == switchboard.EventSent && e.Subject != "":
		about = e.Subject
	case e.Event == switchboard.EventSent:
		about = e.Body
	case e.Via != "":
		about = "by " + e.Via
	}
	line := fmt.Sprintf("%s %-7s %s → %s  %s", e.At.Local().Format("15:04:05"), frame.Line(what, 20),
		frame.Line(e.From, 40), frame.Line(e.To, 40), frame.Line(about, 400))
	if e.Event != switchboard.EventSent {
		return styles().dim.Styled(line)
	}
	return line
}

func (m *model) previewTitle() string {
	s, ok := m.selected()
	if !ok {
		return "nothing selected"
	}
	return s.Name + ", " + m.previewMode
}

// previewLines is the end of what the selected session shows.
func (m *model) previewLines(room, width int) []string {
	s, ok := m.selected()
	if !ok || m.preview1.name != s.Name {
		return nil
	}
	if m.preview1.err != nil {
		return wrap(switchboard.AsError(m.preview1.err).Message, width)
	}
	var lines []string
	read := m.preview1.read
	if read.Text != "" {
		for _, l := range strings.Split(strings.TrimRight(frame.Clean(read.Text), "\n "), "\n") {
			lines = append(lines, ansi.Truncate(l, width, "…"))
		}
	}
	if read.Text == "" && len(read.Turns) == 0 {
		for _, note := range read.Notes {
			lines = append(lines, wrap(note, width)...)
		}
	}
	for _, t := range read.Turns {
		mark := t.Role + ": "
		lines = append(lines, wrap(mark+frame.Clean(t.Text), width)...)
	}
	return lines[max(0, len(lines)-room):]
}

func wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(strings.TrimSpace(text), max(10, width), " -"), "\n")
}

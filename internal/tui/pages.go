package tui

import (
	"fmt"

	"peermux/internal/frame"
	"peermux/internal/switchboard"
)

// mailLines is a mailbox: a line for each message, and the one under the cursor
// in full.
func (m *model) mailLines(room int) []string {
	st := styles()
	title := "your mail"
	if m.mail.box != "" {
		title = "mail of " + m.mail.box
		if s, ok := m.selected(); ok && handle(s) == m.mail.box {
			title = "mail of " + s.Name
		}
	}
	lines := []string{m.rule(title)}
	messages := m.mail.read.Messages
	if len(messages) == 0 {
		return append(lines, st.dim.Styled("no mail"))
	}
	list := max(2, room/2)
	first := max(0, m.cursor-list+1)
	for i := first; i < len(messages) && i < first+list; i++ {
		line := m.mailLine(messages[i])
		if i == m.cursor {
			line = st.cursor.Styled(pad(line, m.width))
		}
		lines = append(lines, line)
	}
	mail, ok := m.current1()
	if !ok {
		return lines
	}
	lines = append(lines, m.rule(mail.MessageID))
	if mail.Subject != "" {
		lines = append(lines, st.bold.Styled(frame.Line(mail.Subject, m.width)))
	}
	return append(lines, wrap(frame.Clean(mail.Body), m.width)...)
}

func (m *model) mailLine(mail switchboard.Mail) string {
	mark := "●"
	if mail.ShownAt != nil {
		mark = " "
	}
	state := mail.Closed
	if mail.Answered != "" {
		state = "answered"
	}
	text := mail.Subject
	if text == "" {
		text = mail.Body
	}
	return fmt.Sprintf("%s %4s %-6s %-9s %s  %s", mark, m.since(mail.SentAt), mail.Kind, state,
		frame.Line(mail.From.Name, 30), frame.Line(text, m.width))
}

// threadLines is everything that belongs to one message: what it answers, and
// what answers it.
func (m *model) threadLines(room int) []string {
	lines := []string{m.rule("thread")}
	for _, e := range m.threadEvents() {
		if e.Event != switchboard.EventSent {
			lines = append(lines, "      "+m.eventLine(e))
			continue
		}
		lines = append(lines, styles().bold.Styled(fmt.Sprintf("%s %s  %s → %s", e.At.Local().Format("15:04:05"), frame.Line(e.Kind, 20), frame.Line(e.From, 40), frame.Line(e.To, 40))))
		for _, l := range wrap(frame.Clean(e.Body), m.width-6) {
			lines = append(lines, "      "+l)
		}
	}
	return lines[max(0, len(lines)-room):]
}

// threadEvents collects the events that the chosen message is connected with by
// answers, in the order in which they happened.
func (m *model) threadEvents() []switchboard.Event {
	in := map[string]bool{m.root: true}
	for grew := true; grew; {
		grew = false
		for _, e := range m.events {
			if e.ReplyTo == "" || in[e.MessageID] == in[e.ReplyTo] {
				continue
			}
			in[e.MessageID], in[e.ReplyTo], grew = true, true, true
		}
	}
	var events []switchboard.Event
	for _, e := range m.events {
		if in[e.MessageID] {
			events = append(events, e)
		}
	}
	return events
}

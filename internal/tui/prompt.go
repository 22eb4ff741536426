package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/frame"
)

// prompt is what the input line is for.
type prompt int

const (
	none prompt = iota
	toSend
	toAsk
	toFilter
	toReply
	toClose
)

// label stands before the input.
func (m *model) label() string {
	switch m.asking {
	case toSend:
		return "send to " + m.aim.Name + ": "
	case toAsk:
		return "ask " + m.aim.Name + ": "
	case toFilter:
		return "filter: "
	case toReply:
		return "reply to " + frame.Line(m.letter.From.Name, 30) + ": "
	case toClose:
		return "done, note: "
	}
	return ""
}

// ask opens the input line. What is typed is for the session and the message that
// are selected now: another one may be when it is entered.
func (m *model) ask(p prompt, text string) tea.Cmd {
	m.asking = p
	m.aim, _ = m.selected()
	m.letter, _ = m.current1()
	m.input.set(text)
	return nil
}

// inputKeys work while the input line is open; every other key is text.
func inputKeys() []binding {
	return []binding{
		{keys: []string{"enter"}, help: "do it", do: (*model).entered},
		{keys: []string{"esc", "ctrl+c"}, help: "leave it", do: (*model).closeInput},
	}
}

// typed handles a key while the input line is open.
func (m *model) typed(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		for _, b := range inputKeys() {
			if slices.Contains(b.keys, press.String()) {
				return b.do(m)
			}
		}
	}
	m.input.update(msg)
	if m.asking == toFilter {
		m.filter, m.back = m.input.value(), 0
	}
	return nil
}

func (m *model) closeInput() tea.Cmd {
	m.asking = none
	return nil
}

func (m *model) entered() tea.Cmd {
	p, text := m.asking, strings.TrimSpace(m.input.value())
	m.closeInput()
	switch p {
	case toFilter:
		m.filter, m.back = text, 0
	case toSend:
		return m.send(m.aim, text)
	case toAsk:
		return m.question(m.aim, text)
	case toReply:
		return m.reply(m.letter.MessageID, text)
	case toClose:
		return m.closeWork(m.letter.MessageID, text)
	}
	return nil
}

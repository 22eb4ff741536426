package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/switchboard"
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

func (p prompt) label(whom string) string {
	switch p {
	case toSend:
		return "send to " + whom + ": "
	case toAsk:
		return "ask " + whom + ": "
	case toFilter:
		return "filter: "
	case toReply:
		return "reply to " + whom + ": "
	case toClose:
		return "done, note: "
	}
	return ""
}

// key handles what the person types.
func (m *model) key(msg tea.Msg) tea.Cmd {
	if m.asking != none {
		return m.typed(msg)
	}
	press, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil // pasted where nothing can be pasted
	}
	k := press.String()
	if k == "ctrl+c" || k == "q" && m.screen == overview {
		return tea.Quit
	}
	switch m.screen {
	case overview:
		return m.overviewKey(k)
	case mailPage:
		return m.mailKey(k)
	}
	if k == "esc" || k == "q" || k == "?" || k == "t" {
		m.screen = overview
	}
	return nil
}

func (m *model) overviewKey(k string) tea.Cmd {
	m.message = ""
	switch k {
	case "j", "down":
		return m.down(1)
	case "k", "up":
		return m.down(-1)
	case "home":
		return m.move(-len(m.sessions))
	case "end":
		m.back = 0
		return m.move(len(m.sessions))
	case "tab":
		m.talkFocus = !m.talkFocus && !m.strip
	case "g":
		m.scope = map[string]string{
			switchboard.ScopeProject: switchboard.ScopeGroup, switchboard.ScopeGroup: switchboard.ScopeGlobal, switchboard.ScopeGlobal: switchboard.ScopeProject,
		}[m.scope]
		return m.list()
	case "v":
		m.previewMode = map[string]string{
			switchboard.ModeAuto: switchboard.ModePane, switchboard.ModePane: switchboard.ModeTranscript, switchboard.ModeTranscript: switchboard.ModeAuto,
		}[m.previewMode]
		return m.preview()
	case "/":
		return m.ask(toFilter, m.filter)
	case "?":
		m.screen = helpPage
	case "i":
		return m.open("")
	case "t":
		if e, ok := m.current(); ok {
			m.root, m.screen = e.MessageID, threadPage
		}
	default:
		return m.sessionKey(k)
	}
	return nil
}

// sessionKey acts on the selected session.
func (m *model) sessionKey(k string) tea.Cmd {
	s, ok := m.selected()
	if !ok {
		return nil
	}
	switch k {
	case "enter":
		return m.jump(s)
	case "s":
		return m.ask(toSend, "")
	case "a":
		return m.ask(toAsk, "")
	case "w":
		return m.wake(s)
	case "m":
		return m.open(handle(s))
	}
	return nil
}

func (m *model) down(by int) tea.Cmd {
	if !m.talkFocus {
		return m.move(by)
	}
	m.back = max(0, min(len(m.talk())-1, m.back-by))
	return nil
}

func (m *model) mailKey(k string) tea.Cmd {
	n := len(m.mail.read.Messages)
	switch k {
	case "esc", "q", "i", "m":
		m.screen = overview
	case "j", "down":
		m.cursor = min(max(0, n-1), m.cursor+1)
	case "k", "up":
		m.cursor = max(0, m.cursor-1)
	case "r":
		if n > 0 && m.mail.box == "" {
			return m.ask(toReply, "")
		}
	case "d":
		if n > 0 {
			return m.ask(toClose, "")
		}
	case "x":
		if m.mail.box == "" {
			return m.markRead()
		}
	}
	return nil
}

// ask opens the input line.
func (m *model) ask(p prompt, text string) tea.Cmd {
	m.asking = p
	m.input.SetValue(text)
	m.input.CursorEnd()
	return m.input.Focus()
}

// typed handles a key while the input line is open.
func (m *model) typed(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "esc", "ctrl+c":
			m.asking = none
			m.input.Blur()
			return nil
		case "enter":
			p := m.asking
			m.asking = none
			m.input.Blur()
			return m.entered(p, strings.TrimSpace(m.input.Value()))
		}
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	if m.asking == toFilter {
		m.filter, m.back = m.input.Value(), 0
	}
	return cmd
}

func (m *model) entered(p prompt, text string) tea.Cmd {
	s, _ := m.selected()
	switch p {
	case toFilter:
		m.filter, m.back = text, 0
	case toSend:
		return m.send(s, text)
	case toAsk:
		return m.question(s, text)
	case toReply:
		return m.reply(text)
	case toClose:
		return m.closeWork(text)
	}
	return nil
}

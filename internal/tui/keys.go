package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/switchboard"
)

// binding is one thing that keys do. What keys do, the help and the line at the
// foot all come from the bindings of a page.
type binding struct {
	keys  []string // as bubbletea names them
	short string   // at the foot; "" leaves it out there
	help  string   // "" when the next binding's help speaks of this one too
	do    func(*model) tea.Cmd
}

// bindings are the keys of a page.
func (p page) bindings() []binding {
	switch p {
	case overview:
		return overviewKeys()
	case mailPage:
		return mailKeys()
	case threadPage:
		return []binding{back("t"), interrupt()}
	case helpPage:
		return []binding{back("?"), interrupt()}
	}
	return nil
}

func overviewKeys() []binding {
	return []binding{
		{keys: []string{"j", "down"}, do: func(m *model) tea.Cmd { return m.down(1) }},
		{keys: []string{"k", "up"}, do: func(m *model) tea.Cmd { return m.down(-1) }},
		{keys: []string{"home"}, do: (*model).first},
		{keys: []string{"end"}, help: "select a session, or scroll the conversation", do: (*model).last},
		{keys: []string{"enter"}, short: "jump", help: "jump to its pane, in this tmux server or another", do: onSession((*model).jump)},
		{keys: []string{"s"}, short: "send", do: onSession(func(m *model, _ switchboard.SessionRow) tea.Cmd { return m.ask(toSend, "") })},
		{keys: []string{"a"}, short: "ask", do: onSession(func(m *model, _ switchboard.SessionRow) tea.Cmd { return m.ask(toAsk, "") })},
		{keys: []string{"w"}, short: "wake", help: "send to it, ask it, wake it", do: onSession((*model).wake)},
		{keys: []string{"m"}, short: "its mail", do: onSession(func(m *model, s switchboard.SessionRow) tea.Cmd { return m.open(handle(s)) })},
		{keys: []string{"i"}, short: "your mail", help: "its mail, your mail: only looked at", do: func(m *model) tea.Cmd { return m.open("") }},
		{keys: []string{"t"}, short: "thread", help: "the thread of the event that is marked in the conversation", do: (*model).thread},
		{keys: []string{"/"}, short: "filter", help: "filter the conversation", do: func(m *model) tea.Cmd { return m.ask(toFilter, m.filter) }},
		{keys: []string{"tab"}, short: "focus", help: "move between the sessions and the conversation", do: (*model).otherFocus},
		{keys: []string{"v"}, short: "view", help: "preview: what fits, the pane, or the transcript", do: (*model).nextPreview},
		{keys: []string{"g"}, short: "scope", help: "scope: project, group, global", do: (*model).nextScope},
		{keys: []string{"?"}, short: "keys", do: func(m *model) tea.Cmd { m.screen = helpPage; return nil }},
		{keys: []string{"q", "ctrl+c"}, short: "quit", help: "the keys, and leave", do: func(*model) tea.Cmd { return tea.Quit }},
	}
}

func mailKeys() []binding {
	return []binding{
		{keys: []string{"j", "down"}, do: func(m *model) tea.Cmd { return m.scrollMail(1) }},
		{keys: []string{"k", "up"}, short: "select", help: "select a message", do: func(m *model) tea.Cmd { return m.scrollMail(-1) }},
		{keys: []string{"r"}, short: "reply", do: onMail(true, func(m *model) tea.Cmd { return m.ask(toReply, "") })},
		{keys: []string{"d"}, short: "done", help: "reply, in your own mail; close it with a note", do: onMail(false, func(m *model) tea.Cmd { return m.ask(toClose, "") })},
		{keys: []string{"x"}, short: "mark all read", help: "mark all of your own mail as read", do: onMail(true, (*model).markRead)},
		back("i", "m"), interrupt(),
	}
}

func back(more ...string) binding {
	return binding{
		keys: append([]string{"esc", "q"}, more...), short: "back", help: "back",
		do: func(m *model) tea.Cmd { m.screen = overview; return nil },
	}
}

// interrupt ends the program from wherever one is.
func interrupt() binding {
	return binding{keys: []string{"ctrl+c"}, do: func(*model) tea.Cmd { return tea.Quit }}
}

// onSession is for keys that need a selected session.
func onSession(do func(*model, switchboard.SessionRow) tea.Cmd) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		if s, ok := m.selected(); ok {
			return do(m, s)
		}
		return nil
	}
}

// onMail is for keys that need a message, some of them one of the person's own.
func onMail(own bool, do func(*model) tea.Cmd) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		if len(m.mail.read.Messages) == 0 || own && m.mail.box != "" {
			return nil
		}
		return do(m)
	}
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
	m.message = ""
	for _, b := range m.screen.bindings() {
		for _, k := range b.keys {
			if k == press.String() {
				return b.do(m)
			}
		}
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

func (m *model) first() tea.Cmd { return m.down(-max(len(m.sessions), len(m.events))) }

func (m *model) last() tea.Cmd { return m.down(max(len(m.sessions), len(m.events))) }

func (m *model) thread() tea.Cmd {
	if e, ok := m.current(); ok {
		m.root, m.screen = e.MessageID, threadPage
	}
	return nil
}

func (m *model) otherFocus() tea.Cmd {
	m.talkFocus = !m.talkFocus && !m.strip
	return nil
}

func (m *model) nextPreview() tea.Cmd {
	m.previewMode = map[string]string{
		switchboard.ModeAuto: switchboard.ModePane, switchboard.ModePane: switchboard.ModeTranscript, switchboard.ModeTranscript: switchboard.ModeAuto,
	}[m.previewMode]
	return m.preview()
}

func (m *model) nextScope() tea.Cmd {
	m.scope = map[string]string{
		switchboard.ScopeProject: switchboard.ScopeGroup, switchboard.ScopeGroup: switchboard.ScopeGlobal, switchboard.ScopeGlobal: switchboard.ScopeProject,
	}[m.scope]
	return m.list()
}

func (m *model) scrollMail(by int) tea.Cmd {
	m.cursor = max(0, min(len(m.mail.read.Messages)-1, m.cursor+by))
	return nil
}

// footLine names the keys of a page in one line.
func (p page) footLine() string {
	var words []string
	keys := ""
	for _, b := range p.bindings() {
		keys += b.keys[0] + " "
		if b.short != "" {
			words = append(words, keys+b.short)
		}
		if b.short != "" || b.help != "" {
			keys = ""
		}
	}
	return strings.Join(words, "  ")
}

// helpLines explains the keys of the pages that have some of their own.
func helpLines() []string {
	lines := append([]string{"peermux top: looking changes nothing", ""}, explained(overview)...)
	lines = append(append(lines, "", "in a mailbox"), explained(mailPage)...)
	return append(append(lines, "", "while you type"), explainedKeys(inputKeys())...)
}

func explained(p page) []string { return explainedKeys(p.bindings()) }

func explainedKeys(bindings []binding) (lines []string) {
	signs := strings.NewReplacer("down", "↓", "up", "↑")
	keys := ""
	for _, b := range bindings {
		keys += " " + signs.Replace(strings.Join(b.keys, " "))
		if b.help != "" {
			lines = append(lines, "  "+pad(keys[1:], 18)+b.help)
			keys = ""
		}
	}
	return lines
}

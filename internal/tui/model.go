package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/switchboard"
	"peermux/registry"
)

// page is what fills the terminal.
type page int

const (
	overview   page = iota
	mailPage        // mail of the person or of the selected session
	threadPage      // one conversation
	helpPage
)

// model is the whole state of the screen.
type model struct {
	ctx   context.Context
	board *switchboard.Board
	actor switchboard.Actor
	now   func() time.Time
	strip bool
	env   []string

	terminal *painter

	width, height int
	scope         string
	sessions      []switchboard.SessionRow
	rings         [][]string
	listErr       error
	loaded        bool
	listing       flight

	// chosen is the session under the cursor, by its identity and not by its row:
	// rows move while a key is on its way.
	chosen string
	events []switchboard.Event
	// back is how many events the conversation is scrolled up.
	back        int
	filter      string
	talkFocus   bool // the cursor is in the conversation, not among the sessions
	previewMode string
	preview1    previewed
	previewing  flight

	screen page
	mail   opened
	cursor int // in the mailbox
	root   string

	input   input
	asking  prompt
	aim     switchboard.SessionRow // whom the input is for
	letter  switchboard.Mail       // the message it is about
	message string                 // what came of the last action
	failed  bool
}

func newModel(ctx context.Context, o Options) *model {
	scope := o.Scope
	if scope == "" {
		scope = switchboard.ScopeProject
	}
	return &model{
		ctx: ctx, board: o.Board, actor: o.Actor, now: o.Now, strip: o.Strip, env: o.Environ,
		scope: scope, previewMode: switchboard.ModeAuto, width: 80, height: 24,
	}
}

func (m *model) Init() tea.Cmd { return tea.Batch(m.list(), age(), later()) }

// Update takes a message and shows what has become of the screen.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := m.update(msg)
	if m.terminal == nil {
		return m, cmd // a test, which looks at the lines
	}
	if _, resized := msg.(tea.WindowSizeMsg); resized {
		m.terminal.clear()
	}
	if err := m.terminal.paint(m.lines()); err != nil {
		return m, tea.Quit // the terminal is gone
	}
	return m, cmd
}

// View is nothing: see painter.
func (m *model) View() tea.View { return tea.View{} }

func (m *model) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case changed:
		return m, m.list()
	case aged:
		return m, age()
	case late:
		return m, tea.Batch(later(), m.list())
	case happened:
		for _, e := range msg {
			m.hear(e)
		}
		return m, m.list()
	case listed:
		return m, m.take(msg)
	case previewed:
		m.preview1 = msg
		if m.previewing.land() {
			return m, m.preview()
		}
	case opened:
		m.mail, m.screen = msg, mailPage
		m.cursor = min(m.cursor, max(0, len(msg.read.Messages)-1))
		if msg.err != nil {
			m.say("", msg.err)
		}
	case told:
		m.say(msg.text, msg.err)
		return m, tea.Batch(m.list(), m.reopen())
	case tea.PasteMsg, tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// hear adds an event. A reader that is scrolled up stays where it is.
func (m *model) hear(e switchboard.Event) {
	m.events = append(m.events, e)
	if len(m.events) > maxEvents {
		m.events = m.events[len(m.events)-maxEvents:]
	}
	if m.back > 0 && m.wanted(e) {
		m.back++
	}
}

func (m *model) take(l listed) tea.Cmd {
	var next tea.Cmd
	if m.listing.land() {
		next = soon()
	}
	if l.scope != m.scope {
		return m.list() // it was asked for before the scope changed
	}
	m.listErr, m.loaded = l.err, true
	if l.err != nil {
		return next
	}
	m.sessions, m.rings = l.result.Sessions, l.result.Rings
	// Who waits for the person comes first, where also a strip shows it.
	slices.SortStableFunc(m.sessions, func(a, b switchboard.SessionRow) int { return rank(a) - rank(b) })
	if _, ok := m.selected(); !ok && len(m.sessions) > 0 {
		m.chosen = key(m.sessions[0])
	}
	return tea.Batch(m.preview(), next)
}

func rank(s switchboard.SessionRow) int {
	if s.Status == registry.Waiting {
		return 0
	}
	return 1
}

// key is a session's identity on this screen.
func key(s switchboard.SessionRow) string { return s.Box }

func (m *model) selected() (switchboard.SessionRow, bool) {
	for _, s := range m.sessions {
		if key(s) == m.chosen {
			return s, true
		}
	}
	return switchboard.SessionRow{}, false
}

// move puts the cursor on a neighbour of the selected session.
func (m *model) move(by int) tea.Cmd {
	if len(m.sessions) == 0 {
		return nil
	}
	at := 0
	for i, s := range m.sessions {
		if key(s) == m.chosen {
			at = i
		}
	}
	at = max(0, min(len(m.sessions)-1, at+by))
	m.chosen = key(m.sessions[at])
	return m.preview()
}

// wanted reports whether an event passes the filter.
func (m *model) wanted(e switchboard.Event) bool {
	if m.filter == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{e.Event, e.Kind, e.State, e.From, e.To, e.Subject, e.Body}, " "))
	return strings.Contains(text, strings.ToLower(m.filter))
}

// talk is the conversation that passes the filter.
func (m *model) talk() []switchboard.Event {
	if m.filter == "" {
		return m.events
	}
	var kept []switchboard.Event
	for _, e := range m.events {
		if m.wanted(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// current is the event under the cursor of the conversation: the lowest one shown.
func (m *model) current() (switchboard.Event, bool) {
	talk := m.talk()
	at := len(talk) - 1 - m.back
	if at < 0 || at >= len(talk) {
		return switchboard.Event{}, false
	}
	return talk[at], true
}

func (m *model) say(text string, err error) {
	m.message, m.failed = text, err != nil
	if err != nil {
		m.message = switchboard.AsError(err).Message
	}
}

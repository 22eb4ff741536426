package tui

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"peermux/internal/switchboard"
	"peermux/internal/tmux"
)

func (m *model) send(s switchboard.SessionRow, text string) tea.Cmd {
	return func() tea.Msg {
		res, err := m.board.Send(m.ctx, m.actor, switchboard.SendRequest{Target: handle(s), Body: text})
		return told{fmt.Sprintf("sent to %s: %s", s.Name, res.Why), err}
	}
}

// question waits for the answer in the background; the screen goes on.
func (m *model) question(s switchboard.SessionRow, text string) tea.Cmd {
	m.say("asked "+s.Name+", waiting for the answer", nil)
	return func() tea.Msg {
		res, delivery, err := m.board.Ask(m.ctx, m.actor, switchboard.AskRequest{Target: handle(s), Body: text})
		if err != nil {
			return told{err: err}
		}
		if res.Reply == nil {
			return told{text: "no answer from " + s.Name + " yet: " + res.Next}
		}
		// The answer is on the screen as soon as this message is handled.
		if delivery != nil {
			err = delivery.Shown()
		}
		return told{s.Name + " answers: " + res.Reply.Body, err}
	}
}

func (m *model) wake(s switchboard.SessionRow) tea.Cmd {
	return func() tea.Msg {
		res, err := m.board.Wake(m.ctx, m.actor, handle(s), false)
		return told{strings.TrimSpace(fmt.Sprintf("%s: %s %s", s.Name, res.Outcome, res.Reason)), err}
	}
}

// open looks into a mailbox without recording anything as read.
func (m *model) open(target string) tea.Cmd {
	if m.mail.box != target {
		m.cursor = 0
	}
	return func() tea.Msg {
		request := switchboard.ReadRequest{Peek: true, IncludeSeen: true, Limit: 50, Via: "top"}
		actor := m.actor
		if target != "" {
			key, in, err := m.board.BoxOf(m.actor, target)
			if err != nil {
				return opened{box: target, err: err}
			}
			request.Box, actor = key, in
		}
		res, _, err := m.board.Read(m.ctx, actor, request)
		return opened{target, res, err}
	}
}

// reopen refreshes the mailbox that is on the screen.
func (m *model) reopen() tea.Cmd {
	if m.screen != mailPage {
		return nil
	}
	return m.open(m.mail.box)
}

// markRead records what the person's mailbox shows as read.
func (m *model) markRead() tea.Cmd {
	return func() tea.Msg {
		res, delivery, err := m.board.Read(m.ctx, m.actor, switchboard.ReadRequest{Limit: 50, Via: "top"})
		if err == nil && delivery != nil {
			err = delivery.Shown()
		}
		return told{fmt.Sprintf("%d marked as read", res.Count), err}
	}
}

func (m *model) current1() (switchboard.Mail, bool) {
	if m.cursor >= len(m.mail.read.Messages) {
		return switchboard.Mail{}, false
	}
	return m.mail.read.Messages[m.cursor], true
}

func (m *model) reply(id, text string) tea.Cmd {
	return func() tea.Msg {
		res, err := m.board.Reply(m.ctx, m.actor, switchboard.ReplyRequest{MessageID: id, Body: text})
		return told{"replied: " + res.Outlook, err}
	}
}

// closeWork closes a task, also one that another session owes.
func (m *model) closeWork(id, note string) tea.Cmd {
	if note == "" {
		note = switchboard.Done
	}
	target := m.mail.box
	return func() tea.Msg {
		actor := m.actor
		if target != "" {
			_, in, err := m.board.BoxOf(m.actor, target)
			if err != nil {
				return told{err: err}
			}
			actor = in
		}
		res, err := m.board.CompleteWork(m.ctx, actor, switchboard.CloseRequest{MessageID: id, Body: note})
		return told{"closed: " + res.State, err}
	}
}

// jump goes to the session's pane: in the tmux server that this terminal is in by
// switching to it, in another one by attaching here until the person detaches.
func (m *model) jump(s switchboard.SessionRow) tea.Cmd {
	entry, ok, err := m.board.Registry.BySession(s.SessionID)
	if err != nil || !ok || entry.Tmux == nil {
		m.say("", fmt.Errorf("%s is in no tmux pane that could be proven", s.Name))
		return nil
	}
	runner := &tmux.Runner{Socket: entry.Tmux.Socket}
	pane, err := runner.Pane(m.ctx, entry.Tmux.Pane)
	if err != nil {
		m.say("", err)
		return nil
	}
	here := tmux.SocketOf(m.variable("TMUX")) == entry.Tmux.Socket
	if here {
		return func() tea.Msg {
			_, err := runner.Run(m.ctx, "", "switch-client", "-t", pane.ID)
			return told{"went to " + s.Name, err}
		}
	}
	cmd := exec.Command("tmux", "-S", entry.Tmux.Socket, "attach-session", "-t", pane.ID)
	// Nested on purpose: the person comes back with detach.
	cmd.Env = slices.DeleteFunc(slices.Clone(m.env), func(v string) bool { return strings.HasPrefix(v, "TMUX") })
	return tea.Exec(away{m.terminal, cmd}, func(err error) tea.Msg { return told{"back from " + s.Name, err} })
}

func (m *model) variable(name string) string {
	for _, v := range m.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

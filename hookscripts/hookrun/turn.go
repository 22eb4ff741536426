package hookrun

import (
	"errors"
	"slices"
	"strings"
	"time"

	"peermux/internal/frame"
	"peermux/mailbox"
	"peermux/registry"
)

// viaReminder marks, in a message's shown records, that Stop named it as
// unanswered.
const viaReminder = "Stop reminder"

// Marks that UserPromptSubmit leaves in the drop, beside the times of events:
// when the last turn began, and whether the person began it.
const (
	typedMark = "UserPromptSubmit, typed"
	wokenMark = "UserPromptSubmit, woken"
)

// turnCap is how often Stop may keep one turn going. Claude Code 2.1.197 ends
// the turn itself after 9 Stop hooks; two agents that chat for ever should end
// before that.
const turnCap = 5

// prompt is UserPromptSubmit: a turn begins.
func (h *hook) prompt() (int, error) {
	mark := wokenMark
	if typed(h.in.Prompt) {
		mark = typedMark
	}
	before, _ := h.reg.Status(h.key)
	err := h.status(registry.Working)
	// Before the drop says that another turn has begun: a hook that is killed here
	// leaves the next one the same signs.
	h.last, _ = h.reg.DropOf(h.key)
	err = errors.Join(err, h.giveBack(open(before)), h.note(mark))
	return 0, errors.Join(err, h.midTurn())
}

// open reports whether a session with this status is in a turn.
func open(word string) bool { return word == registry.Working || word == registry.Waiting }

func ids(items []mailbox.Item) []string {
	var list []string
	for _, it := range items {
		list = append(list, it.ID)
	}
	return list
}

// only are the items with these ids.
func only(items []mailbox.Item, ids []string) []mailbox.Item {
	return slices.DeleteFunc(items, func(it mailbox.Item) bool { return !slices.Contains(ids, it.ID) })
}

// tool is PreToolUse and PostToolUse: the turn goes on.
func (h *hook) tool() (int, error) {
	return 0, errors.Join(h.status(registry.Working), h.fired(), h.midTurn())
}

// midTurn shows what came since the last look.
func (h *hook) midTurn() error {
	d := h.newDelivery()
	err := h.addMail(d)
	if h.Event == "UserPromptSubmit" {
		err = errors.Join(err, h.addRepository(d))
	}
	err = errors.Join(err, h.addFeeds(d))
	_, showErr := h.show(d)
	return errors.Join(err, showErr)
}

// stop is the end of a turn. Idle is written before the last look at the box,
// and a sender writes its message before it looks at the status: whoever comes
// second sees the other, so no message falls between (facts: B11).
func (h *hook) stop() (int, error) {
	err := errors.Join(h.status(registry.Idle), h.note(""))
	if h.in.StopActive && h.continued() >= turnCap {
		return 0, err
	}
	d := h.newDelivery()
	err = errors.Join(err, h.addMail(d))
	if d.page.Empty() && (!h.in.StopActive || h.wokenTurn()) {
		err = errors.Join(err, h.addReminder(d))
	}
	sent, showErr := h.show(d)
	err = errors.Join(err, showErr)
	if !sent {
		return 0, err
	}
	// The turn goes on. A sender that saw "idle" meanwhile wakes a session with
	// nothing unshown, and that is no wake.
	return 0, errors.Join(err, h.reg.SetStatus(h.key, registry.Working, h.Now()))
}

// wokenTurn reports whether the client, not the person, began the turn. Claude
// Code sets stop_hook_active in a turn that an asyncRewake hook began (2.1.328),
// so there the flag does not say that a Stop hook has spoken.
func (h *hook) wokenTurn() bool {
	return h.last.Hooks[wokenMark].After(h.last.Hooks[typedMark])
}

// turnBegan is when the last prompt before this event came.
func (h *hook) turnBegan() time.Time {
	if h.wokenTurn() {
		return h.last.Hooks[wokenMark]
	}
	return h.last.Hooks[typedMark]
}

// continued counts how often Stop has kept this turn going.
func (h *hook) continued() int {
	state, err := h.mail.State(h.key)
	if err != nil {
		return turnCap
	}
	began := h.turnBegan()
	var batches []time.Time
	for _, it := range state.Items {
		for _, s := range it.Shown {
			stopped := s.Via == "Stop" || s.Via == viaReminder
			if stopped && s.At.After(began) && !slices.ContainsFunc(batches, s.At.Equal) {
				batches = append(batches, s.At)
			}
		}
	}
	return len(batches)
}

// addReminder names each unanswered question, open task and message of an app
// once, when it was shown before and the person has not typed since: then the
// person decides what the session does.
func (h *hook) addReminder(d *delivery) error {
	owed, err := h.mail.OpenWork(h.key)
	if err != nil {
		return err
	}
	apps, err := h.unansweredApps()
	if err != nil {
		return err
	}
	if owed = append(owed, apps...); len(owed) == 0 {
		return nil
	}
	typedAt := h.last.Hooks[typedMark]
	owed = slices.DeleteFunc(owed, func(it mailbox.Item) bool {
		return len(it.Shown) == 0 || it.Shown[len(it.Shown)-1].At.Before(typedAt)
	})
	fresh, err := h.mail.Remind(h.key, mailbox.Shown{By: h.in.SessionID, Via: viaReminder}, ids(owed))
	if err != nil {
		return err
	}
	d.page.Remind(only(owed, fresh))
	d.shows(fresh)
	return nil
}

// addUnanswered names what was shown before a compaction and is not answered:
// everything that is owed, and what is so fresh that the summary may lack it.
func (h *hook) addUnanswered(d *delivery) error {
	state, err := h.mail.State(h.key)
	if err != nil {
		return err
	}
	var items []mailbox.Item
	for _, it := range state.Items {
		if len(it.Shown) == 0 || it.Answered != "" || it.Closed != "" || slices.Contains(d.ids, it.ID) {
			continue
		}
		if it.Open(false) || h.at.Sub(it.Shown[0].At) < recallFor {
			items = append(items, it)
		}
	}
	d.page.Recall(items[max(0, len(items)-recallMax):])
	return nil
}

const (
	recallFor = 24 * time.Hour
	recallMax = 20
)

// notification is Claude Code's: the permission prompt comes 6 s after the
// dialog, the idle prompt 60 s after the turn.
func (h *hook) notification() (int, error) {
	err := h.note("")
	switch h.in.Notification {
	case "permission_prompt", "elicitation_dialog":
		err = errors.Join(err, h.status(registry.Waiting))
	case "idle_prompt":
		err = errors.Join(err, h.status(registry.Idle))
	}
	return 0, err
}

// bell is FileChanged: Claude Code saw the bell ring. Text on stderr and exit
// code 2 wake an idle session and join the turn of a busy one. In claude -p that
// output is lost, so nothing may be taken there.
func (h *hook) bell() (int, error) {
	if h.Env("CLAUDE_CODE_ENTRYPOINT") != "cli" || !strings.HasSuffix(h.in.FilePath, "/bell") || !nativeWake(h.Env("PEERMUX_WAKE")) {
		return 0, nil
	}
	d := h.newDelivery()
	urgent, urgentErr := h.urgent()
	err := errors.Join(h.note(""), h.addMail(d), urgentErr)
	if urgent || !d.page.Empty() {
		err = errors.Join(err, h.addFeeds(d))
	}
	if d.page.Empty() {
		return 0, err
	}
	sent, sendErr := h.send(d, func(text string) error {
		_, err := h.Stderr.Write([]byte(text + "\n"))
		return err
	})
	err = errors.Join(err, sendErr)
	if !sent {
		return 0, err
	}
	return Wakes, err
}

// nativeWake reports whether the person lets peers wake a session by its client.
func nativeWake(mode string) bool { return mode == "" || mode == "auto" || mode == "native" }

// typed reports whether a prompt came from the person. The clients submit their
// own notifications as prompts too, and so is our wake line.
func typed(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	for _, start := range []string{
		"<task-notification", "<system-reminder", "<cross-session-message", "<teammate-message", "<hook_prompt",
		"[SYSTEM NOTIFICATION", "Another Claude session sent a message", frame.WakeLine,
	} {
		if strings.HasPrefix(prompt, start) {
			return false
		}
	}
	return prompt != ""
}

package hookrun

import (
	"errors"
	"path/filepath"

	"peermux/internal/private"
	"peermux/mailbox"
	"peermux/registry"
)

// sessionStart is the begin of a session, and its going on after /clear,
// /resume and a compaction.
func (h *hook) sessionStart() (int, error) {
	var killed error
	if h.in.Source == registry.SourceResume { // an earlier run that was killed has told of no end
		h.last, _ = h.reg.DropOf(h.key)
		killed = h.unread()
	}
	err := h.enter("")
	if h.in.Source != registry.SourceCompact { // that can happen in the middle of a turn
		word := registry.Idle
		if h.Client == registry.Codex {
			word = registry.Working // Codex 0.171.0 fires at the first turn
		}
		err = errors.Join(err, h.status(word))
	}
	d := h.newDelivery()
	err = errors.Join(err, killed, h.addStartMail(d), h.addRepository(d))
	if !h.headless() {
		err = errors.Join(err, h.enterFeeds(), h.addLocks(d))
	}
	if h.in.Source == registry.SourceCompact {
		err = errors.Join(err, h.addUnanswered(d))
	}
	err = errors.Join(err, h.addElsewhere(d))
	watch := h.watchPaths()
	if d.page.Empty() && watch == nil {
		return 0, err
	}
	_, sendErr := h.send(d, func(text string) error { return h.emit(text, watch) })
	return 0, errors.Join(err, sendErr)
}

// addStartMail shows the mail that waits. Not after Claude's /clear: the session is
// idle then, and whoever sends in that moment wakes it, which needs something
// unshown; what nobody wakes it for comes with the next prompt, as the start's own
// text would.
func (h *hook) addStartMail(d *delivery) error {
	if h.in.Source == registry.SourceClear && h.Client == registry.Claude && !h.headless() {
		return nil
	}
	return h.addMail(d)
}

// watchPaths names the bell for Claude Code to watch. The bell need not exist,
// its folder must.
func (h *hook) watchPaths() []string {
	if h.Client != registry.Claude || h.headless() {
		return nil
	}
	bell := mailbox.BellPath(h.home, h.key)
	for _, dir := range []string{h.home, filepath.Join(h.home, "boxes"), filepath.Dir(bell)} {
		if private.Dir(dir) != nil {
			return nil // nowhere to write to: no mail either
		}
	}
	return []string{bell}
}

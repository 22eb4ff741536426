package switchboard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"peermux/mailbox"
	"peermux/wake"
)

// setting is a variable that a person sets. wrong says what is the matter with a
// value and what is done instead; empty is nothing.
type setting struct {
	name  string
	wrong func(value string) string
}

func settings() []setting {
	return []setting{
		{"PEERMUX_WAKE", wrongWake},
		{"PEERMUX_ASK_TIMEOUT_MS", func(value string) string { _, wrong := parseAskTimeout(value); return wrong }},
		{"PEERMUX_REACH", wrongReach},
		{"PEERMUX_RECEIVE", wrongReceive},
		{"PEERMUX_BACKFILL_MIN", wrongBackfill},
	}
}

// WrongSettings says which variables of an environment have values that mean
// nothing, and what is done instead.
func WrongSettings(env func(string) string) []string {
	var wrong []string
	for _, s := range settings() {
		value := env(s.name)
		if value == "" {
			continue
		}
		if why := s.wrong(value); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s=%q %s", s.name, value, why))
		}
	}
	return wrong
}

// parseAskTimeout is how long an ask waits that does not say, and what is wrong
// with the value.
func parseAskTimeout(value string) (timeout time.Duration, wrong string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return DefaultAsk, ""
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil || ms <= 0:
		return DefaultAsk, fmt.Sprintf("is no number of milliseconds above 0; the default of %d is used", DefaultAsk.Milliseconds())
	case ms > MaxAsk.Milliseconds():
		return MaxAsk, fmt.Sprintf("is cut to %d, the most there is", MaxAsk.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, ""
}

func wrongWake(value string) string {
	if slices.Contains([]string{wake.ModeAuto, wake.ModeNative, wake.ModeTmux, wake.ModeOff}, value) {
		return ""
	}
	return "is none of auto, native, tmux and off; nobody is woken"
}

func wrongReach(value string) string {
	if value == "machine" {
		return ""
	}
	return "is not machine, the one value that it can have; the sessions of the project and its group are in reach"
}

func wrongReceive(value string) string {
	for scope := range strings.SplitSeq(value, ",") {
		switch strings.TrimSpace(scope) {
		case ScopeProject, ScopeGroup, ScopeGlobal:
		default:
			return "names a scope that is none of project, group and global; nothing is received for it"
		}
	}
	return ""
}

func wrongBackfill(value string) string {
	if _, ok := mailbox.Backfill(value); ok {
		return ""
	}
	return "is no number of minutes; a new session sees no earlier broadcasts"
}

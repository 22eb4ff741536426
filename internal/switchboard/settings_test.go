package switchboard_test

import (
	"strings"
	"testing"

	"peermux/internal/switchboard"
)

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"PEERMUX_WAKE", "", ""},
		{"PEERMUX_WAKE", "native", ""},
		{"PEERMUX_WAKE", "Off", "none of auto"},
		{"PEERMUX_ASK_TIMEOUT_MS", " 5000 ", ""},
		{"PEERMUX_ASK_TIMEOUT_MS", "60s", "no number of milliseconds"},
		{"PEERMUX_ASK_TIMEOUT_MS", "0", "no number of milliseconds"},
		{"PEERMUX_ASK_TIMEOUT_MS", "600000", "cut to 280000"},
		{"PEERMUX_REACH", "machine", ""},
		{"PEERMUX_REACH", "all", "is not machine"},
		{"PEERMUX_RECEIVE", "project, group,global", ""},
		{"PEERMUX_RECEIVE", "project,repo", "none of project"},
		{"PEERMUX_RECEIVE", "none", "none of project"},
		{"PEERMUX_BACKFILL_MIN", "0", ""},
		{"PEERMUX_BACKFILL_MIN", "30", ""},
		{"PEERMUX_BACKFILL_MIN", "30m", "no number of minutes"},
		{"PEERMUX_BACKFILL_MIN", "-1", "no number of minutes"},
	} {
		got := switchboard.WrongSettings(func(name string) string { return map[string]string{tt.name: tt.value}[name] })
		switch {
		case tt.want == "" && len(got) != 0:
			t.Errorf("%s=%q: %q", tt.name, tt.value, got)
		case tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.name+"=") || !strings.Contains(got[0], tt.want)):
			t.Errorf("%s=%q: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

package gateway

import (
	"testing"
	"time"

	"peermux/detect"
	"peermux/registry"
)

func TestJudgeWaiting(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	since := func(d time.Duration, word string) detect.Status {
		return detect.Status{Word: word, Since: now.Add(-d)}
	}
	for _, c := range []struct {
		name    string
		status  detect.Status
		minutes int
		told    bool
		want    step
	}{
		{"working", since(time.Hour, registry.Working), 5, false, step{}},
		{"idle is no waiting", since(time.Hour, registry.Idle), 5, false, step{}},
		{"not long enough", since(4*time.Minute, registry.Waiting), 5, false, step{again: time.Minute}},
		{"long enough", since(5*time.Minute, registry.Waiting), 5, false, step{send: true}},
		{"once", since(time.Hour, registry.Waiting), 5, true, step{}},
		{"not wanted", since(time.Hour, registry.Waiting), 0, false, step{}},
		{"goes on", since(0, registry.Working), 5, true, step{withdraw: true}},
		{"ended", since(0, registry.Unknown), 5, true, step{withdraw: true}},
		{"a clock that was set back", since(-time.Minute, registry.Waiting), 5, false, step{again: 6 * time.Minute}},
	} {
		if got := judge(now, c.status, c.minutes, c.told); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

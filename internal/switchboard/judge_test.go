package switchboard

import (
	"testing"
	"time"

	"peermux/detect"
	"peermux/registry"
	"peermux/wake"
)

func TestJudge(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	status := func(word string, since time.Duration) detect.Status {
		return detect.Status{Word: word, Since: ago(since)}
	}
	tests := []struct {
		name  string
		s     sight
		want  string
		again time.Duration
	}{
		{"nothing known", sight{}, goesOn, 0},
		{"working", sight{shownAt: ago(5 * time.Second), status: status(registry.Working, 4*time.Second)}, goesOn, 0},
		{"idle since before it was shown", sight{shownAt: ago(5 * time.Second), status: status(registry.Idle, time.Hour)}, goesOn, 0},
		{"idle, not shown", sight{status: status(registry.Idle, time.Hour)}, goesOn, 0},
		{"just idle", sight{shownAt: ago(5 * time.Second), status: status(registry.Idle, time.Second)}, goesOn, 2 * time.Second},
		{"idle for good", sight{shownAt: ago(5 * time.Second), status: status(registry.Idle, 3*time.Second)}, turnEnded, 0},
		{"unknown is never idle", sight{shownAt: ago(time.Hour), status: status(registry.Unknown, time.Minute)}, goesOn, 0},
		{"held a while", sight{heldSince: ago(4 * time.Second)}, goesOn, 6 * time.Second},
		{"held long", sight{heldSince: ago(10 * time.Second)}, heldBack, 0},
		{"held, but it has the question", sight{shownAt: ago(time.Minute), heldSince: ago(time.Minute)}, goesOn, 0},
		{"client gone", sight{gone: true}, peerEnded, 0},
		{"server gone, just now", sight{lost: ago(0)}, goesOn, settleLost},
		{"server gone", sight{lost: ago(settleLost)}, peerEnded, 0},
		{"a plain note, just now", sight{noteAt: ago(0)}, goesOn, settleNote},
		{"a plain note", sight{noteAt: ago(settleNote)}, plainNote, 0},
		{"the soonest of several", sight{lost: ago(0), noteAt: ago(0), heldSince: ago(0)}, goesOn, settleLost},
		{"gone beats a note", sight{gone: true, noteAt: ago(time.Hour)}, peerEnded, 0},
		{"a clock set back", sight{heldSince: now.Add(time.Hour)}, goesOn, time.Hour + settleHeld},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.now = now
			if got, again := judge(tt.s); got != tt.want || again != tt.again {
				t.Errorf("got %q again in %v, want %q again in %v", got, again, tt.want, tt.again)
			}
		})
	}
}

func TestForesee(t *testing.T) {
	idle := prospect{name: "ben", live: true, hooks: true, status: registry.Idle}
	with := func(change func(p *prospect)) prospect {
		p := idle
		change(&p)
		return p
	}
	result := func(o wake.Outcome) *wake.Result { return &wake.Result{Outcome: o, Reason: "because"} }
	tests := []struct {
		name string
		p    prospect
		want string
	}{
		{"not running", prospect{name: "ben"}, NoReader},
		{"shown meanwhile", with(func(p *prospect) { p.shown = true }), ShownSoon},
		{"working", with(func(p *prospect) { p.status = registry.Working }), ShownSoon},
		{"working without hooks", with(func(p *prospect) { p.status, p.hooks = registry.Working, false }), Held},
		{"blocked in an ask of its own", with(func(p *prospect) { p.asking = true }), ShownSoon},
		{"headless without hooks", with(func(p *prospect) { p.headless, p.hooks = true, false }), NoReader},
		{"a dialog", with(func(p *prospect) { p.status = registry.Waiting }), Held},
		{"a dialog, and woken all the same", with(func(p *prospect) { p.status, p.wake = registry.Waiting, result(wake.Native) }), Woken},
		{"woken by the client", with(func(p *prospect) { p.wake = result(wake.Native) }), Woken},
		{"woken by keys", with(func(p *prospect) { p.wake = result(wake.Submitted) }), Woken},
		{"woken without hooks", with(func(p *prospect) { p.hooks, p.wake = false, result(wake.Submitted) }), Woken},
		{"woken, and before its first hook", with(func(p *prospect) {
			p.hooks, p.status, p.wake = false, registry.Working, result(wake.Submitted)
		}), Woken},
		{"a draft", with(func(p *prospect) { p.wake = result(wake.Held) }), Held},
		{"typed, no turn seen", with(func(p *prospect) { p.wake = result(wake.TypedNotSubmitted) }), Held},
		{"no way to wake it", with(func(p *prospect) { p.wake = result(wake.NoRoute) }), NextTurn},
		{"the way broke", with(func(p *prospect) { p.wake = result(wake.Failed) }), NextTurn},
		{"woken by somebody else", with(func(p *prospect) { p.wake = result(wake.NotNeeded) }), ShownSoon},
		{"low", with(func(p *prospect) { p.low = true }), NextTurn},
		{"waking is off", with(func(p *prospect) { p.noWake = true }), NextTurn},
		{"unknown, no wake tried", with(func(p *prospect) { p.status = registry.Unknown }), NextTurn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, why := foresee(tt.p)
			if got != tt.want || why == "" {
				t.Errorf("got %s (%s), want %s", got, why, tt.want)
			}
		})
	}
}

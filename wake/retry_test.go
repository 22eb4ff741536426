package wake

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/registry"
)

func (r *rig) retry() (Result, time.Duration) {
	return r.waker.Retry(context.Background(), r.entry)
}

// tend retries as the receiver's own server does, until the mail is shown.
func (r *rig) tend() {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for r.unshown() > 0 {
		_, again := r.retry()
		if again <= 0 || time.Now().After(deadline) {
			r.t.Fatalf("mail is unshown and no retry is due (%v)\nlog: %q", again, r.log())
		}
		time.Sleep(min(again, 200*time.Millisecond))
	}
}

// TestRetryAfterDraft: a wake that was held for a draft is taken up when the draft
// is gone, and nothing is typed before.
func TestRetryAfterDraft(t *testing.T) {
	t.Parallel()
	r := start(t, standIn{Kind: "claude", Draft: "x"})
	r.expect(r.wake(), Held)
	if got, again := r.retry(); got.Outcome != NotNeeded || again <= 0 || again > firstRetry {
		t.Errorf("at once: got %+v, again in %v", got, again)
	}
	reason, since, held := r.waker.Held(r.entry.Box)
	if !held || reason != "a draft is in the composer" || time.Since(since) > time.Minute {
		t.Errorf("held %v: %q since %v", held, reason, since)
	}
	r.tmux("send-keys", "-t", "%0", "-l", "yz") // still typing
	r.tmux("send-keys", "-t", "%0", "Enter")    // the person submits; the turn shows the mail
	r.until("the mail is shown", func() bool { return r.unshown() == 0 })
	if _, again := r.retry(); again != 0 {
		got, again := r.retry()
		t.Errorf("after it was shown: got %+v, again in %v", got, again)
	}
	if _, _, held := r.waker.Held(r.entry.Box); held {
		t.Error("still held")
	}
	for _, line := range r.log() {
		if strings.Contains(line, "Peer mail") {
			t.Errorf("a line was typed: %s", line)
		}
	}
}

// TestRetryAfterSwallowedEnters: only Enter is sent again, never the line.
func TestRetryAfterSwallowedEnters(t *testing.T) {
	t.Parallel()
	r := start(t, standIn{Kind: "claude", SwallowEnter: 3})
	r.expect(r.wake(), TypedNotSubmitted, readPaste, readEnter, readEnter)
	r.tend()
	r.expect(Result{}, "", readPaste, readEnter, readEnter, readEnter, readEnter, submitted, "SHOWN 1")
}

// TestRetryAtTheEndOfATurn: a session without hooks is not woken while it works;
// the end of its turn is the time, at once.
func TestRetryAtTheEndOfATurn(t *testing.T) {
	t.Parallel()
	r := codex(t, "/works")
	r.status(registry.Working)
	r.mail("first")
	if got := r.wake(); got.Outcome != NotNeeded {
		t.Errorf("got %+v", got)
	}
	if got, again := r.retry(); got.Outcome != NotNeeded || again <= 0 {
		t.Errorf("still working: got %+v, again in %v", got, again)
	}
	r.status(registry.Idle)
	if got, _ := r.retry(); got.Outcome != Native {
		t.Errorf("idle: got %+v", got)
	}
}

// TestNothingIsWanted: a retry never wakes on its own account: not for mail that
// asked for no wake, not after the mail was shown, not when switched off.
func TestNothingIsWanted(t *testing.T) {
	t.Parallel()
	r := codex(t, "/works")
	r.mail("first")
	if got := r.waker.Wake(context.Background(), r.entry, Options{Urgency: "low"}); got.Outcome != NotNeeded {
		t.Errorf("got %+v", got)
	}
	if got, again := r.retry(); got.Outcome != NotNeeded || again != 0 {
		t.Errorf("urgency low: got %+v, again in %v", got, again)
	}
	r.status(registry.Waiting)
	if got := r.wake(); got.Outcome != Held {
		t.Errorf("got %+v", got)
	}
	r.waker.Mode = ModeOff
	r.status(registry.Idle)
	if got, again := r.retry(); got.Outcome != NotNeeded || again != 0 {
		t.Errorf("switched off: got %+v, again in %v", got, again)
	}
	r.waker.Mode = ModeAuto
	if err := r.show(); err != nil {
		t.Fatal(err)
	}
	r.status(registry.Idle)
	if got, again := r.retry(); got.Outcome != NotNeeded || again != 0 {
		t.Errorf("shown: got %+v, again in %v", got, again)
	}
	if r.file("queued") != "" {
		t.Errorf("codex was run: %s", r.file("queued"))
	}
}

func TestBackOff(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	rec := &record{}
	var pauses []time.Duration
	for range 12 {
		rec.note(Result{Outcome: Held, Reason: "a draft"}, now)
		pauses = append(pauses, rec.Next.Sub(now))
	}
	for i, p := range pauses {
		if want := min(firstRetry<<i, lastRetry); p != want {
			t.Errorf("try %d: got a pause of %v, want %v", i+1, p, want)
		}
	}
	if !rec.Since.Equal(now) || rec.Tries != 12 {
		t.Errorf("got %+v", rec)
	}
	// A new arrival while it is held does not start the ladder again.
	rec.note(Result{Outcome: Held, Reason: "a draft"}, now.Add(time.Second))
	if rec.Next.Sub(now) != lastRetry+time.Second {
		t.Errorf("got a pause of %v", rec.Next.Sub(now))
	}
	rec.land("s-peer", now)
	rec.note(Result{Outcome: NotNeeded, Reason: nothingUnshown}, now)
	if rec.Wanted || rec.Tries != 0 || len(rec.Landed) != 1 {
		t.Errorf("after it was shown: got %+v", rec)
	}
}

// TestWokenInVain: a session that was woken and shows no mail is told again a few
// times, more and more seldom, and then left alone.
func TestWokenInVain(t *testing.T) {
	t.Parallel()
	r := codex(t, "/works")
	ahead := time.Duration(0)
	r.waker.Now = func() time.Time { return time.Now().Add(ahead) }
	r.mail("first")
	if got := r.wake(); got.Outcome != Native {
		t.Fatalf("got %+v", got)
	}
	woken := 1
	for range 200 {
		got, again := r.retry()
		if got.Outcome == Native {
			woken++
		}
		if again <= 0 {
			t.Fatalf("got %+v, again in %v, though mail waits", got, again)
		}
		ahead += again
	}
	if woken < 2 || woken > maxFollows+1 {
		t.Errorf("it was woken %d times in %v", woken, ahead)
	}
}

func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	r := codex(t, "/works")
	r.mail("first")
	path := filepath.Join(r.waker.Home, "wake", r.entry.Box+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"v":1,"landed":[{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.wake(); got.Outcome != Native {
		t.Errorf("got %+v", got)
	}
}

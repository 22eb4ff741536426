package switchboard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// allow writes what the person says in wake.toml about broadcasts.
func (k *bench) allow(word string) {
	k.t.Helper()
	if err := os.MkdirAll(k.home, 0o700); err != nil {
		k.t.Fatal(err)
	}
	text := "[broadcast]\nwake = \"" + word + "\"\n"
	if err := os.WriteFile(filepath.Join(k.home, "wake.toml"), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// hears makes the session one whose hooks have run, with the client's word for what
// it does, and gives it its place in the feeds.
func (s *session) hears(status, receive string) *session {
	s.bench.t.Helper()
	now := time.Now()
	err := s.bench.board.Registry.PutDrop(registry.Drop{
		Box: s.entry.Box, Client: registry.Claude, SessionID: s.entry.SessionID, Event: "SessionStart", At: now,
		PIDs: []proc.ID{s.entry.Client.ID()}, Hooks: map[string]time.Time{"SessionStart": now}, Receive: receive,
	})
	if err != nil {
		s.bench.t.Fatal(err)
	}
	s.status(status)
	s.bench.env["PEERMUX_RECEIVE"] = receive
	s.read(switchboard.ReadRequest{})
	s.bench.env["PEERMUX_RECEIVE"] = ""
	return s
}

// onBell shows the session its broadcasts when its bell rings for one.
func (s *session) onBell() { s.onRing(func() { s.read(switchboard.ReadRequest{}) }) }

// onRing does something when the session's bell rings for a broadcast.
func (s *session) onRing(do func()) {
	events, stop := s.bench.board.Watch.File(mailbox.BellPath(s.bench.home, s.entry.Box))
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-events:
			}
			if strings.Contains(s.bell(), mailbox.BellBroadcast) {
				do()
				return
			}
		}
	}()
	s.bench.t.Cleanup(func() {
		stop()
		close(over)
		<-done
	})
}

func (s *session) bell() string {
	text, err := os.ReadFile(mailbox.BellPath(s.bench.home, s.entry.Box))
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *session) urgent(scope, urgency string) switchboard.BroadcastResult {
	s.bench.t.Helper()
	res, err := s.bench.board.Broadcast(context.Background(), s.actor(), switchboard.BroadcastRequest{Body: "main is broken", Scope: scope, Urgency: urgency})
	if err != nil {
		s.bench.t.Fatal(err)
	}
	return res
}

// outcomes are what an urgent broadcast came to, by session.
func outcomes(res switchboard.BroadcastResult) string {
	var all []string
	for _, w := range res.Wakes {
		all = append(all, w.Session+"="+w.Outcome)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// crowd is a sender, and one session of each sort that its broadcast may meet.
func (k *bench) crowd() (sender *session, others []*session) {
	idle, far := k.join("idle").hears(registry.Idle, ""), k.join("far").at("/elsewhere").hears(registry.Idle, "")
	quiet := k.join("quiet") // has no place in the feed: it begins behind the message
	quiet.status(registry.Idle)
	sender = k.join("sender").hears(registry.Idle, "")
	others = []*session{
		idle, far, quiet,
		k.join("busy").hears(registry.Working, ""),
		k.join("dialog").hears(registry.Waiting, ""),
		k.join("deaf").hears(registry.Idle, "group"),
	}
	idle.onBell()
	far.onBell()
	return sender, others
}

func TestUrgentBroadcast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, allow, scope, urgency string
		outcomes                    string // of the sessions in reach
		rung                        string // whose bells
		note                        string
	}{
		{"not allowed by default", "", "", "high",
			"busy=not_needed dialog=not_allowed idle=not_allowed quiet=not_allowed", "", `wake = "high" under [broadcast]`},
		{"never", "never", "", "high",
			"busy=not_needed dialog=not_allowed idle=not_allowed quiet=not_allowed", "", "your user to decide"},
		{"a word that is none", "always", "", "high",
			"busy=not_needed dialog=not_allowed idle=not_allowed quiet=not_allowed", "", `broadcast.wake is "always"`},
		{"allowed", "high", "", "high",
			"busy=not_needed dialog=held idle=native quiet=not_needed", "dialog idle", ""},
		{"to the machine", "high", "global", "high",
			"busy=not_needed dialog=held far=native idle=native quiet=not_needed", "dialog far idle", ""},
		{"normal", "high", "", "normal", "", "", ""},
		{"low", "high", "", "low", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.board.Waker.Mode = wake.ModeNative
			if tt.allow != "" {
				k.allow(tt.allow)
			}
			sender, others := k.crowd()
			res := sender.urgent(tt.scope, tt.urgency)
			if got := outcomes(res); got != tt.outcomes {
				t.Errorf("got %s, want %s\n%+v", got, tt.outcomes, res.Wakes)
			}
			if slices.Contains(res.InReach, "deaf") || slices.Contains(res.InReach, "sender") || !slices.Contains(res.InReach, "idle") {
				t.Errorf("in reach: %v", res.InReach)
			}
			if notes := strings.Join(res.Notes, " "); tt.note == "" && strings.Contains(notes, "woken") || !strings.Contains(notes, tt.note) {
				t.Errorf("notes: %s", notes)
			}
			var rung []string
			for _, s := range append(others, sender) {
				if s.bell() != "" {
					rung = append(rung, s.entry.Name)
				}
			}
			slices.Sort(rung)
			if got := strings.Join(rung, " "); got != tt.rung {
				t.Errorf("bells rung: %q, want %q", got, tt.rung)
			}
		})
	}
}

// TestUrgentBroadcastOnlyOnce: the last look sees that nothing is left to wake for.
func TestUrgentBroadcastOnlyOnce(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.board.Waker.Mode = wake.ModeNative
	ann := k.join("ann")
	k.allow("high")
	ben := k.join("ben").hears(registry.Idle, "")
	res := ann.urgent("", "high") // nobody answers the bell
	if got := outcomes(res); got != "ben=failed" {
		t.Fatalf("got %s: %+v", got, res.Wakes)
	}
	if _, _, held := k.board.Waker.Held(ben.entry.Box); !held {
		t.Error("what waits is not told")
	}
	explained, err := k.board.Wake(t.Context(), ann.actor(), "ben", true)
	if err != nil || !slices.ContainsFunc(explained.Facts, func(f wake.Fact) bool { return f.Name == "urgent broadcasts" && f.Value == "1" }) {
		t.Errorf("%+v, %v", explained, err)
	}
	k.allow("never")
	if _, _, held := k.board.Waker.Held(ben.entry.Box); held {
		t.Error("held although broadcasts may not wake any more")
	}
	k.allow("high")
	if got, err := k.board.Retract(t.Context(), ann.actor(), res.MessageID); err != nil || !got.OK {
		t.Fatal(got, err)
	}
	if _, _, held := k.board.Waker.Held(ben.entry.Box); held {
		t.Error("held for a broadcast that was withdrawn")
	}
	if r, next := k.board.Waker.Retry(t.Context(), ben.entry); r.Outcome != wake.NotNeeded || next != 0 {
		t.Errorf("retry: %+v, %v", r, next)
	}
}

// All are woken at once: each is only shown its broadcast when all bells have rung.
func TestUrgentBroadcastWakesAllAtOnce(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.board.Waker.Mode = wake.ModeNative
	k.allow("high")
	ann := k.join("ann")
	const many = 20
	var bells sync.WaitGroup
	bells.Add(many)
	for i := range many {
		s := k.join(fmt.Sprint("s", i)).hears(registry.Idle, "")
		s.onRing(func() {
			bells.Done()
			bells.Wait()
			s.read(switchboard.ReadRequest{})
		})
	}
	res := ann.urgent("", "high")
	for _, w := range res.Wakes {
		if w.Outcome != string(wake.Native) {
			t.Errorf("got %+v", w)
		}
	}
	if len(res.Wakes) != many {
		t.Errorf("%d wakes", len(res.Wakes))
	}
}

// TestGroupReachesThoseWhoRun: sessions that were there before their project joined
// hear the first broadcast, though none of their hooks has run in between.
func TestGroupReachesThoseWhoRun(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben").at(k.repository("lib"))
	for _, s := range []*session{ben, ann} {
		if _, err := k.board.SetGroup(t.Context(), s.actor(), "team"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ann.broadcast("release is out", "group", ""); err != nil {
		t.Fatal(err)
	}
	if got := bodies(ben.read(switchboard.ReadRequest{})); !slices.Equal(got, []string{"release is out"}) {
		t.Errorf("ben read %v", got)
	}
}

package notify

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func board(t *testing.T, now func() time.Time) *switchboard.Board {
	t.Helper()
	b, err := switchboard.Open(switchboard.Place{
		Home: filepath.Join(t.TempDir(), "home"), UserHome: t.TempDir(), Env: func(string) string { return "" }, Now: now,
	})
	check(t, err)
	t.Cleanup(b.Watch.Close)
	return b
}

func session(t *testing.T, b *switchboard.Board) registry.Entry {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	check(t, cmd.Start())
	t.Cleanup(func() {
		check(t, cmd.Process.Kill())
		_, err := cmd.Process.Wait()
		check(t, err)
	})
	info, err := proc.Stat(cmd.Process.Pid)
	check(t, err)
	e := registry.Entry{
		PID: info.PID, Start: info.Start, Client: registry.Client{Kind: "claude", PID: info.PID, Start: info.Start, Mode: registry.Interactive},
		SessionID: "11111111-2222-4333-8444-555555555555", Name: "docs", CWD: "/", Project: "/", BootID: proc.BootID(),
		Box: mailbox.SessionKey("11111111-2222-4333-8444-555555555555"), StartedAt: b.Now(), SeenAt: b.Now(),
	}
	check(t, b.Registry.Put(e))
	return e
}

// TestLook steps through a waiting episode with a clock of its own.
func TestLook(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	b := board(t, func() time.Time { return now })
	e := session(t, b)
	var told []string
	w := &watcher{told: map[string]bool{}, Options: Options{Board: b, Wait: 2 * time.Minute, Tell: func(_ context.Context, text string) error {
		told = append(told, text)
		return nil
	}}}
	look := func(want int) time.Duration {
		t.Helper()
		next, err := w.look(context.Background())
		check(t, err)
		if len(told) != want {
			t.Fatalf("told %q, want %d", told, want)
		}
		return next
	}
	look(0)
	check(t, b.Registry.SetStatus(e.Box, registry.Waiting, now))
	now = now.Add(90 * time.Second)
	if next := look(0); next != 30*time.Second {
		t.Errorf("looks again in %s, want 30s", next)
	}
	now = now.Add(time.Minute)
	look(1)
	look(1) // once
	check(t, b.Registry.SetStatus(e.Box, registry.Working, now))
	look(1)
	now = now.Add(time.Minute)
	check(t, b.Registry.SetStatus(e.Box, registry.Waiting, now))
	now = now.Add(5 * time.Minute)
	look(2) // another episode
	_, err := b.Store.Append(mailbox.UserKey(""), &mailbox.Message{Kind: mailbox.KindNote, From: mailbox.Party{Name: "web"}, Body: "the \x1b[31mrelease\nis out"}, mailbox.AppendOptions{NoSync: true})
	check(t, err)
	look(3)
	look(3)
	if told[0] != "docs waits for you" || told[2] != "web writes: the release is out" {
		t.Errorf("told %q", told)
	}
	if n, err := b.Store.Pending(mailbox.UserKey("")); err != nil || n != 1 {
		t.Errorf("looking has read the mail: %d %v", n, err)
	}
}

// TestWatch: what comes while it runs is told without waiting for the timer.
func TestWatch(t *testing.T) {
	b := board(t, time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told := make(chan string, 8)
	done := make(chan error, 1)
	go func() {
		done <- Watch(ctx, Options{Board: b, Wait: time.Hour, Tell: func(_ context.Context, text string) error {
			told <- text
			return nil
		}})
	}()
	_, err := b.Store.Append(mailbox.UserKey(""), &mailbox.Message{Kind: mailbox.KindNote, From: mailbox.Party{Name: "web"}, Subject: "news", Body: "x"}, mailbox.AppendOptions{})
	check(t, err)
	select {
	case text := <-told:
		if text != "web writes: news" {
			t.Errorf("told %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was told")
	}
	cancel()
	check(t, <-done)
}

package registry_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

func TestDrops(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	agent := start(t)
	at := time.Now().UTC().Truncate(time.Second)
	first := registry.Drop{
		Box: "s-one", Client: "claude", SessionID: "one", Transcript: "/t", CWD: "/p", Source: "startup",
		Event: "SessionStart", At: at, PIDs: []proc.ID{agent.ID}, Hooks: map[string]time.Time{"SessionStart": at},
	}
	later := registry.Drop{
		Box: "s-one", Client: "claude", SessionID: "one", Event: "Stop", At: at.Add(time.Minute),
		Hooks: map[string]time.Time{"Stop": at.Add(time.Minute), "SessionStart": at.Add(-time.Hour)},
	}
	if err := errors.Join(r.PutDrop(first), r.PutDrop(later)); err != nil {
		t.Fatal(err)
	}
	d, ok := r.DropOf("s-one")
	if !ok || d.Transcript != "/t" || d.CWD != "/p" || d.Source != "startup" || d.Event != "Stop" || len(d.PIDs) != 1 {
		t.Errorf("got %+v, %v", d, ok)
	}
	if !d.Hooks["SessionStart"].Equal(at) || !d.Hooks["Stop"].Equal(at.Add(time.Minute)) {
		t.Errorf("got %v", d.Hooks)
	}
	if err := os.WriteFile(filepath.Join(home, "drops", "s-two.json"), []byte(`{"box":"s-one","session_id":"one"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if drops, err := r.Drops(); err != nil || len(drops) != 1 {
		t.Errorf("got %v, %v", drops, err)
	}
	agent.kill(t)
	if drops, err := r.Drops(); err != nil || len(drops) != 0 {
		t.Errorf("after the client's end: got %v, %v", drops, err)
	}
	if err := errors.Join(r.RemoveDrop("s-one"), r.RemoveDrop("s-one")); err != nil {
		t.Error(err)
	}
	for _, bad := range []registry.Drop{{Box: "s-x"}, {SessionID: "x"}, {Box: "../x", SessionID: "x"}} {
		if err := r.PutDrop(bad); !errors.Is(err, registry.ErrInvalid) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

// A drop names the first agent above the hook by its program.
func TestDropNamesItsClient(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(program, data, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: []string{"claude"}, Env: []string{asSleeper + "=1"}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	agent := &sleeper{cmd: cmd}
	t.Cleanup(func() { agent.kill(t) })
	until(t, "the agent to run", func() bool { return filepath.Base(proc.Exe(cmd.Process.Pid)) == "claude" })
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	shell := start(t)
	r := registry.Open(t.TempDir(), time.Now)
	if err := r.PutDrop(registry.Drop{Box: "s-x", SessionID: "x", PIDs: []proc.ID{shell.ID, info.ID}}); err != nil {
		t.Fatal(err)
	}
	if d, ok := r.DropOf("s-x"); !ok || d.Agent != info.ID {
		t.Errorf("got %+v, want agent %+v", d, info.ID)
	}
}

// Fired is what DropOf says about one event, without decoding the rest.
func TestFired(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	at := time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC)
	d := registry.Drop{
		Box: "s-one", Client: "claude", SessionID: "one", Event: "Stop", At: at,
		CWD: `/a/"PreToolUse":"2026-01-01T00:00:00Z"`, Hooks: map[string]time.Time{"Stop": at},
	}
	if err := r.PutDrop(d); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "drops", "s-one.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, box, event string
		content          []byte
		ok               bool
	}{
		{"the event", "s-one", "Stop", whole, true},
		{"another event", "s-one", "PreToolUse", whole, false},
		{"no drop", "s-two", "Stop", whole, false},
		{"no key", "../s-one", "Stop", whole, false},
		{"torn", "s-one", "Stop", whole[:len(whole)-4], false},
		{"another box's", "s-one", "Stop", bytes.Replace(whole, []byte(`"s-one"`), []byte(`"s-won"`), 1), false},
		{"no time", "s-one", "Stop", bytes.Replace(whole, []byte(`"Stop":"2`), []byte(`"Stop":"x`), 1), false},
	} {
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, ok := r.Fired(c.box, c.event)
		if ok != c.ok || ok && !got.Equal(at) {
			t.Errorf("%s: got %v, %v", c.name, got, ok)
		}
	}
}

package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSessions(t *testing.T) {
	dir, err := os.MkdirTemp("", "pmx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("TMUX", "")
	r := &Runner{Socket: filepath.Join(dir, "s")}
	ctx := context.Background()
	t.Cleanup(func() {
		if _, err := r.Run(ctx, "", "kill-server"); err != nil && !errors.Is(err, ErrNoServer) {
			t.Error(err)
		}
	})
	if has, err := r.HasSession(ctx, "agent"); err != nil || has {
		t.Errorf("without a server: got %v, %v", has, err)
	}
	out := filepath.Join(dir, "out")
	p, err := r.NewSession(ctx, SessionOptions{
		Name: "agents", Dir: dir, Width: 100, Height: 30, Env: []string{"WHO=a b"},
		Command: []string{"sh", "-c", `printf '%s|%s|%s' "$WHO" "$1" "$PWD" >"$0"; exec sleep 1000`, out, "it's; $two words"},
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command has run", func() bool { _, err := os.Stat(out); return err == nil })
	until(t, "its output", func() bool {
		b, _ := os.ReadFile(out)
		return string(b) == "a b|it's; $two words|"+dir
	})
	if p.Session != "agents" || p.Width != 100 || p.PID == 0 {
		t.Errorf("got %+v", p)
	}
	for name, want := range map[string]bool{"agents": true, "agent": false} {
		if has, err := r.HasSession(ctx, name); err != nil || has != want {
			t.Errorf("HasSession(%q): got %v, %v", name, has, err)
		}
	}
	if _, err := r.NewSession(ctx, SessionOptions{Name: "agents", Dir: dir}); err == nil {
		t.Error("a second session of the same name")
	}
	if err := r.KillSession(ctx, "agent"); err == nil {
		t.Error("a session was killed by a part of its name")
	}
	if err := r.KillSession(ctx, "agents"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"", "a:b", "a.b", "a b", "a-:-b", "-a", "=a", "%1", "a\nb"} {
		if _, err := r.NewSession(ctx, SessionOptions{Name: name, Dir: dir}); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("name %q: got %v", name, err)
		}
	}
}

func TestLibraryIsBounded(t *testing.T) {
	dir := t.TempDir()
	hang := "#!/bin/sh\nexec sleep 2\n"
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte(hang), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := &Runner{Timeout: 50 * time.Millisecond}
	if _, err := r.HasSession(context.Background(), "x"); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}

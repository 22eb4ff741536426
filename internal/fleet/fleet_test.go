package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/tmux"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "no [[agent]]"},
		{"broken", "session = \n", "line 1"},
		{"unknown key", "sesion = 'x'\n", "line 1, column 1: unknown key sesion"},
		{"no client", "[[agent]]\nname = 'a'\n", "must be claude or codex"},
		{"both", "[[agent]]\nname = 'a'\nclient = 'claude'\ncommand = ['x']\n", "give one of them"},
		{"twice", "[[agent]]\nname = 'a'\nclient = 'claude'\n[[agent]]\nname = 'a'\nclient = 'codex'\n", "two agents are called a"},
		{"bad name", "[[agent]]\nname = 'a/b'\nclient = 'claude'\n", "name"},
		{"no folder", "[[agent]]\nname = 'a'\nclient = 'claude'\ndir = 'nowhere'\n", "is no folder"},
		{"layout", "layout = 'heap'\n[[agent]]\nname = 'a'\nclient = 'claude'\n", "layout \"heap\""},
		{"prompt of a command", "[[agent]]\nname = 'a'\ncommand = ['x']\nprompt = 'p'\n", "put it into command"},
		{"worktree outside a repository", "[[agent]]\nname = 'a'\nclient = 'claude'\nworktree = 'b'\n", "in no git repository"},
		{"worktree as an option", "[[agent]]\nname = 'a'\nclient = 'claude'\nworktree = '--force'\n", "name of a branch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(write(t, filepath.Join(t.TempDir(), "shop", "peermux.toml"), tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	check(t, os.MkdirAll(filepath.Join(dir, "web"), 0o755))
	p, err := Load(write(t, filepath.Join(dir, "peermux.toml"), "[[agent]]\nname = 'api'\nclient = 'codex'\nprompt = '-start'\n[[agent]]\nname = 'web'\nclient = 'claude'\ndir = 'web'\n"))
	check(t, err)
	if p.Session != "shop" || p.Layout != Windows || p.Agents[0].Dir != dir || p.Agents[1].Dir != filepath.Join(dir, "web") {
		t.Errorf("got %+v", p)
	}
	if got := strings.Join(p.Agents[0].Command, "|"); got != "codex|--|-start" {
		t.Errorf("command %q", got)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("session = 's'\n[[agent]]\nname = 'a'\nclient = 'claude'\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Load(write(t, filepath.Join(t.TempDir(), "x", "f.toml"), text))
		if err == nil && len(p.Agents) == 0 {
			t.Error("a plan without agents passed")
		}
	})
}

// bench is a tmux server of its own and a fleet on it.
type bench struct {
	t    *testing.T
	f    *Fleet
	dir  string
	mu   sync.Mutex
	said []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	t.Setenv("HOME", t.TempDir()) // no tmux.conf of the developer's
	t.Setenv("TMUX", "")
	// A short path: sockets end at about 100 bytes.
	dir, err := os.MkdirTemp("/tmp", "pmx-fleet-")
	check(t, err)
	runner := &tmux.Runner{Socket: filepath.Join(dir, "s")}
	home := filepath.Join(dir, "home")
	watcher, err := watch.New()
	check(t, err)
	t.Cleanup(func() {
		watcher.Close()
		// Without a server there is nothing to end.
		_, _ = runner.Run(context.Background(), "", "kill-server")
		check(t, os.RemoveAll(dir))
	})
	b := &bench{t: t, dir: dir}
	b.f = &Fleet{
		Home: home, Registry: registry.Open(home, time.Now), Watch: watcher, Tmux: runner, Wait: 20 * time.Second,
		Say: func(format string, args ...any) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, fmt.Sprintf(format, args...))
		},
	}
	return b
}

func (b *bench) plan(text string) Plan {
	b.t.Helper()
	p, err := Load(write(b.t, filepath.Join(b.dir, "shop", "peermux.toml"), text))
	check(b.t, err)
	return p
}

func (b *bench) panes() []tmux.Pane {
	b.t.Helper()
	panes, err := b.f.Tmux.Panes(context.Background())
	if err != nil {
		return nil // no server
	}
	return panes
}

const twoCommands = `
session = "shop"
layout = "%s"
[[agent]]
name = "one"
command = ["sleep", "300"]
[[agent]]
name = "two"
command = ["sleep", "301"]
`

func TestUpAndDown(t *testing.T) {
	for _, layout := range []string{Windows, "tiled"} {
		t.Run(layout, func(t *testing.T) {
			b := newBench(t)
			ctx := context.Background()
			p := b.plan(fmt.Sprintf(twoCommands, layout))
			check(t, b.f.Up(ctx, p))
			if n := len(b.panes()); n != 2 {
				t.Fatalf("%d panes, want 2", n)
			}
			check(t, b.f.Up(ctx, p)) // again: nothing new
			if n := len(b.panes()); n != 2 {
				t.Fatalf("%d panes after a second up, want 2", n)
			}
			// A pane that the person opened in our session is not ours to end.
			own, err := b.f.Tmux.NewWindow(ctx, "shop", tmux.SessionOptions{Name: "mine", Dir: b.dir, Command: []string{"sleep", "302"}})
			check(t, err)
			n, err := b.f.Down(ctx, "shop")
			check(t, err)
			left := b.panes()
			if n != 2 || len(left) != 1 || left[0].ID != own.ID {
				t.Errorf("ended %d, left %+v", n, left)
			}
			if names, err := b.f.Sessions(); err != nil || len(names) != 0 {
				t.Errorf("still recorded: %v %v", names, err)
			}
		})
	}
}

func TestOneThatEndedIsStartedAgain(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	p := b.plan(fmt.Sprintf(twoCommands, Windows))
	check(t, b.f.Up(ctx, p))
	check(t, b.f.Tmux.KillPane(ctx, b.panes()[1].ID))
	check(t, b.f.Up(ctx, p))
	if n := len(b.panes()); n != 2 {
		t.Errorf("%d panes, want 2", n)
	}
}

func TestForeignSessionIsNotTouched(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	_, err := b.f.Tmux.NewSession(ctx, tmux.SessionOptions{Name: "shop", Dir: b.dir, Command: []string{"sleep", "303"}})
	check(t, err)
	before := b.panes()
	err = b.f.Up(ctx, b.plan(fmt.Sprintf(twoCommands, Windows)))
	if err == nil || !strings.Contains(err.Error(), "was not started here") {
		t.Errorf("got %v", err)
	}
	if after := b.panes(); len(after) != 1 || after[0].PID != before[0].PID {
		t.Errorf("panes were %+v, are %+v", before, after)
	}
}

// A restarted server hands the same pane ids out again: what they name now is not
// ours.
func TestRestartedServer(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	check(t, b.f.Up(ctx, b.plan(fmt.Sprintf(twoCommands, Windows))))
	server, err := proc.Stat(b.panes()[0].ServerPID)
	check(t, err)
	_, err = b.f.Tmux.Run(ctx, "", "kill-server")
	check(t, err)
	for end := time.Now().Add(20 * time.Second); proc.Alive(server.ID); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the tmux server does not end")
		}
	}
	_, err = b.f.Tmux.NewSession(ctx, tmux.SessionOptions{Name: "other", Dir: b.dir, Command: []string{"sleep", "304"}})
	check(t, err)
	n, err := b.f.Down(ctx, "shop")
	check(t, err)
	if n != 0 || len(b.panes()) != 1 {
		t.Errorf("ended %d panes of another server, left %+v", n, b.panes())
	}
}

// An agent is waited for by its entry in the registry.
func TestWaitsForTheEntry(t *testing.T) {
	b := newBench(t)
	bin := filepath.Join(b.dir, "bin")
	check(t, os.Mkdir(bin, 0o755))
	write(t, filepath.Join(bin, "claude"), "#!/bin/sh\nexec sleep 305\n")
	check(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p := b.plan("session = 'shop'\n[[agent]]\nname = 'api'\nclient = 'claude'\n")
	go func() {
		for {
			if panes := b.panes(); len(panes) == 1 && panes[0].Window == "api" {
				b.register(panes[0].PID)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	check(t, b.f.Up(context.Background(), p))
	if last := b.said[len(b.said)-1]; last != "api is here as api-1" {
		t.Errorf("said %q", b.said)
	}

	b.f.Wait = 50 * time.Millisecond
	q := b.plan("session = 'shop2'\n[[agent]]\nname = 'late'\nclient = 'claude'\n")
	if err := b.f.Up(context.Background(), q); err == nil || !strings.Contains(err.Error(), "late did not appear") {
		t.Errorf("got %v", err)
	}
}

// A client that ends, such as one that is offline, is told of at once: there is no
// pane to look into.
func TestEndsBeforeItIsReady(t *testing.T) {
	b := newBench(t)
	bin := filepath.Join(b.dir, "bin")
	check(t, os.Mkdir(bin, 0o755))
	write(t, filepath.Join(bin, "claude"), "#!/bin/sh\nsleep 0.5\nexit 1\n")
	check(t, os.Chmod(filepath.Join(bin, "claude"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	b.f.Wait = time.Hour
	err := b.f.Up(context.Background(), b.plan("session = 'shop'\n[[agent]]\nname = 'api'\nclient = 'claude'\n"))
	if err == nil || !strings.Contains(err.Error(), "api ended before it was ready") {
		t.Errorf("got %v", err)
	}
}

func (b *bench) register(pid int) {
	info, err := proc.Stat(pid)
	if err == nil {
		err = b.f.Registry.Put(registry.Entry{
			PID: info.PID, Start: info.Start, Client: registry.Client{Kind: "claude", PID: info.PID, Start: info.Start},
			SessionID: "11111111-2222-4333-8444-555555555555", Box: mailbox.SessionKey("11111111-2222-4333-8444-555555555555"),
			Name: "api-1", CWD: "/", Project: "/", BootID: proc.BootID(), SeenAt: time.Now(), StartedAt: time.Now(),
		})
	}
	if err != nil {
		b.t.Error(err)
	}
}

func TestWorktree(t *testing.T) {
	b := newBench(t)
	repo := filepath.Join(b.dir, "shop")
	check(t, os.Mkdir(repo, 0o755))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	p := b.plan("session = 'shop'\n[[agent]]\nname = 'v2'\ncommand = ['sleep', '306']\nworktree = 'api-v2'\n")
	want := filepath.Join(b.dir, "shop-api-v2")
	if p.Agents[0].Dir != want {
		t.Fatalf("folder %s, want %s", p.Agents[0].Dir, want)
	}
	check(t, b.f.Up(context.Background(), p))
	if panes := b.panes(); len(panes) != 1 || panes[0].CWD != want {
		t.Errorf("panes %+v", panes)
	}
	if again := b.plan("session = 'shop'\n[[agent]]\nname = 'v2'\ncommand = ['sleep', '306']\nworktree = 'api-v2'\n"); again.Agents[0].Dir != want {
		t.Errorf("the worktree that is there now is looked for in %s", again.Agents[0].Dir)
	}
}

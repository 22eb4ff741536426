package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/internal/tmux"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// lab is the temporary place where everything is measured.
type lab struct {
	dir   string
	quick bool
	procs []*exec.Cmd
	boxes []*switchboard.Board
	tmux  *tmux.Runner
}

func (l *lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

func (l *lab) rounds(full int) int {
	if l.quick {
		return max(3, full/8)
	}
	return full
}

// close ends what was started and removes the folder.
func (l *lab) close() error {
	var errs []error
	for _, p := range l.procs {
		if err := p.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		_ = p.Wait() // it was killed: that is what Wait says
	}
	for _, b := range l.boxes {
		b.Watch.Close()
	}
	if l.tmux != nil {
		_, err := l.tmux.Run(context.Background(), "", "kill-server")
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}

// prepare builds the programs and lays out every row.
func (l *lab) prepare(ctx context.Context) ([]row, error) {
	if err := l.build(ctx); err != nil {
		return nil, err
	}
	var rows []row
	for _, make := range []func(context.Context) ([]row, error){
		l.floorRows, l.hookRows, l.serverRows, l.mailRows, l.askRows, l.listRows, l.transcriptRows, l.writerRows, l.wakeRows, l.topRows, l.peerRows,
	} {
		more, err := make(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (l *lab) build(ctx context.Context) error {
	empty := l.path("empty")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": "module empty\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(empty, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, b := range []struct{ dir, out, pkg string }{
		{".", l.path("peermux"), "./cmd/peermux"}, {".", l.path("peermux-hook"), "./cmd/peermux-hook"}, {empty, l.path("hello"), "."},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.out, b.pkg)
		cmd.Dir = b.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", b.pkg, err, out)
		}
	}
	return nil
}

// env is the environment of the programs that are measured.
func (l *lab) env(home string) []string {
	return []string{"HOME=" + l.path("user"), "PEERMUX_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "PEERMUX_WAKE=off"}
}

// board is the switchboard over a home of its own.
func (l *lab) board(name string) (*switchboard.Board, error) {
	home := l.path(name)
	env := func(key string) string { return map[string]string{"PEERMUX_WAKE": wake.ModeOff}[key] }
	b, err := switchboard.Open(switchboard.Place{Home: home, UserHome: l.path("user"), Env: env, Now: time.Now})
	if err != nil {
		return nil, err
	}
	l.boxes = append(l.boxes, b)
	return b, nil
}

// place is where a row with people in it is measured: a board with live sessions, and
// the person at it.
type place struct {
	*switchboard.Board
	me       switchboard.Actor
	sessions []registry.Entry
}

// place makes a place in a home of its own.
func (l *lab) place(name string, sessions int) (place, error) {
	b, err := l.board(name)
	if err != nil {
		return place{}, err
	}
	me, err := user()
	if err != nil {
		return place{}, err
	}
	entries, err := l.sessions(b, sessions)
	return place{b, me, entries}, err
}

// peer is the first session as somebody who acts.
func (p place) peer() switchboard.Actor { return switchboard.ActorOf(p.sessions[0], p.me.Process) }

// user is the person who acts in rows that need somebody.
func user() (switchboard.Actor, error) {
	self, err := proc.Self()
	return switchboard.Actor{
		Party: mailbox.Party{Name: "user", Client: "user", Box: mailbox.UserKey(""), Project: "/bench"}, Kind: registry.ToUser, Process: self.ID, Dir: "/",
	}, err
}

// sessions registers n live sessions: processes that sleep.
func (l *lab) sessions(b *switchboard.Board, n int) ([]registry.Entry, error) {
	var entries []registry.Entry
	for i := range n {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		l.procs = append(l.procs, cmd)
		info, err := proc.Stat(cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("11111111-2222-4333-8444-%012d", i)
		e := registry.Entry{
			PID: info.PID, Start: info.Start, Client: registry.Client{Kind: "claude", PID: info.PID, Start: info.Start, Mode: registry.Interactive},
			SessionID: id, Box: mailbox.SessionKey(id), Name: fmt.Sprintf("s%d", i), CWD: "/bench", Project: "/bench",
			StartedAt: time.Now(), SeenAt: time.Now(), BootID: proc.BootID(),
		}
		if err := b.Registry.Put(e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// fill puts n short messages into a box.
func fill(b *switchboard.Board, box string, n int) error {
	for i := range n {
		m := mailbox.Message{Kind: mailbox.KindNote, From: mailbox.Party{Name: "peer", SessionID: "p"}, Body: fmt.Sprintf("message %d: please look at parser.go", i)}
		if _, err := b.Store.Append(box, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			return err
		}
	}
	return nil
}

// drain takes all that waits in a box, so that the next row finds nothing there.
func drain(b *switchboard.Board, box string) error {
	claim, err := b.Store.Claim(box, mailbox.ClaimOptions{Reader: sessionID, Via: "bench"})
	if err != nil {
		return err
	}
	return claim.Shown()
}

// timed is the time of one call in milliseconds.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return float64(time.Since(start)) / float64(time.Millisecond), err
}

// command times a whole process.
func command(ctx context.Context, env []string, stdin string, argv ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin = strings.NewReader(stdin)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	ms, err := timed(cmd.Run)
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", argv[0], err, out.String())
	}
	return ms, err
}

// Package demo plays peermux's main job for who has just built it: two sessions
// appear, one asks, the other is woken and answers, and the other way round; a
// message lands in the middle of a turn; mail waits for a session that starts
// later. The agents are stand-ins (package agentsim); everything between them is
// the real peermux, in real processes, in tmux when it is there, else on PTYs of
// their own.
//
// What is printed is read from what happened, while it happens. A step that does
// not happen ends the demo with an error. Everything is written below one
// temporary folder, tmux runs on a socket in it, and both are gone afterwards,
// also after an interrupt; only SIGKILL leaves them behind.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/mockmodel"
	"peermux/internal/tmux"
	"peermux/internal/watch"
)

// Options of a demo. Programs are absolute paths.
type Options struct {
	Out     io.Writer
	Colour  bool
	Env     func(string) string
	Peermux string   // the peermux program
	Hook    string   // the peermux-hook program
	Agent   []string // what runs [agentsim.Main]: a program and its arguments
	NoTmux  bool     // PTYs even where tmux is installed
	Temp    string   // where the demo's folder is made; empty: /tmp
}

// limit ends a demo in which something hangs; a demo takes a few seconds.
const limit = 40 * time.Second

// Run plays the demo and returns the first thing that did not happen.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := &demo{o: o, page: &page{out: o.Out, colour: o.Colour, start: time.Now()}}
	if err := d.prepare(ctx); err != nil {
		return errors.Join(err, d.clear())
	}
	err := d.play(ctx)
	if ending := d.clear(); err == nil {
		err = ending
	}
	if err != nil {
		return err
	}
	d.page.end("all of it happened, in %.1f s; nothing is left behind", time.Since(d.page.start).Seconds())
	return nil
}

type demo struct {
	o      Options
	page   *page
	dir    string // everything is below it
	env    []string
	tmux   *tmux.Runner // nil: PTYs
	agents []*agentsim.Agent
}

// What the agents talk about. The answers stand in no prompt but the script's.
const (
	greeting     = "Hello, what shall I do?"
	portQuestion = "Which port does the test database listen on?"
	portAnswer   = "5433, see compose.yaml."
	nameQuestion = "Is it user_id or account_id in the new schema?"
	nameAnswer   = "account_id everywhere, user_id is gone."
	headsUp      = "I am rebasing main, please do not push for a minute."
	changeNote   = "The /v1/orders call is gone, use /v2/orders."
)

// answering makes a stand-in reply to a question when it is told it.
func answering(question, answer string) mockmodel.Rule {
	return mockmodel.Rule{When: question,
		Do: `[[tool mcp__peermux__reply_to_message ` + object("message_id", "{{message_id}}", "body", answer) + `]] [[say I have answered.]]`}
}

// object is a JSON object of strings.
func object(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return "{}" // strings always marshal
	}
	return string(raw)
}

// prepare makes the folder, with a home and two repositories in it.
func (d *demo) prepare(ctx context.Context) error {
	root := d.o.Temp
	if root == "" {
		root = "/tmp" // macOS's $TMPDIR is too long for the unix sockets below it
	}
	var err error
	if d.dir, err = os.MkdirTemp(root, "peermux-demo-"); err != nil {
		return err
	}
	if d.dir, err = filepath.EvalSymlinks(d.dir); err != nil {
		return err
	}
	for _, repo := range []string{"shop", "docs"} {
		if err := makeRepository(filepath.Join(d.dir, repo)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(d.dir, "home"), 0o700); err != nil {
		return err
	}
	d.env = []string{"HOME=" + filepath.Join(d.dir, "home"), "PATH=" + d.o.Env("PATH"), "LANG=C.UTF-8",
		"TERM=xterm-256color", "SHELL=/bin/sh", "TMPDIR=" + d.dir}
	where := "without tmux"
	if version, ok := tmuxVersion(ctx); ok && !d.o.NoTmux {
		d.tmux = &tmux.Runner{Socket: filepath.Join(d.dir, "tmux"), Env: d.env}
		where = "in " + version
	}
	d.page.title("two stand-in agents, the real peermux between them (" + where + ")")
	return nil
}

// makeRepository makes what git itself takes for a repository on branch main;
// the demo does without git.
func makeRepository(dir string) error {
	git := filepath.Join(dir, ".git")
	for _, sub := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(git, sub), 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600)
}

func tmuxVersion(ctx context.Context) (string, bool) {
	out, err := (&tmux.Runner{}).Run(ctx, "", "-V")
	return strings.TrimSpace(out), err == nil
}

// start starts an agent in a repository.
func (d *demo) start(ctx context.Context, name, client, repo string, rules ...mockmodel.Rule) (*agentsim.Agent, error) {
	begin := time.Now()
	a, err := agentsim.Start(ctx, agentsim.Options{
		Config: agentsim.Config{Client: client, Name: name, Peermux: d.o.Peermux, Hook: d.o.Hook, Rules: rules},
		Dir:    filepath.Join(d.dir, repo), Env: d.env, Program: d.o.Agent,
		Tmux: d.tmux, Host: d.tmux == nil, Logs: d.dir,
	})
	if err != nil {
		return nil, err
	}
	d.agents = append(d.agents, a)
	d.page.line(name, "", "", "a stand-in for %s starts in %s (%d ms)", clientName(client), repo, time.Since(begin).Milliseconds())
	return a, nil
}

func clientName(client string) string {
	return map[string]string{"claude": "Claude Code", "codex": "Codex"}[client]
}

// command runs peermux as the person would, in a shell of the project.
func (d *demo) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.o.Peermux, args...)
	cmd.Dir, cmd.Env = filepath.Join(d.dir, "shop"), d.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("peermux %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// clear ends the agents and removes the folder.
func (d *demo) clear() error {
	var errs []error
	for _, a := range d.agents {
		errs = append(errs, exit(a))
	}
	if d.tmux != nil && len(d.agents) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), tmux.DefaultTimeout)
		defer cancel()
		if _, err := d.tmux.Run(ctx, "", "kill-server"); err != nil && !errors.Is(err, tmux.ErrNoServer) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, d.gone())
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// exit ends an agent as its person would, so that nothing of it writes any more,
// also when the demo itself was interrupted.
func exit(a *agentsim.Agent) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return a.Stop(ctx)
}

// gone waits until no peermux server of the demo is left: each ends itself when
// its client has.
func (d *demo) gone() error {
	sessions := filepath.Join(d.dir, "home", ".peermux", "sessions")
	watcher, err := watch.New()
	if err != nil {
		return err
	}
	defer watcher.Close()
	changed, stop := watcher.Dir(sessions)
	defer stop()
	deadline := time.After(5 * time.Second)
	for {
		left, err := filepath.Glob(filepath.Join(sessions, "*.json"))
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-changed:
		case <-deadline:
			return fmt.Errorf("%d servers did not end with their clients: %v", len(left), left)
		}
	}
}

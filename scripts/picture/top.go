package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/mockmodel"
	"peermux/internal/tmux"
	"peermux/registry"
)

// stage is a project in which stand-in agents work, with the real peermux between
// them, on a tmux server of its own.
type stage struct {
	dir    string
	env    []string
	words  []string // peermux, as it was named
	server *tmux.Runner
	agents []*agentsim.Agent
}

// What is talked about. A prompt meets a rule by its words, as a model would.
const (
	webPrompt  = "The checkout tests need the new database. Find out its port."
	webAsks    = "Which port has the test database?"
	docsPrompt = "Tell api what the new page needs."
	docsTask   = "Orders page: what does /v2 return?"
	opsPrompt  = "Rotate the signing keys, then tell me."
	opsTells   = "The signing keys are rotated."
)

// recordTop runs top when the agents have said what there is to see.
func recordTop(program []string) (text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := &stage{words: program}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.build(ctx); err != nil {
		return "", err
	}
	if err := s.play(ctx); err != nil {
		return "", err
	}
	return s.look(ctx)
}

func (s *stage) build(ctx context.Context) error {
	var err error
	if s.dir, err = os.MkdirTemp("/tmp", "pmx"); err != nil {
		return err
	}
	for _, d := range []string{"home", "shop/.git/objects", "shop/.git/refs", "logs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "shop/.git/HEAD"), []byte("ref: refs/heads/orders-v2\n"), 0o600); err != nil {
		return err
	}
	self, err := filepath.Abs(s.words[0])
	if err != nil {
		return err
	}
	s.words[0] = self
	s.env = []string{"HOME=" + filepath.Join(s.dir, "home"), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh"}
	s.server = &tmux.Runner{Socket: filepath.Join(s.dir, "tmux"), Env: s.env}
	for _, a := range []struct{ name, client, prompt, then string }{
		{"web", "claude", webPrompt, tool("set_my_state", "purpose", "checkout on the new database") + tool("ask_peer", "target", "api", "body", webAsks)},
		{"api", "codex", webAsks, `[[delay 300]] [[say 5433]]`},
		{"docs", "claude", docsPrompt, tool("set_my_state", "purpose", "writes the page about orders") + tool("send_message", "target", "api", "body", docsTask)},
		{"ops", "claude", opsPrompt, tool("set_my_state", "purpose", "keys and certificates") + tool("send_message", "target", "user", "body", opsTells)},
	} {
		agent, err := agentsim.Start(ctx, agentsim.Options{
			Config: agentsim.Config{
				Client: a.client, Name: a.name, Peermux: self, Hook: filepath.Join(filepath.Dir(self), "peermux-hook"),
				Rules: []mockmodel.Rule{{When: a.prompt, Do: a.then}},
			},
			Dir: filepath.Join(s.dir, "shop"), Env: s.env, Program: []string{self, "stand-in"}, Tmux: s.server, Logs: filepath.Join(s.dir, "logs"),
		})
		if err != nil {
			return err
		}
		s.agents = append(s.agents, agent)
	}
	return s.known(ctx)
}

// known waits until peermux knows all of them: a Codex thread takes a second.
func (s *stage) known(ctx context.Context) error {
	sessions := registry.Open(filepath.Join(s.dir, "home", ".peermux"), time.Now)
	for {
		live, err := sessions.Peek()
		if err != nil {
			return err
		}
		if unknown := func(e registry.Entry) bool { return e.SessionID == "" }; len(live) == len(s.agents) && !slices.ContainsFunc(live, unknown) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("peermux does not know all agents: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tool is a call in the language of the stand-ins' scripts; pairs are its strings.
func tool(name string, pairs ...string) string {
	var fields []string
	for i := 0; i+1 < len(pairs); i += 2 {
		fields = append(fields, fmt.Sprintf("%q:%q", pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf("[[tool mcp__peermux__%s {%s}]] ", name, strings.Join(fields, ","))
}

// play has each agent do its part, one after the other.
func (s *stage) play(ctx context.Context) error {
	web, api, docs, ops := s.agents[0], s.agents[1], s.agents[2], s.agents[3]
	if err := ops.Say(ctx, opsPrompt); err != nil {
		return err
	}
	if _, err := ops.Wait(ctx, time.Time{}, agentsim.Idle, ""); err != nil {
		return err
	}
	if err := web.Say(ctx, webPrompt); err != nil {
		return err
	}
	if _, err := api.WaitTold(ctx, time.Time{}, webAsks); err != nil {
		return err
	}
	if err := docs.Say(ctx, docsPrompt); err != nil {
		return err
	}
	_, err := docs.Wait(ctx, time.Time{}, agentsim.Idle, "")
	return err
}

// look runs top in a pane and takes it when all of it is there.
func (s *stage) look(ctx context.Context) (string, error) {
	args := append([]string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "top", "-x", "124", "-y", "17",
		"-c", filepath.Join(s.dir, "shop"), "--", s.words[0], "top"}, s.words[1:]...)
	pane, err := s.server.Run(ctx, "", args...)
	if err != nil {
		return "", err
	}
	pane = strings.TrimSpace(pane)
	if _, err := s.await(ctx, pane, "4 sessions"); err != nil {
		return "", err
	}
	// The last row is web, which waits: its preview has something to show.
	if _, err := s.server.Run(ctx, "", "send-keys", "-t", pane, "End"); err != nil {
		return "", err
	}
	return s.await(ctx, pane, "→ user", opsTells, docsTask, webAsks, "certificates", "web, auto", "user: ")
}

// await gives the pane's screen once it shows all of the texts.
func (s *stage) await(ctx context.Context, pane string, texts ...string) (string, error) {
	for {
		screen, err := s.server.Capture(ctx, pane, tmux.CaptureOptions{Escapes: true})
		if err != nil {
			return "", err
		}
		missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(screen, text) })
		if len(missing) == 0 {
			return screen, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("top does not show %q: %w\n%s", missing, ctx.Err(), screen)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *stage) end() error {
	var errs []error
	for _, a := range s.agents {
		errs = append(errs, a.Kill())
	}
	if len(s.agents) > 0 {
		if _, err := s.server.Run(context.Background(), "", "kill-server"); !errors.Is(err, tmux.ErrNoServer) {
			errs = append(errs, err)
		}
	}
	// The MCP servers end by themselves when their clients have; until then they
	// may write.
	for try := range 100 {
		if err := os.RemoveAll(s.dir); err == nil || try == 99 {
			return errors.Join(append(errs, err)...)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

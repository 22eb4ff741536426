package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// peer describes another tool of this kind by what it offers in public; see
// peers/README.md. {dir} stands for its folder, {home} for an empty home.
type peer struct {
	Name string            `json:"name"`
	Env  map[string]string `json:"env"`
	Init [][]string        `json:"init"` // run once, before anything is measured
	Hook []string          `json:"hook"` // what it runs on every tool call
	MCP  []string          `json:"mcp"`  // its MCP server on stdio
	Send []string          `json:"send"` // sends one message
}

func (l *lab) peerRows(ctx context.Context) ([]row, error) {
	base := os.Getenv("BENCH_PEERS")
	if base == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join("bench", "peers", "*.json"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var p peer
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		dir := filepath.Join(base, p.Name)
		if _, err := os.Stat(dir); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is not installed in %s\n", p.Name, base)
			continue
		}
		more, err := l.rowsOf(ctx, p, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (l *lab) rowsOf(ctx context.Context, p peer, dir string) ([]row, error) {
	home := l.path("peer-" + p.Name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	fillIn := strings.NewReplacer("{dir}", dir, "{home}", home)
	argv := func(words []string) []string {
		out := make([]string, len(words))
		for i, w := range words {
			out[i] = fillIn.Replace(w)
		}
		return out
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for k, v := range p.Env {
		env = append(env, k+"="+fillIn.Replace(v))
	}
	for _, words := range p.Init {
		if _, err := command(ctx, env, "", argv(words)...); err != nil {
			return nil, err
		}
	}
	group := "peer: " + p.Name
	var rows []row
	if len(p.Hook) > 0 {
		rows = append(rows, row{group, "hook, nothing to show", "ms", l.rounds(60), hookOne, func(ctx context.Context) (float64, error) {
			return command(ctx, env, fmt.Sprintf(hookFormat, sessionID), argv(p.Hook)...)
		}})
	}
	if len(p.Send) > 0 {
		rows = append(rows, row{group, "send, whole process", "ms", l.rounds(30), sendAll, func(ctx context.Context) (float64, error) {
			return command(ctx, env, "", argv(p.Send)...)
		}})
	}
	if len(p.MCP) > 0 {
		rows = append(rows, l.peerServer(group, env, argv(p.MCP))...)
	}
	return rows, nil
}

// peerServer measures another tool's MCP server.
func (l *lab) peerServer(group string, env, argv []string) []row {
	start := func(ctx context.Context, figure func(*server, float64) (float64, error)) (float64, error) {
		var s *server
		ms, err := timed(func() (err error) {
			if s, err = startServer(ctx, env, argv...); err != nil {
				return err
			}
			return s.call(initialize)
		})
		if err != nil {
			return 0, err
		}
		v, err := figure(s, ms)
		// What is measured is known. A peer need not end with its input, so it is
		// killed; it may have ended before, and Wait says how.
		_ = s.in.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return v, err
	}
	return []row{
		{group, "MCP start to initialize answer", "ms", l.rounds(30), serverStart, func(ctx context.Context) (float64, error) {
			return start(ctx, func(_ *server, ms float64) (float64, error) { return ms, nil })
		}},
		{group, "MCP resident after initialize", "MB", l.rounds(8), serverIdle, func(ctx context.Context) (float64, error) {
			return start(ctx, func(s *server, _ float64) (float64, error) { return s.resident() })
		}},
	}
}

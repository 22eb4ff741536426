package agentsim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// configEnv carries the [Config], as JSON, from who starts an agent to the
// program that is to be one.
const configEnv = "PEERMUX_STAND_IN"

// Wanted reports whether this process was started to be an agent. A test's
// TestMain asks it first and calls [Main] then.
func Wanted() bool { return os.Getenv(configEnv) != "" }

// Main is the agent's program: it runs on the terminal that stdin and stdout are
// until the person ends it, and returns the exit code.
func Main() int {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in agent: error:", err)
		return 1
	}
	return 0
}

func run() error {
	var cfg Config
	if err := json.Unmarshal([]byte(os.Getenv(configEnv)), &cfg); err != nil {
		return fmt.Errorf("%s: %w", configEnv, err)
	}
	if cfg.Client != "claude" && cfg.Client != "codex" {
		return fmt.Errorf("client is %q, want claude or codex", cfg.Client)
	}
	// Its children must not take themselves for agents.
	if err := os.Unsetenv(configEnv); err != nil {
		return err
	}
	log, err := openLog(cfg.Log)
	if err != nil {
		return err
	}
	id, err := newIdentity(cfg.Client, cfg.Name, os.Getenv)
	if err != nil {
		return err
	}
	term, err := openTerminal(os.Stdin, os.Stdout)
	if err != nil {
		return err
	}
	defer func() {
		if err := term.close(os.Stdin); err != nil {
			log.add(Note, "terminal: %v", err)
		}
	}()
	// SIGHUP comes when the terminal goes; the default would skip the end.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	a := &agent{cfg: cfg, id: id, log: log, bell: newBell(), draw: term.draw,
		view:  view{client: cfg.Client, cwd: id.cwd},
		hooks: &hooks{program: cfg.Hook, client: cfg.Client, cwd: id.cwd, env: os.Environ(), log: log}}
	go a.bell.run(ctx)
	keys := make(chan key)
	go readKeys(io.Reader(os.Stdin), keys)
	return a.run(ctx, keys)
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// builtEnv names the folder of the programs under test. TestMain builds them
// and sets it, unless it was given: make e2e tests what make build has built.
const builtEnv = "PEERMUX_E2E_BUILT"

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	sweep(abandoned)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		sweep(func(run int) bool { return run == os.Getpid() })
		os.Exit(1)
	}()
	if os.Getenv(builtEnv) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "pmxbin")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: error:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "peermux/cmd/peermux", "peermux/cmd/peermux-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: error: build peermux:", err)
		return 1
	}
	if err := os.Setenv(builtEnv, dir); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: error:", err)
		return 1
	}
	return m.Run()
}

// found locates what a bench needs and fails with what to do about it.
func found(t *testing.T) programs {
	t.Helper()
	built, err := filepath.EvalSymlinks(os.Getenv(builtEnv))
	must(t, err)
	p := programs{peermux: built, clients: filepath.Join(clientsDir(t), "node_modules", ".bin")}
	for _, c := range []string{"claude", "codex"} {
		if _, err := os.Stat(filepath.Join(p.clients, c)); err != nil {
			t.Fatalf("no %s in %s: run scripts/install-clients, as make e2e does", c, p.clients)
		}
	}
	for _, need := range []string{"node", "tmux"} {
		path, err := exec.LookPath(need)
		if err != nil {
			t.Fatalf("%s is not installed", need)
		}
		if need == "node" {
			p.node = filepath.Dir(path)
		}
	}
	return p
}

func clientsDir(t *testing.T) string {
	t.Helper()
	if d := os.Getenv("PEERMUX_E2E_CLIENTS"); d != "" {
		return d
	}
	// As scripts/install-clients, on macOS too.
	if d := os.Getenv("XDG_CACHE_HOME"); d != "" {
		return filepath.Join(d, "peermux", "clients")
	}
	home, err := os.UserHomeDir()
	must(t, err)
	return filepath.Join(home, ".cache", "peermux", "clients")
}

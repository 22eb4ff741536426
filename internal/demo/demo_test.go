package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"peermux/internal/agentsim"
)

func TestMain(m *testing.M) {
	if agentsim.Wanted() {
		os.Exit(agentsim.Main())
	}
	os.Exit(m.Run())
}

func build(t *testing.T) (peermux, hook string) {
	t.Helper()
	peermux, hook, err := agentsim.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return peermux, hook
}

// TestDemo plays the demo both ways and checks what it prints. That the steps
// happened is the demo's own business: it fails when one does not.
func TestDemo(t *testing.T) {
	peermux, hook := build(t)
	for _, noTmux := range []bool{false, true} {
		t.Run(fmt.Sprintf("pty=%v", noTmux), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := Run(t.Context(), Options{Out: &out, Env: os.Getenv, Peermux: peermux, Hook: hook,
				Agent: []string{os.Args[0]}, NoTmux: noTmux})
			t.Logf("\n%s", out.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				`web +claude +idle `, `api +codex +idle `,
				`web +→ api +` + regexp.QuoteMeta(portQuestion), `api +→ web +` + regexp.QuoteMeta(portAnswer), `api +is woken through its terminal`,
				`web +is woken by its bell`, `✓ +web has the answer in the same turn`, `✓ +api has the answer in the same turn`,
				`✓ +api saw it before its turn was over`, `nobody works in docs`, `✓ +docs was shown it as it started`, `all of it happened`,
			} {
				if !regexp.MustCompile(want).Match(out.Bytes()) {
					t.Errorf("no line %q", want)
				}
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Error("colours without Colour")
			}
		})
	}
}

// TestInterrupted shows that Ctrl-C in the middle leaves nothing behind.
func TestInterrupted(t *testing.T) {
	peermux, hook := build(t)
	temp, err := os.MkdirTemp("/tmp", "pmx") // short: unix sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithCancel(t.Context())
	out := &watched{until: "asks api", then: cancel}
	err = Run(ctx, Options{Out: out, Env: os.Getenv, Peermux: peermux, Hook: hook, Agent: []string{os.Args[0]}, Temp: temp})
	if err == nil || ctx.Err() == nil {
		t.Fatalf("got %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// watched calls then once it was told until.
type watched struct {
	until string
	then  func()
}

func (w *watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.until) {
		w.then()
	}
	return len(p), nil
}

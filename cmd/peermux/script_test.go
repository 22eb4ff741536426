package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"peermux/internal/codexsim"
	"peermux/internal/frame"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"peermux": main,
		// It has to lie beside peermux; only doctor runs it, to learn its format.
		"peermux-hook": func() {
			fmt.Println("peermux-hook format", cmp.Or(os.Getenv("HOOK_FORMAT"), strconv.Itoa(frame.Version)))
		},
		"codex-sim": func() {
			os.Exit(codexsim.AppServer(codexsim.Call{
				Mode: codexsim.Answers, Home: os.Getenv("CODEX_HOME"), In: os.Stdin, Out: os.Stdout, Errors: os.Stderr,
			}))
		},
	})
}

// TestScripts runs the command line in a home of its own. PATH leads to our
// programs and to the script's bin folder, so no client of this machine is
// ever found or started; sh is there for the bin folder's programs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			ours, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
			e.Setenv("OURS", ours)
			e.Setenv("PATH", filepath.Join(e.WorkDir, "bin")+":"+ours)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			// A program built with -race otherwise sleeps for a second before it ends.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a program that must end with an exit code: exits CODE PROGRAM…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

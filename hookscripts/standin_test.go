package hookscripts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"peermux/internal/codexsim"
	"peermux/internal/shellquote"
)

// standIn is the variable that makes this test program, started again, a
// stand-in for `codex app-server`; its value is the mode.
const standIn = "PEERMUX_TEST_CODEX"

// programs is the variable that names the folder of the tests' programs. They
// are written before any test runs: a program that is still open for writing
// in a process just forked can't be started.
const programs = "PEERMUX_TEST_PROGRAMS"

func TestMain(m *testing.M) {
	if mode := os.Getenv(standIn); mode != "" {
		os.Exit(codexsim.AppServer(codexsim.Call{Mode: mode, Home: os.Getenv("CODEX_HOME"), In: os.Stdin, Out: os.Stdout, Errors: os.Stderr}))
	}
	if os.Getenv(installing) != "" {
		installForEver()
	}
	dir, err := os.MkdirTemp("", "hookscripts")
	if err == nil {
		err = writePrograms(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func writePrograms(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	texts := map[string]string{
		"peermux":      "exit 0\n",
		"peermux-hook": "printf '%s|' \"$PEERMUX_HOME\" \"$@\"\nexit 2\n",
	}
	// A program built with -race otherwise sleeps for a second before it ends.
	for _, mode := range []string{codexsim.Answers, codexsim.Dies, codexsim.Hangs} {
		texts["codex-"+mode] = fmt.Sprintf("GORACE=atexit_sleep_ms=0 %s=%s exec %s \"$@\"\n", standIn, mode, shellquote.Quote(self))
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv(programs, dir)
}

// program puts one of the tests' programs at path.
func (w *world) program(name, path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(os.Getenv(programs), name), path); err != nil {
		w.t.Fatal(err)
	}
}

// withCodex puts the stand-in on the world's PATH.
func (w *world) withCodex(mode string) {
	w.t.Helper()
	w.program("codex-"+mode, filepath.Join(filepath.Dir(w.ServerPath), "codex"))
}

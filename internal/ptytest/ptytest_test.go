package ptytest

import (
	"os/exec"
	"testing"
)

// A program is typed to, is told of a new size, and ends with its own exit code.
func TestTerminal(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `trap 'stty size' WINCH; echo begin; until read answer; do :; done; echo "got $answer"; exit 5`)
	s := Start(t, cmd, 90, 20)
	s.Shows("begin")
	s.Resize(70, 10)
	s.Shows("10 70")
	s.Type("hello\r")
	if err := s.Wait(); cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("it ended with %v", err)
	}
	s.Shows("got hello") // also when it came last
}

// What still runs at the end of a test is ended.
func TestLeavesNothing(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	t.Run("test", func(t *testing.T) { Start(t, cmd, 80, 24) })
	if cmd.ProcessState == nil {
		t.Error("it runs on")
	}
}

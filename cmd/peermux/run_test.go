package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"peermux/internal/ptytest"
	"peermux/wake"
)

// TestRunOnTerminal: a program on a hosted terminal is listed, can be written to
// and woken, and its exit code is kept.
func TestRunOnTerminal(t *testing.T) {
	home, err := os.MkdirTemp("", "pmx") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	peermux, err := exec.LookPath("peermux") // testscript made it of this test program
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PEERMUX_HOME=" + filepath.Join(home, "pm"), "TERM=xterm"}
	run := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(peermux, args...)
		cmd.Dir, cmd.Env = home, env
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}

	script := `printf '> '; read answer; echo "got $answer"; exit 5`
	host := exec.Command(peermux, "run", "--name", "bob", "--", "sh", "-c", script)
	host.Dir, host.Env = home, env
	terminal := ptytest.Start(t, host, 100, 24)

	until(t, "bob is listed", func() bool {
		out, _ := run("list")
		return strings.Contains(out, "bob") && strings.Contains(out, "sh")
	})
	rule := "[client.sh]\nprompt = \"> \"\nidle = [\">\"]\n"
	if err := os.WriteFile(filepath.Join(home, "pm", "wake.toml"), []byte(rule), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := run("send", "bob", "hello", "--wake", "off"); code != 0 {
		t.Fatalf("send: exit %d: %s", code, out)
	}
	explained, code := run("wake", "bob", "--explain", "--json")
	var result wake.Result
	if err := json.Unmarshal([]byte(explained), &result); err != nil || code != 0 {
		t.Fatalf("exit %d: %v: %s", code, err, explained)
	}
	if result.Outcome != wake.Submitted || result.Route != "pty" || len(result.Facts) == 0 {
		t.Errorf("got %s", explained)
	}
	if out, code := run("wake", "bob", "--explain"); code != 0 || !strings.HasSuffix(out, "\nbob: "+result.Reason+"\n") {
		t.Errorf("exit %d: %s", code, out)
	}
	words := regexp.MustCompile(`^bob could not be woken yet: .+; its own server tries again when that changes\n$`)
	if out, code := run("wake", "bob"); code != 1 || !words.MatchString(out) {
		// The program submits, but nothing shows that a turn began.
		t.Errorf("exit %d: %s", code, out)
	}
	terminal.Shows("got Peer mail has arrived")
	if err := terminal.Wait(); host.ProcessState.ExitCode() != 5 {
		t.Errorf("exit code %d (%v), want 5", host.ProcessState.ExitCode(), err)
	}
	if out, _ := run("list"); strings.Contains(out, "bob") {
		t.Errorf("still listed: %s", out)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not seen in 20 s: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/hookscripts/hookrun"
	"peermux/mailbox"
)

// BenchmarkProcess is what a client waits for: the whole program, started the
// way it starts it. Budgets (DESIGN §10): nothing to show 3 ms, one message 4 ms,
// fifty 8 ms, sixteen at once three times one.
func BenchmarkProcess(b *testing.B) {
	program := build(b)
	for _, bench := range []struct {
		name, event string
		mails       int
		through     []string
	}{
		{"nothing", "PreToolUse", 0, nil},
		{"nothing/shell", "PreToolUse", 0, []string{"/bin/sh", "-c", program + " claude PreToolUse"}},
		{"nothing/Stop", "Stop", 0, nil},
		{"nothing/UserPromptSubmit", "UserPromptSubmit", 0, nil},
		{"nothing/SessionStart", "SessionStart", 0, nil},
		{"message", "PreToolUse", 1, nil},
		{"messages-50", "PreToolUse", 50, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w := newWorld(b)
			args := bench.through
			if args == nil {
				args = []string{program, "claude", bench.event}
			}
			for b.Loop() {
				b.StopTimer()
				w.post(bench.mails)
				b.StartTimer()
				w.process(b, args)
			}
		})
	}
	b.Run("sixteen", func(b *testing.B) {
		w := newWorld(b)
		for b.Loop() {
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() { w.process(b, []string{program, "claude", "PreToolUse"}) })
			}
			wg.Wait()
		}
	})
}

// BenchmarkRun is the same without the process around it.
func BenchmarkRun(b *testing.B) {
	for _, event := range []string{"PreToolUse", "Stop", "UserPromptSubmit", "SessionStart"} {
		b.Run(event, func(b *testing.B) {
			w := newWorld(b)
			var out bytes.Buffer
			for b.Loop() {
				hookrun.Run(hookrun.Call{
					Client: "claude", Event: event, Stdin: strings.NewReader(payloadOf(event, w.place())), Stdout: &out, Stderr: io.Discard,
					Env: func(k string) string { return map[string]string{"PEERMUX_HOME": w.home}[k] }, Now: time.Now, PID: os.Getpid(),
				})
			}
		})
	}
}

func (w *world) place() string {
	dir, err := os.Getwd()
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf(`,"cwd":%q,"source":"startup"`, dir)
}

func (w *world) process(b *testing.B, args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"PEERMUX_HOME=" + w.home}
	cmd.Stdin = strings.NewReader(payloadOf("", w.place()))
	if err := cmd.Run(); err != nil {
		b.Error(err)
	}
}

// post puts n messages into an otherwise empty box.
func (w *world) post(n int) {
	if n == 0 {
		return
	}
	if err := os.Remove(mailbox.JournalPath(w.home, box)); err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for range n {
		w.send("a message of ordinary length, as agents send them to each other")
	}
}

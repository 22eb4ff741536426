package registry_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

const crowd = 500

// fill registers 500 live sessions, each with a server and a client of its own.
func fill(b *testing.B) *registry.Registry {
	b.Helper()
	r := registry.Open(b.TempDir(), time.Now)
	ids := processes(b, 2*crowd)
	for i := range crowd {
		e := entry(ids[i], fmt.Sprintf("agent-%d", i))
		e.Client.PID, e.Client.Start = ids[crowd+i].PID, ids[crowd+i].Start
		e.Transcript = "/home/dev/.claude/projects/-home-dev-project/" + e.SessionID + ".jsonl"
		e.Tmux = &registry.Tmux{Socket: "/tmp/tmux-1000/default", ServerPID: 1, Session: "main", Window: "w", Pane: fmt.Sprintf("%%%d", i)}
		if err := r.Put(e); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

func processes(b *testing.B, n int) []proc.ID {
	b.Helper()
	var ids []proc.ID
	for range n {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := cmd.Process.Kill(); err != nil {
				b.Error(err)
			}
			cmd.Wait() // reaped; that it was killed is no news
		})
		info, err := proc.Stat(cmd.Process.Pid)
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

func BenchmarkLive500(b *testing.B) {
	r := fill(b)
	for b.Loop() {
		live, err := r.Live()
		if err != nil || len(live) != crowd {
			b.Fatal(len(live), err)
		}
	}
}

func BenchmarkResolve500(b *testing.B) {
	r := fill(b)
	live, err := r.Live()
	if err != nil {
		b.Fatal(err)
	}
	reach := registry.Reach{Project: "/p"}
	for b.Loop() {
		if _, err := registry.Resolve("agent-499", reach, live, registry.ResolveOptions{}); err != nil {
			b.Fatal(err)
		}
		if _, err := registry.Resolve("agemt-499", reach, live, registry.ResolveOptions{}); err == nil {
			b.Fatal("found a misspelt name")
		}
	}
}

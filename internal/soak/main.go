// Soak lets many stand-in sessions do everything at once for a bounded time, kills
// some of them all along, and says whether peermux kept its promises:
//
//	go run ./internal/soak -for 60s -sessions 50
//
// Each session is a real process, this program started again (worker.go). It
// registers itself, sends, asks, answers, broadcasts, closes tasks, reads as a tool
// and as hooks do, and goes on under new session ids, all through the packages that
// the MCP server and the hooks use. The parent (storm.go) meanwhile kills sessions
// with SIGKILL and starts them again, runs gc and compaction, and looks: list, and
// the screen of `peermux top --plain`.
//
// # Oracle
//
// Every worker keeps a log of its own, one write for each thing said, that survives
// its death (oracle.go lists the words). The verdict follows from the logs and from
// what is left in the peermux home once everybody had time to read:
//
//   - what was acknowledged was shown, to the one it was for; a broadcast to all;
//   - twice only where a reader was killed between showing a message and recording it;
//   - no mail, task or question waits, no claim and no lock is held any more;
//   - no process outlives its end, and a session that was never killed needs no more
//     descriptors, goroutines or memory than at the beginning.
//
// It exits with 0 when all of that holds, else with 1 and the particulars.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if spec := os.Getenv(orderEnv); spec != "" {
		os.Exit(work(spec))
	}
	p := plan{}
	flag.DurationVar(&p.length, "for", time.Minute, "how long the storm lasts")
	flag.IntVar(&p.sessions, "sessions", 50, "how many sessions")
	flag.DurationVar(&p.pause, "pause", 200*time.Millisecond, "mean time between two kills")
	keep := flag.Bool("keep", false, "keep the folder with the home and the logs")
	flag.Parse()
	if flag.NArg() > 0 || p.sessions < 3 || p.length <= 0 || p.pause <= 0 {
		fmt.Fprintln(os.Stderr, "soak: error: -for and -pause must be above 0, -sessions at least 3, and nothing else is taken")
		os.Exit(2)
	}
	code, err := run(p, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak: error:", err)
	}
	os.Exit(code)
}

// run has a storm in a folder of its own and prints the verdict.
func run(p plan, keep bool) (code int, err error) {
	if p.dir, err = os.MkdirTemp("", "peermux-soak-"); err != nil {
		return 1, err
	}
	// The sessions know their project by its real path.
	if p.dir, err = filepath.EvalSymlinks(p.dir); err != nil {
		return 1, err
	}
	if p.program, err = os.Executable(); err != nil {
		return 1, err
	}
	v, err := storm(context.Background(), p)
	if err == nil {
		err = v.print(os.Stdout)
	}
	if keep {
		fmt.Println("kept:", p.dir)
	} else if e := os.RemoveAll(p.dir); err == nil {
		err = e
	}
	if err != nil || !v.good() {
		return 1, err
	}
	return 0, nil
}

// Command peermux is what a person (or an agent's shell) runs: it lists the
// live sessions, sends, asks and reads mail, sets the clients up, and with
// `peermux mcp` it is the MCP server that Claude Code and Codex start.
//
// main parses and calls. Each sub-command has a file of its own that declares
// its flags and examples in a command value; help, shell completion and the
// man page are made from those values. What a command does lives in
// internal/switchboard and the other packages, never here.
//
// Results go to stdout, everything else to stderr (see voice.go). Exit codes:
// 0 done, 1 failed, 2 usage, 3 no such target, 4 timed out, 5 refused.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version and commit are stamped in by the Makefile (-ldflags -X); a plain
// `go build` leaves them as they are and `peermux version` says "unknown".
var (
	version = "dev"
	commit  = "unknown"
)

func main() {
	// SIGPIPE on stdout ends `peermux … | head` quietly, as it should;
	// SIGHUP counts as an end because a closed terminal sends it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		env: os.Getenv, now: time.Now,
		version: version, commit: commit,
	}
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

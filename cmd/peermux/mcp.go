package main

import (
	"context"
	"flag"
	"runtime/debug"

	"peermux/mcpserver"
)

// gcPercent has the collector run twice as often as usual. A server lives as long as
// its session, there is one for each, and what it has in use is little: with Go's own
// 100 it keeps 2.5 MB more resident after 1,000 calls, for no time that shows.
const gcPercent = 50

func mcpCommand() command {
	return command{
		name: "mcp", short: "the MCP server on stdio; what the clients start",
		examples: []string{"peermux mcp", "claude mcp add -s user peermux -- peermux mcp"},
		flags: func(*flag.FlagSet) runFunc {
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				home, err := a.home()
				if err != nil {
					return err
				}
				if a.env("GOGC") == "" {
					debug.SetGCPercent(gcPercent)
				}
				return mcpserver.New(mcpserver.Options{
					Home: home, Version: a.version, In: a.in, Out: a.out, Env: a.env, Now: a.now,
				}).Run(ctx)
			}
		},
	}
}

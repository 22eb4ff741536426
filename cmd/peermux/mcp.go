package main

import (
	"context"
	"flag"

	"peermux/mcpserver"
)

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
				return mcpserver.New(mcpserver.Options{
					Home: home, Version: a.version, In: a.in, Out: a.out, Env: a.env, Now: a.now,
				}).Run(ctx)
			}
		},
	}
}

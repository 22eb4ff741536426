package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
)

func versionCommand() command {
	return command{
		name: "version", short: "print version, commit and Go version",
		examples: []string{"peermux version", "peermux version --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(_ context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, map[string]string{"version": a.version, "commit": a.commit, "go": runtime.Version()})
				}
				_, err := fmt.Fprintf(a.out, "peermux %s (%s, %s)\n", a.version, a.commit, runtime.Version())
				return err
			}
		},
	}
}

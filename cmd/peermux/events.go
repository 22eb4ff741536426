package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"time"

	"peermux/internal/switchboard"
)

func eventsCommand() command {
	return command{
		name: "events", short: "print what was sent, shown, woken and closed",
		long:     "Prints what happened lately and ends; with --follow it goes on with what comes.",
		examples: []string{"peermux events --follow", "peermux events --since 1h --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			follow := fs.Bool("follow", false, "go on with what comes, until interrupted")
			since := fs.Duration("since", 24*time.Hour, "how far back to begin")
			asJSON := fs.Bool("json", false, "print each event as one line of JSON")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				if *since < 0 {
					return usageError{msg: "a negative --since", hint: "peermux events --since 1h"}
				}
				b, err := a.board()
				if err != nil {
					return err
				}
				emit := a.printEvent
				if *asJSON {
					enc := json.NewEncoder(a.out)
					enc.SetEscapeHTML(false)
					emit = func(e switchboard.Event) error { return enc.Encode(e) }
				}
				return b.Events(ctx, switchboard.EventsRequest{Since: a.now().Add(-*since), Follow: *follow}, emit)
			}
		},
	}
}

// printEvent is one line: when, what, from whom to whom, and the beginning of the
// text.
func (a *app) printEvent(e switchboard.Event) error {
	what := e.Event
	switch {
	case e.State != "":
		what = e.State
	case e.Event == switchboard.EventSent && e.Kind != "":
		what = e.Kind
	}
	line := fmt.Sprintf("%s  %-8s %s → %s", e.At.Local().Format("15:04:05"), what, e.From, e.To)
	if e.Via != "" {
		line += " via " + e.Via
	}
	if e.Event == switchboard.EventSent {
		text := e.Subject
		if text == "" {
			text, _, _ = strings.Cut(e.Body, "\n")
		}
		line += "  " + clip(text, 80)
	}
	_, err := fmt.Fprintln(a.out, clean(line))
	return err
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"peermux/internal/notify"
	"peermux/internal/tmux"
)

func notifyCommand() command {
	return command{
		name: "notify", short: "tell you when a session waits for you, or writes to you",
		long: `Runs until interrupted. Each waiting session and each message is told once: as a
line here, and where you ask for it as a tmux message, a bell or on the desktop.`,
		examples: []string{"peermux notify --wait 2m --tmux", "peermux notify --bell --desktop"},
		flags: func(fs *flag.FlagSet) runFunc {
			var n notifier
			wait := fs.Duration("wait", time.Minute, "how long a session waits before you are told")
			fs.BoolVar(&n.tmux, "tmux", false, "as a message in your tmux status line")
			fs.BoolVar(&n.bell, "bell", false, "ring the terminal's bell")
			fs.BoolVar(&n.desktop, "desktop", false, "through notify-send, or osascript on a Mac")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				if *wait < 0 {
					return usageError{msg: "a negative --wait", hint: "--wait 2m"}
				}
				b, err := a.board()
				if err != nil {
					return err
				}
				n.app = a
				if err := n.check(); err != nil {
					return err
				}
				fmt.Fprintf(a.err, "peermux: watching for sessions that wait for you for %s, and for mail to you; Ctrl-C ends it\n", *wait)
				return notify.Watch(ctx, notify.Options{Board: b, Wait: *wait, Tell: n.tell})
			}
		},
	}
}

// notifier is where the person wants to be told.
type notifier struct {
	app                 *app
	tmux, bell, desktop bool
	program             []string // of the desktop; the text follows
}

// check refuses what could never be told.
func (n *notifier) check() error {
	if n.tmux && n.app.env("TMUX") == "" {
		return hinted{err: errors.New("--tmux: this is not in a tmux"), hint: "run it in a pane of the tmux that you look at"}
	}
	if !n.desktop {
		return nil
	}
	for _, argv := range [][]string{{"notify-send", "--", "peermux"}, {"osascript", "-e", "on run argv", "-e", `display notification (item 1 of argv) with title "peermux"`, "-e", "end run"}} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			n.program = append([]string{path}, argv[1:]...)
			return nil
		}
	}
	return hinted{err: errors.New("--desktop: neither notify-send nor osascript is installed"), hint: "use --tmux or --bell"}
}

func (n *notifier) tell(ctx context.Context, text string) error {
	sign := ""
	if n.bell {
		sign = "\a"
	}
	if _, err := fmt.Fprintln(n.app.out, sign+n.app.now().Format("15:04")+" "+text); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if n.tmux {
		runner := tmux.Runner{Socket: tmux.SocketOf(n.app.env("TMUX"))}
		// tmux expands # in a message.
		if _, err := runner.Run(ctx, "", "display-message", "--", strings.ReplaceAll(text, "#", "##")); err != nil {
			n.app.notes([]string{"tmux did not take the message: " + err.Error()})
		}
	}
	if n.program != nil {
		out, err := exec.CommandContext(ctx, n.program[0], append(n.program[1:], text)...).CombinedOutput()
		if err != nil {
			n.app.notes([]string{fmt.Sprintf("the desktop did not take the message: %v %s", err, out)})
		}
	}
	return nil
}

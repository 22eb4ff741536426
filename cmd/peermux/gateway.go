package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"peermux/internal/gateway"
	"peermux/internal/project"
	"peermux/internal/switchboard"
)

func gatewayCommand() command {
	return command{
		name: "gateway", args: "add|remove|list|set [APP] [DIR]", short: "the door for apps that talk to sessions by files",
		long: `An app is a program that is no agent: a voice assistant, a phone bridge, a CI job.
It gets a folder, and in it one for each live session, with the session's status,
in/ for messages to the session and out/ for its answers. docs/gateway.md tells
how an app uses it; peermux events --follow --json is for apps that prefer a process.

  add APP [DIR]    make the door; DIR, if given, must be yours and open to you alone
  remove APP       take it away again
  list             the apps, their sessions, and what waits
  set APP --wait N tell APP when a session has waited N minutes (1 to 1440) for its user`,
		examples: []string{"peermux gateway add voice", "peermux gateway set voice --wait 5"},
		flags: func(fs *flag.FlagSet) runFunc {
			var o gatewayOptions
			fs.StringVar(&o.scope, "scope", "", "`scope` of add: project or group of the current folder, or global (default)")
			fs.StringVar(&o.wait, "wait", "", "set: `minutes` that a session waits for its user before the app is told, 1 to 1440")
			fs.BoolVar(&o.noWait, "no-wait", false, "set: do not tell the app of waiting sessions")
			fs.BoolVar(&o.force, "force", false, "remove: even if the app has not collected all its mail")
			fs.BoolVar(&o.json, "json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				return a.gateway(ctx, o, args)
			}
		},
	}
}

type gatewayOptions struct {
	scope, wait         string
	noWait, force, json bool
}

// host is the shell as one who works in the doors of apps.
func (s *shell) host() gateway.Host {
	return gateway.Host{Board: s.board, Self: s.actor.Process}
}

func (a *app) gateway(ctx context.Context, o gatewayOptions, args []string) error {
	const hint = "peermux gateway add APP [DIR], remove APP, list, or set APP --wait N"
	words := map[string][2]int{"add": {1, 2}, "remove": {1, 1}, "list": {0, 0}, "set": {1, 1}}
	if len(args) == 0 {
		return usageError{msg: "what about the gateway?", hint: hint}
	}
	verb, args := args[0], args[1:]
	n, known := words[verb]
	switch {
	case !known:
		return usageError{msg: fmt.Sprintf("there is no gateway %s", verb), hint: hint}
	case len(args) < n[0] || len(args) > n[1]:
		return usageError{msg: "gateway " + verb + ": wrong number of arguments", hint: hint}
	case verb != "set" && (o.wait != "" || o.noWait), verb != "add" && o.scope != "", verb != "remove" && o.force:
		return usageError{msg: "gateway " + verb + " has no such flag", hint: "peermux gateway -h"}
	}
	s, err := a.open(ctx, "")
	if err != nil {
		return err
	}
	switch verb {
	case "add":
		err = a.gatewayAdd(s, o, args)
	case "remove":
		err = a.gatewayRemove(s, o, args[0])
	case "set":
		err = a.gatewaySet(s, o, args[0])
	default:
		err = a.gatewayList(s, o)
	}
	p, ok := errors.AsType[*gateway.Problem](err)
	switch {
	case ok && p.Misuse:
		return usageError{msg: p.Message, hint: p.Hint}
	case ok && p.Unknown:
		return noTarget(switchboard.CodeUnknownTarget, p.Message, p.Hint)
	case ok && p.Hint != "":
		return hinted{err: p, hint: p.Hint}
	}
	return err
}

func (a *app) gatewayAdd(s *shell, o gatewayOptions, args []string) error {
	r := gateway.AddRequest{Name: args[0], Scope: o.scope, Now: a.now()}
	if len(args) > 1 {
		dir, err := filepath.Abs(args[1])
		if err != nil {
			return err
		}
		r.Dir = dir
	}
	place, err := project.At(".")
	if err != nil {
		return err
	}
	r.Project = place.Root
	added, err := gateway.Add(s.board.Home, r)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, addedApp{true, added})
	}
	_, err = fmt.Fprintln(a.out, added.Dir)
	return err
}

// addedApp is the JSON document of add and set.
type addedApp struct {
	OK bool `json:"ok"`
	gateway.App
}

func (a *app) gatewayRemove(s *shell, o gatewayOptions, name string) error {
	if err := gateway.Remove(s.host(), name, o.force); err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, map[string]any{"ok": true, "name": name})
	}
	_, err := fmt.Fprintf(a.out, "%s is removed\n", name)
	return err
}

func (a *app) gatewaySet(s *shell, o gatewayOptions, name string) error {
	minutes, err := o.minutes()
	if err != nil {
		return err
	}
	set, err := gateway.SetWait(s.board.Home, name, minutes)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, addedApp{true, set})
	}
	if minutes == 0 {
		_, err = fmt.Fprintf(a.out, "%s is not told of sessions that wait\n", name)
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s is told when a session has waited %d min for its user\n", name, minutes)
	return err
}

// minutes reads --wait: digits and nothing else.
func (o gatewayOptions) minutes() (int, error) {
	hint := fmt.Sprintf("peermux gateway set APP --wait N, with N from %d to %d, or --no-wait", gateway.MinWait, gateway.MaxWait)
	switch {
	case o.noWait && o.wait != "":
		return 0, usageError{msg: "either --wait or --no-wait", hint: hint}
	case o.noWait:
		return 0, nil
	case o.wait == "":
		return 0, usageError{msg: "what is to be set?", hint: hint}
	}
	n, err := strconv.Atoi(o.wait)
	if err != nil || strings.Trim(o.wait, "0123456789") != "" || n < gateway.MinWait || n > gateway.MaxWait {
		return 0, usageError{msg: fmt.Sprintf("--wait %s: must be a whole number of minutes from %d to %d", o.wait, gateway.MinWait, gateway.MaxWait), hint: hint}
	}
	return n, nil
}

func (a *app) gatewayList(s *shell, o gatewayOptions) error {
	doors, err := gateway.List(s.host())
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(a.out, struct {
			OK   bool           `json:"ok"`
			Apps []gateway.Door `json:"apps"`
		}{true, doors})
	}
	if len(doors) == 0 {
		_, err := fmt.Fprintln(a.out, "no app was added; peermux gateway add NAME makes a door for one")
		return err
	}
	for _, d := range doors {
		if err := a.printDoor(d); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printDoor(d gateway.Door) error {
	line := fmt.Sprintf("%s  %s  scope %s", d.Name, d.Dir, d.Scope)
	if d.Project != "" {
		line += " of " + d.Project
	}
	if d.WaitMinutes > 0 {
		line += fmt.Sprintf("  wait %d min", d.WaitMinutes)
	}
	if d.Uncollected > 0 {
		line += fmt.Sprintf("  %d not collected", d.Uncollected)
	}
	if _, err := fmt.Fprintln(a.out, clean(line)); err != nil {
		return err
	}
	if d.Problem != "" {
		a.notes([]string{d.Name + ": " + d.Problem})
	}
	if len(d.Sessions) == 0 {
		return nil
	}
	t := &table{head: []string{"  FOLDER", "STATUS", "NOT TAKEN", "SET ASIDE", "NOT COLLECTED"}, width: a.width(), bold: a.colour()}
	for _, f := range d.Sessions {
		t.add("  "+f.Folder, f.Status, count(f.Untaken), count(f.SetAside), count(f.Uncollected))
	}
	return t.write(a.out)
}

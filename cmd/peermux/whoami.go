package main

import (
	"context"
	"flag"
	"fmt"

	"peermux/detect"
	"peermux/registry"
)

// identity is what whoami prints with --json.
type identity struct {
	OK        bool             `json:"ok"`
	Kind      string           `json:"kind"` // session, user or app
	Name      string           `json:"name"`
	SessionID string           `json:"session_id,omitempty"`
	Client    string           `json:"client"`
	Project   string           `json:"project"`
	Branch    string           `json:"branch,omitempty"`
	Group     string           `json:"group,omitempty"`
	Pane      string           `json:"pane,omitempty"`
	Session   *registry.Entry  `json:"session,omitempty"`
	Diagnosis detect.Diagnosis `json:"diagnosis"`
}

func whoamiCommand() command {
	return command{
		name: "whoami", short: "which session this shell belongs to, and how that was found",
		examples: []string{"peermux whoami", "peermux whoami --json"},
		flags: func(fs *flag.FlagSet) runFunc {
			asJSON := fs.Bool("json", false, "print one JSON document")
			return func(ctx context.Context, a *app, args []string) error {
				if err := noArgs(args); err != nil {
					return err
				}
				id, err := a.identify(ctx)
				if err != nil {
					return err
				}
				if *asJSON {
					return writeJSON(a.out, id)
				}
				return a.printIdentity(id)
			}
		},
	}
}

func (a *app) identify(ctx context.Context) (identity, error) {
	s, err := a.open(ctx, "")
	if err != nil {
		return identity{}, err
	}
	home, err := a.userHome()
	if err != nil {
		return identity{}, err
	}
	facts, err := detect.Gather(a.env, home, s.board.Registry, a.now())
	if err != nil {
		return identity{}, err
	}
	id := identity{
		OK: true, Kind: s.actor.Kind, Name: s.actor.Name, SessionID: s.actor.SessionID, Client: s.actor.Client,
		Project: s.actor.Project, Branch: s.actor.Branch, Group: s.actor.Group, Diagnosis: detect.Identify(facts),
	}
	if s.actor.SessionID == "" {
		return id, nil
	}
	entry, ok, err := s.board.Registry.BySession(s.actor.SessionID)
	if err != nil || !ok {
		return id, err
	}
	id.Session = &entry
	if entry.Tmux != nil {
		id.Pane = entry.Tmux.Pane
	}
	return id, nil
}

func (a *app) printIdentity(id identity) error {
	if id.Kind == registry.ToSession {
		fmt.Fprintf(a.out, "%s, session %s of %s\n", id.Name, id.SessionID, id.Client)
	} else {
		fmt.Fprintf(a.out, "%s: this shell belongs to no agent session\n", id.Name)
	}
	for _, line := range [][2]string{{"project", id.Project}, {"branch", id.Branch}, {"group", id.Group}, {"pane", id.Pane}} {
		if line[1] != "" {
			fmt.Fprintf(a.out, "  %-8s %s\n", line[0], clean(line[1]))
		}
	}
	fmt.Fprintln(a.out, "\nhow that was looked for:")
	t := &table{head: []string{"STRATEGY", "OUTCOME", "REASON"}, width: a.width(), bold: a.colour()}
	for _, o := range id.Diagnosis.Outcomes {
		t.add(o.Strategy, o.Outcome, o.Reason)
	}
	return t.write(a.out)
}

package hookscripts

import (
	"fmt"
	"slices"
	"strings"

	"peermux/hookscripts/internal/jsonedit"
	"peermux/hookscripts/internal/tomledit"
	"peermux/hookscripts/internal/userfile"
)

// Inspection is what a client's settings say about us. It is about files: only
// a hook that has fired shows that the client runs it, and only Codex itself
// says what it trusts (CodexTrust).
type Inspection struct {
	Client     string
	HooksFile  string
	ServerFile string

	Missing []string // events without a hook of ours; all of them when we aren't installed
	Stale   []string // commands of ours that aren't what would be installed now
	Double  []string // events on which a hook of ours stands more than once
	Plugin  bool     // our plugin is enabled too, or instead

	Server      string // the registered program, "" for none
	ServerStale bool   // it isn't the one that runs now

	Problems []string // why the client doesn't run what is there
	HooksOff bool     // Codex: features.hooks is false, so that none is even listed
}

// Installed reports whether any hook of ours is there.
func (i Inspection) Installed() bool {
	events, err := Events(i.Client)
	return err == nil && len(i.Missing) < len(events)
}

// Inspect reads a client's settings and changes nothing.
func Inspect(e Env, client string) (Inspection, error) {
	hooks, err := e.hookPart(client)
	if err != nil {
		return Inspection{}, err
	}
	server, err := e.serverPart(client)
	if err != nil {
		return Inspection{}, err
	}
	in := Inspection{Client: client, HooksFile: hooks.path, ServerFile: server.path}
	if err := e.inspectHooks(&in, hooks); err != nil {
		return in, err
	}
	return in, e.inspectServer(&in, server)
}

func (e Env) inspectHooks(in *Inspection, p part) error {
	f, err := userfile.Read(p.path)
	if err != nil {
		return err
	}
	doc, err := jsonedit.Parse(f.Data)
	if err != nil {
		in.Problems = append(in.Problems, fmt.Sprintf("%s: %v", p.path, err))
		doc, err = jsonedit.Parse(nil)
	}
	if err != nil {
		return err
	}
	hooks, err := e.hooks(in.Client)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		ours := oursIn(doc, h.event)
		switch len(ours) {
		case 0:
			in.Missing = append(in.Missing, h.event)
		case 1:
		default:
			in.Double = append(in.Double, h.event)
		}
		for _, path := range ours {
			if n, _ := doc.At(append(path, "command")...); n.Text() != h.command && !slices.Contains(in.Stale, n.Text()) {
				in.Stale = append(in.Stale, n.Text())
			}
		}
	}
	if note := p.note(f.Data); note != "" {
		in.Problems = append(in.Problems, p.path+": "+note)
	}
	if in.Client == Claude {
		if off, _ := doc.At("disableAllHooks"); off.Kind() == 't' {
			in.Problems = append(in.Problems, p.path+`: "disableAllHooks" is true`)
		}
		plugins, _ := doc.At("enabledPlugins")
		for _, name := range plugins.Keys() {
			on, _ := doc.At("enabledPlugins", name)
			in.Plugin = in.Plugin || strings.HasPrefix(name, serverName+"@") && on.Kind() == 't'
		}
	}
	return nil
}

func (e Env) inspectServer(in *Inspection, p part) error {
	f, err := userfile.Read(p.path)
	if err != nil {
		return err
	}
	if in.Client == Claude {
		doc, err := jsonedit.Parse(f.Data)
		if err != nil {
			in.Problems = append(in.Problems, fmt.Sprintf("%s: %v", p.path, err))
			return nil
		}
		command, _ := doc.At("mcpServers", serverName, "command")
		in.Server = command.Text()
	} else {
		doc, err := tomledit.Parse(f.Data)
		if err != nil {
			in.Problems = append(in.Problems, fmt.Sprintf("%s: %v", p.path, err))
			return nil
		}
		command, _ := doc.Value(append(codexServer(), "command")...)
		in.Server, _ = command.(string)
		if off, ok := doc.Value("features", "hooks"); ok && off == false {
			in.HooksOff = true
			in.Problems = append(in.Problems, p.path+": features.hooks is false")
		}
		if on, ok := doc.Value(append(codexServer(), "enabled")...); ok && on == false {
			in.Problems = append(in.Problems, p.path+": the server is not enabled")
		}
		for _, name := range doc.Names("plugins") {
			on, _ := doc.Value("plugins", name, "enabled")
			in.Plugin = in.Plugin || strings.HasPrefix(name, serverName+"@") && on == true
		}
	}
	in.ServerStale = in.Server != "" && in.Server != e.ServerPath
	return nil
}

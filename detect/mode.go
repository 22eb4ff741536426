package detect

import (
	"slices"
	"strings"

	"peermux/internal/origin"
	"peermux/internal/program"
	"peermux/registry"
)

// mode tells how the session was started, and so whether somebody sits at it.
// What is not understood is UnknownMode, never interactive by default. A Codex
// subagent is a thread of its own, with a server and a transcript of its own.
func mode(f Facts, c client, transcript string) string {
	switch c.kind {
	case registry.Claude:
		return claudeMode(c, f.System.Args(c.PID), f.Env("CLAUDE_CODE_ENTRYPOINT"))
	case registry.Codex:
		o, err := origin.Read(transcript)
		switch {
		case readMeta(f.Meta).subthread(), err == nil && o.Subagent:
			return registry.Subagent
		case c.role == program.Exec:
			return registry.Headless
		case c.role == program.Terminal, c.role == program.Daemon, c.role == program.Embedded:
			return registry.Interactive
		}
	}
	return registry.UnknownMode
}

// claudeMode reads kind and entrypoint of Claude's own record. 2.1.328 has the
// kinds interactive (of -p too), bg, daemon and daemon-worker; teammates are
// processes started with an agent's id.
func claudeMode(c client, args []string, entrypoint string) string {
	kind := registry.Interactive
	if c.session != nil {
		kind = c.session.Kind
		if c.session.Entrypoint != "" {
			entrypoint = c.session.Entrypoint
		}
	}
	switch {
	case slices.ContainsFunc(args, func(a string) bool {
		return a == "--agent-id" || strings.HasPrefix(a, "--agent-id=")
	}):
		return registry.Teammate
	case kind == "bg", kind == "daemon", kind == "daemon-worker":
		return registry.Background
	case kind != registry.Interactive && kind != "":
		return registry.UnknownMode
	case c.role == program.Exec, strings.HasPrefix(entrypoint, "sdk-"):
		return registry.Headless
	case entrypoint == "cli":
		return registry.Interactive
	}
	return registry.UnknownMode
}

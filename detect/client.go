package detect

import (
	"strings"

	"peermux/internal/proc"
	"peermux/internal/program"
	"peermux/registry"
)

// client is the process that a session runs in, and what was read about it.
type client struct {
	registry.Client
	kind string // of client; "" when there is none
	role program.Role
	// info is the client's process; the zero value when there is none.
	info proc.Info
	how  string
	// session is Claude's own record of the process, checked against it.
	session    *ClaudeSession
	sessionErr string
	// home is the client's folder of sessions: Claude's or Codex's.
	home string
}

// findClient walks up from the process to the first ancestor that is an agent:
// what lies between is shells and wrappers (npx, uv, sh). Agents further up are
// strangers that this one was started from.
func findClient(f Facts) client {
	named := kindOf(f.ClientInfo.Name)
	for i, a := range f.Ancestors {
		known := recognise(f.System, a.PID)
		c := client{info: a, kind: known.Kind, role: known.Role}
		if c.kind == "" {
			c = knownToClaude(f, c)
		}
		if c.kind == "" {
			continue
		}
		if named != "" && named != c.kind {
			break // this agent runs the one that speaks to us
		}
		c.how = "process " + a.Comm + " is " + c.kind + " by its program"
		if i > 0 {
			c.how += ", above its wrapper " + f.Ancestors[0].Comm
		}
		return complete(f, c)
	}
	return unrecognised(f, named)
}

// knownToClaude recognises a process by the session file that Claude wrote about
// it, whatever its program is called.
func knownToClaude(f Facts, c client) client {
	s, err := ReadClaudeSession(ClaudeDir(clientEnv(f, c)), c.info.PID)
	if err == nil && s.check(c.info.ID) == nil {
		c.kind = registry.Claude
	}
	return c
}

// unrecognised is a client of which only the handshake is known: its process is
// taken to be the parent.
func unrecognised(f Facts, named string) client {
	c := client{kind: named}
	switch {
	case named == "":
		c.how = "no agent among the ancestors"
		c.Client.Kind = ""
		return c
	case len(f.Ancestors) == 0:
		c.how = "the handshake says " + f.ClientInfo.Name + "; the parent is gone"
	default:
		c.info = f.Ancestors[0]
		c.how = "the handshake says " + f.ClientInfo.Name + "; no ancestor's program is known as that"
	}
	return complete(f, c)
}

// complete fills in what follows from the kind and the process.
func complete(f Facts, c client) client {
	c.Client = registry.Client{Kind: c.kind, PID: c.info.PID, Start: c.info.Start, Version: f.ClientInfo.Version}
	switch c.kind {
	case registry.Claude:
		c.home = ClaudeDir(clientEnv(f, c))
		s, err := ReadClaudeSession(c.home, c.info.PID)
		if err == nil {
			err = s.check(c.info.ID)
		}
		if err != nil {
			c.sessionErr = err.Error()
			break
		}
		c.session = &s
		if c.Version == "" {
			c.Version = s.Version
		}
	case registry.Codex:
		c.home = CodexHome(clientEnv(f, c))
	}
	return c
}

// clientEnv looks variables up in the client's environment first: Codex starts
// MCP servers without CODEX_HOME. Where the system does not tell it, our own has
// to do, and HOME is always ours.
func clientEnv(f Facts, c client) func(string) string {
	var theirs map[string]string
	return func(key string) string {
		if key == "HOME" {
			return f.Home
		}
		if theirs == nil {
			theirs = f.System.Env(c.info.PID, "CLAUDE_CONFIG_DIR", "CODEX_HOME")
		}
		if v, ok := theirs[key]; ok {
			return v
		}
		return f.Env(key)
	}
}

// kindOf maps the name that a client gives in the handshake (2.1.328:
// "claude-code"; 0.171.0: "codex-mcp-client") to a kind.
func kindOf(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	switch {
	case name == "claude-code", name == registry.Claude, strings.HasPrefix(name, "claude-code/"):
		return registry.Claude
	case strings.HasPrefix(name, "codex"):
		return registry.Codex
	}
	return name
}

func recognise(p System, pid int) program.Program {
	return program.Recognise(p.Exe(pid), p.Args(pid))
}

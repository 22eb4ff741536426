package detect

import (
	"path/filepath"
	"strings"

	"peermux/internal/proc"
	"peermux/registry"
)

// Programs that a client process can be. A program of no known kind has kind "".
type program struct {
	kind string // registry.Claude, registry.Codex
	role string // what the program was started as: see the constants
}

// Roles of a program.
const (
	roleMain   = ""       // a terminal client
	roleExec   = "exec"   // one prompt, nobody sits at it
	roleDaemon = "daemon" // Codex's app server, shared by all terminals of one home
	roleOther  = "other"  // a helper of the client that holds no session
)

// client is the process that a session runs in, and what was read about it.
type client struct {
	registry.Client
	program
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
		c := client{info: a, program: recognise(f.Processes.Exe(a.PID), f.Processes.Args(a.PID))}
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
	c := client{program: program{kind: named}}
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
			theirs = f.Processes.Env(c.info.PID, "CLAUDE_CONFIG_DIR", "CODEX_HOME")
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

// recognise tells a client by its program: the executable's path, or the script
// that an interpreter runs, or the name it was started under.
func recognise(exe string, args []string) program {
	words := []string{exe}
	if len(args) > 0 {
		words = append(words, args[0])
	}
	if interpreter(exe) && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		words = append(words, args[1])
	}
	for _, w := range words {
		switch programName(w) {
		case registry.Claude:
			return program{registry.Claude, claudeRole(args)}
		case registry.Codex:
			return program{registry.Codex, codexRole(args)}
		}
	}
	return program{}
}

func interpreter(exe string) bool {
	switch strings.TrimSuffix(filepath.Base(exe), ".exe") {
	case "node", "bun", "deno", "sh", "bash", "dash", "zsh", "env", "busybox":
		return true
	}
	return false
}

// programName is the kind of client that a path names. The native installer of
// Claude Code calls the program by its version number, in a folder "claude".
func programName(path string) string {
	base := strings.ToLower(filepath.Base(path))
	base = strings.TrimSuffix(base, ".exe")
	switch {
	case base == "claude",
		strings.Contains(path, "/claude/versions/"),
		strings.Contains(path, "/claude-code/") && (base == "cli.js" || base == "cli"):
		return registry.Claude
	case base == "codex", base == "codex.js",
		strings.HasPrefix(base, "codex-") && strings.Contains(base, "-linux-"),
		strings.HasPrefix(base, "codex-") && strings.Contains(base, "-apple-"):
		return registry.Codex
	}
	return ""
}

func claudeRole(args []string) string {
	for _, a := range args {
		if a == "-p" || a == "--print" {
			return roleExec
		}
	}
	return roleMain
}

// codexRole reads the sub-command of a Codex command line (0.171.0).
func codexRole(args []string) string {
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "exec", "e", "review":
			return roleExec
		case "app-server":
			for _, a := range args[i+1:] {
				if a == "pid-update-loop" {
					return roleOther
				}
			}
			return roleDaemon
		}
	}
	return roleMain
}

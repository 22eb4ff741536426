// Package program tells a coding agent by its program: the path of its executable,
// the script that an interpreter runs, or the name it was started under. It is
// light, since the hook program looks for the agent above it.
//
// The names are those of Claude Code 2.1.197 to 2.1.328 and Codex 0.171.0, from
// npm, from their own installers, and from distributions that wrap them.
package program

import (
	"path/filepath"
	"slices"
	"strings"
)

// Kinds of agents.
const (
	Claude = "claude"
	Codex  = "codex"
)

// Role is what a program was started as.
type Role string

// Roles of an agent's process.
const (
	Terminal Role = "terminal" // the client that a person runs
	Exec     Role = "exec"     // one prompt, and nobody sits at it
	Daemon   Role = "daemon"   // Codex's app server, shared by all terminals of one home
	Embedded Role = "embedded" // Codex's app server for one program, such as an editor
	Helper   Role = "helper"   // a process of the client that holds no session
)

// Program is what is known of a process by its program.
type Program struct {
	Kind string // "" for what is no known agent
	Role Role
	// Wrapper tells that the process is an interpreter; the agent proper may be
	// a child of it, as Codex is of its launcher in node.
	Wrapper bool
}

// Recognise tells an agent by the path of its executable and its command line.
func Recognise(exe string, args []string) Program {
	names := []string{exe}
	if len(args) > 0 {
		names = append(names, args[0])
	}
	wrapper := interpreter(exe)
	if wrapper && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		names = append(names, args[1])
	}
	for _, name := range names {
		switch kindOf(name) {
		case Claude:
			return Program{Claude, claudeRole(args), wrapper}
		case Codex:
			return Program{Codex, codexRole(args), wrapper}
		}
	}
	return Program{}
}

// base is the last element of a path as a person would name the program: without
// ".exe", and without what Nix puts round a wrapped one (.claude-wrapped).
func base(path string) string {
	name := strings.ToLower(filepath.Base(path))
	name = strings.TrimSuffix(name, ".exe")
	if inner, ok := strings.CutSuffix(name, "-wrapped"); ok {
		return strings.TrimPrefix(inner, ".")
	}
	return name
}

func interpreter(exe string) bool {
	switch base(exe) {
	case "node", "bun", "deno", "sh", "bash", "dash", "zsh", "env", "busybox":
		return true
	}
	return false
}

// kindOf is the agent that a path names. Claude's native installer calls the
// program by its version number, in a folder claude/versions.
func kindOf(path string) string {
	name := base(path)
	switch {
	case name == Claude,
		strings.Contains(path, "/claude/versions/"),
		strings.Contains(path, "/claude-code/") && name == "cli.js":
		return Claude
	case name == Codex, name == "codex.js",
		// As a release unpacks: codex-x86_64-unknown-linux-musl, codex-aarch64-apple-darwin.
		strings.HasPrefix(name, "codex-") && (strings.Contains(name, "-linux-") || strings.Contains(name, "-apple-")):
		return Codex
	}
	return ""
}

func claudeRole(args []string) Role {
	if slices.Contains(args, "-p") || slices.Contains(args, "--print") {
		return Exec
	}
	return Terminal
}

func codexRole(args []string) Role {
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "exec", "e", "review":
			return Exec
		case "app-server":
			return appServerRole(args[i+1:])
		}
	}
	return Terminal
}

// appServerRole tells the daemon, which terminals attach to by its socket, from a
// server that speaks with its parent on stdio.
func appServerRole(args []string) Role {
	switch {
	case slices.Contains(args, "pid-update-loop"):
		return Helper
	case slices.Contains(args, "--managed-daemon"),
		slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "unix://") }):
		return Daemon
	}
	return Embedded
}

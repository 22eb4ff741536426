// Package hookscripts puts peermux into the clients and takes it out again:
// hooks, the MCP server, Codex's trust in the hooks, skills, plugins. What runs
// when a hook fires is in hookrun.
//
// # What is installed
//
// files/claude-hooks.json and files/codex-hooks.json, in the clients' own
// form. The command of each is a fixed text: the absolute path of peermux-hook,
// the client, the event. It ends in success when the program is gone.
//
//	Claude Code  settings.json (hooks), .claude.json (server)
//	Codex        hooks.json (hooks), config.toml (server, trust)
//
// # How files of others are changed
//
// By the fewest bytes, in one step, under a lock of ours, and under Claude
// Code's own lock for .claude.json. A second run changes no byte. A file that
// does not parse stays as it is, and the error names its line and column.
// Before the first change a copy is put beside the file, as
// "<name>.before-peermux". Removing takes out what is ours: when nothing else
// changed, the result is the copy, byte for byte, and the copy goes. A crash
// leaves the old file or the new one, and maybe the copy.
//
// Our hooks are known by the program's name in their command. What a person
// changed around it, such as a time limit, stays.
package hookscripts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The clients that can be set up.
const (
	Claude = "claude"
	Codex  = "codex"
)

// Clients lists them all.
func Clients() []string { return []string{Claude, Codex} }

// Env says where everything is.
type Env struct {
	Getenv func(string) string
	Now    func() time.Time

	ClaudeDir   string // settings.json, skills
	CodexHome   string // hooks.json, config.toml, skills
	PeermuxHome string

	HookPath   string // peermux-hook
	ServerPath string // peermux
	Version    string // of peermux, for the plugins
}

// NewEnv finds the folders from the environment, and peermux-hook beside the
// running peermux, whose path is given.
func NewEnv(getenv func(string) string, now func() time.Time, serverPath string) (Env, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return Env{}, errors.New("no home directory: HOME is not set")
	}
	e := Env{
		Getenv:      getenv,
		Now:         now,
		ClaudeDir:   filepath.Join(home, ".claude"),
		CodexHome:   filepath.Join(home, ".codex"),
		PeermuxHome: filepath.Join(home, ".peermux"),
		HookPath:    filepath.Join(filepath.Dir(serverPath), "peermux-hook"),
		ServerPath:  serverPath,
	}
	for _, v := range []struct {
		name string
		dst  *string
	}{{"CLAUDE_CONFIG_DIR", &e.ClaudeDir}, {"CODEX_HOME", &e.CodexHome}, {"PEERMUX_HOME", &e.PeermuxHome}} {
		dir := getenv(v.name)
		if dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return Env{}, fmt.Errorf("%s must be an absolute path, got %s", v.name, dir)
		}
		*v.dst = filepath.Clean(dir)
	}
	return e, nil
}

// CheckPrograms reports an error unless both programs can be run from where
// the clients will look for them, also tomorrow.
func (e Env) CheckPrograms() error {
	for _, p := range []string{e.ServerPath, e.HookPath} {
		if _, err := exec.LookPath(p); err != nil || !filepath.IsAbs(p) {
			return fmt.Errorf("no program %s: install peermux and peermux-hook side by side (make install)", p)
		}
		if strings.ContainsAny(p, "\n\r") {
			return fmt.Errorf("%q: a path with a line break can't be put into a hook", p)
		}
		if strings.Contains(p, "/go-build") {
			return fmt.Errorf("%s is gone when `go run` ends: install the programs first (make install)", p)
		}
	}
	return nil
}

// StablePath is where the running program should be referred to: the path it
// was started by, when it is a link to the same file, so that an upgrade which
// moves the link changes nothing in the clients; else the file itself.
func StablePath(argv0, executable string) string {
	was, err := os.Stat(executable)
	if err != nil {
		return executable
	}
	for _, name := range []string{argv0, "peermux"} {
		p, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if p, err = filepath.Abs(p); err != nil {
			continue
		}
		if is, err := os.Stat(p); err == nil && os.SameFile(was, is) {
			return p
		}
	}
	return executable
}

// fixedHome is PEERMUX_HOME when it is set: it then goes into everything that
// is installed, so that hook and server agree wherever they are started from.
func (e Env) fixedHome() string {
	if e.Getenv("PEERMUX_HOME") == "" {
		return ""
	}
	return e.PeermuxHome
}

func (e Env) claudeSettings() string { return filepath.Join(e.ClaudeDir, "settings.json") }

// claudeConfig is the file with Claude Code's MCP servers: beside the folder
// ~/.claude, but inside a folder named by CLAUDE_CONFIG_DIR. An older name
// wins where it exists (seen with 2.1.328).
func (e Env) claudeConfig() string {
	old := filepath.Join(e.ClaudeDir, ".config.json")
	if _, err := os.Stat(old); err == nil {
		return old
	}
	if e.Getenv("CLAUDE_CONFIG_DIR") != "" {
		return filepath.Join(e.ClaudeDir, ".claude.json")
	}
	return filepath.Join(e.Getenv("HOME"), ".claude.json")
}

func (e Env) codexHooks() string { return filepath.Join(e.CodexHome, "hooks.json") }

func (e Env) codexConfig() string { return filepath.Join(e.CodexHome, "config.toml") }

// Found reports whether a client is on this machine, and how that is known.
func (e Env) Found(client string) (how string, ok bool) {
	if p, err := e.lookPath(client); err == nil {
		return p, true
	}
	dir := map[string]string{Claude: e.ClaudeDir, Codex: e.CodexHome}[client]
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, true
	}
	return "", false
}

// lookPath finds a program on the PATH of the environment we were given.
func (e Env) lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("no program %s on the PATH", name)
}

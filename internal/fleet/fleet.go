// Package fleet starts a set of sessions from a file, in tmux, and ends what it
// started.
//
// # The file
//
//	session = "shop"            # tmux session; default: the folder's name
//	layout  = "windows"         # one window each, or a tmux layout such as tiled
//
//	[[agent]]
//	name     = "api"            # also the window's name
//	client   = "codex"          # claude or codex …
//	command  = ["codex", "-m", "gpt-5.5"]   # … or any program, with its arguments
//	dir      = "services/api"   # relative to the file; default: the file's folder
//	worktree = "api-v2"         # or a branch: its worktree, made when there is none
//	prompt   = "Read TODO.md and start."    # first prompt, given as an argument
//
// A prompt goes to the client as an argument, never as keys.
//
// # What is remembered
//
// $PEERMUX_HOME/fleets/<tmux session>.json lists each pane that was started, with
// its process, right after it was started. Down ends exactly those of them whose
// process is still the same, and nothing else; a crash leaves a list that is true.
// A tmux session that fleet did not start is never touched.
package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	toml "github.com/pelletier/go-toml/v2"

	"peermux/internal/project"
	"peermux/internal/tmux"
)

// Windows is the layout with one window for each agent.
const Windows = "windows"

// Plan is what a file asks for, checked and with absolute folders.
type Plan struct {
	File    string  `toml:"-" json:"file"`
	Session string  `toml:"session" json:"session"`
	Layout  string  `toml:"layout" json:"layout"`
	Agents  []Agent `toml:"agent" json:"agents"`
}

// Agent is one session to start.
type Agent struct {
	Name     string   `toml:"name" json:"name"`
	Client   string   `toml:"client" json:"client,omitempty"`
	Command  []string `toml:"command" json:"command,omitempty"`
	Dir      string   `toml:"dir" json:"dir"`
	Worktree string   `toml:"worktree" json:"worktree,omitempty"`
	Prompt   string   `toml:"prompt" json:"prompt,omitempty"`
}

// Load reads and checks a file. Nothing is started when anything in it is wrong.
func Load(file string) (Plan, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return Plan{}, err
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Plan{}, fmt.Errorf("there is no %s; write one: peermux up -h shows how", file)
	}
	if err != nil {
		return Plan{}, err
	}
	p := Plan{File: file}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("%s: %s", file, tomlError(err))
	}
	if err := p.complete(); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// tomlError says where it is wrong.
func tomlError(err error) string {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		row, col := strict.Errors[0].Position()
		return fmt.Sprintf("line %d, column %d: unknown key %s", row, col, strings.Join(strict.Errors[0].Key(), "."))
	}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, col := decode.Position()
		return fmt.Sprintf("line %d, column %d: %s", row, col, decode.Error())
	}
	return err.Error()
}

func (p *Plan) complete() error {
	base := filepath.Dir(p.File)
	if p.Session == "" {
		p.Session = filepath.Base(base)
	}
	if err := project.ValidName(p.Session); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if p.Layout == "" {
		p.Layout = Windows
	}
	if p.Layout != Windows && !slices.Contains(tmux.Layouts(), p.Layout) {
		return fmt.Errorf("layout %q: must be %s or one of %s", p.Layout, Windows, strings.Join(tmux.Layouts(), ", "))
	}
	if len(p.Agents) == 0 {
		return errors.New("no [[agent]] in it")
	}
	seen := map[string]bool{}
	for i := range p.Agents {
		a := &p.Agents[i]
		if err := a.complete(base); err != nil {
			return fmt.Errorf("agent %d (%s): %w", i+1, a.Name, err)
		}
		if seen[a.Name] {
			return fmt.Errorf("two agents are called %s", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

func (a *Agent) complete(base string) error {
	if err := project.ValidName(a.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	switch {
	case len(a.Command) > 0 && a.Client != "":
		return errors.New("client and command: give one of them")
	case len(a.Command) > 0:
	case a.Client == "claude", a.Client == "codex":
		a.Command = []string{a.Client}
	default:
		return fmt.Errorf("client %q: must be claude or codex; for another program use command", a.Client)
	}
	if a.Prompt != "" {
		if a.Client == "" {
			return errors.New("prompt: put it into command, since only the program knows how it takes one")
		}
		// "--" keeps a prompt that starts with a dash from being an option.
		a.Command = append(slices.Clone(a.Command), "--", a.Prompt)
	}
	if a.Dir != "" && a.Worktree != "" {
		return errors.New("dir and worktree: give one of them")
	}
	if a.Dir == "" {
		a.Dir = base
	}
	if !filepath.IsAbs(a.Dir) {
		a.Dir = filepath.Join(base, a.Dir)
	}
	if a.Worktree != "" {
		dir, err := worktreeDir(base, a.Worktree)
		a.Dir = dir
		return err
	}
	if info, err := os.Stat(a.Dir); err != nil || !info.IsDir() {
		return fmt.Errorf("dir %s is no folder", a.Dir)
	}
	return nil
}

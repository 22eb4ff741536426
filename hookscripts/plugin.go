package hookscripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"peermux/hookscripts/internal/jsonedit"
)

const pluginAbout = "Coding-agent sessions on this machine find, message, ask and wake each other"

// WritePlugin writes a folder that is a plugin for Claude Code, with a plugin
// for Codex inside it: the same hooks, server and skill that Install, Register
// and InstallSkills put into the clients' settings, for people who would
// rather have no settings changed.
//
//	dir/.claude-plugin/, hooks/, .mcp.json, skills/   the plugin for Claude Code, and the list with it in
//	dir/codex/.codex-plugin/, hooks/, …               the plugin for Codex
//	dir/.agents/plugins/marketplace.json              the list with it in
//
// The programs are named by their absolute paths, so the folder is for this
// machine. Files of ours are replaced; a folder that holds anything else and no
// plugin of ours is refused. Our manifest is written first, so that a folder
// which a crash left half-made is one of ours.
func WritePlugin(dir string, e Env) error {
	if err := e.CheckPrograms(); err != nil {
		return err
	}
	if err := checkPluginDir(dir); err != nil {
		return err
	}
	readme, err := files.ReadFile("files/plugin.md")
	if err != nil {
		return err
	}
	if err := e.writePlugin(dir, Claude, ".claude-plugin"); err != nil {
		return err
	}
	if err := e.writePlugin(filepath.Join(dir, "codex"), Codex, ".codex-plugin"); err != nil {
		return err
	}
	if err := putMarketplaces(dir); err != nil {
		return err
	}
	return put(filepath.Join(dir, "README.md"), readme)
}

// putMarketplaces writes the lists that the clients install a plugin from.
func putMarketplaces(dir string) error {
	list := func(source any) map[string]any {
		return map[string]any{
			"name": serverName, "description": pluginAbout, "owner": map[string]string{"name": serverName},
			"plugins": []any{map[string]any{"name": serverName, "description": pluginAbout, "source": source}},
		}
	}
	if err := putJSON(filepath.Join(dir, ".claude-plugin", "marketplace.json"), list("./")); err != nil {
		return err
	}
	codex := map[string]string{"source": "local", "path": "./codex"}
	return putJSON(filepath.Join(dir, ".agents", "plugins", "marketplace.json"), list(codex))
}

func (e Env) writePlugin(dir, client, manifest string) error {
	version := e.Version
	if version == "" || version[0] < '0' || version[0] > '9' {
		version = "0.0.0" // a build that has no number
	}
	about := map[string]any{
		"name": serverName, "version": version, "description": pluginAbout,
		"author": map[string]string{"name": serverName}, "license": "MIT",
	}
	if err := putJSON(filepath.Join(dir, manifest, "plugin.json"), about); err != nil {
		return err
	}
	hooks, err := e.hooks(client)
	if err != nil {
		return err
	}
	doc, err := jsonedit.Parse(nil)
	if err != nil {
		return err
	}
	if err := doc.Set(nil, "description", jsonedit.Quote(pluginAbout)); err != nil {
		return err
	}
	if err := addHooks(doc, hooks); err != nil {
		return err
	}
	if err := put(filepath.Join(dir, "hooks", "hooks.json"), doc.Bytes()); err != nil {
		return err
	}
	server := map[string]any{"command": e.ServerPath, "args": []string{"mcp"}}
	if home := e.fixedHome(); home != "" {
		server["env"] = map[string]string{"PEERMUX_HOME": home}
	}
	if client == Codex {
		server["env_vars"] = forwarded()
		server["tool_timeout_sec"] = toolTimeout
	}
	if err := putJSON(filepath.Join(dir, ".mcp.json"), map[string]any{"mcpServers": map[string]any{serverName: server}}); err != nil {
		return err
	}
	text, err := skill(client)
	if err != nil {
		return err
	}
	return put(filepath.Join(dir, "skills", "peermux", "SKILL.md"), text)
}

// checkPluginDir refuses a folder that holds somebody else's plugin or files.
func checkPluginDir(dir string) error {
	held, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(held) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, ".claude-plugin", "plugin.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds other files; name a folder of its own", dir)
	}
	if err != nil {
		return err
	}
	var other struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(data, &other); err != nil || other.Name != serverName {
		return fmt.Errorf("%s holds another plugin; name a folder of its own", dir)
	}
	return nil
}

func putJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return put(path, append(text, '\n'))
}

package hookscripts

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPluginHoldsWhatIsInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Version = "1.2.3"
	dir := filepath.Join(w.home, "plugin")
	for range 2 { // the second time over the first
		if err := WritePlugin(dir, w.Env); err != nil {
			t.Fatal(err)
		}
	}
	w.setUp(both())
	for client, at := range map[string]string{Claude: "", Codex: "codex"} {
		var plugin, installed struct{ Hooks map[string]any }
		unmarshal(t, w.read(filepath.Join(dir, at, "hooks", "hooks.json")), &plugin)
		settings := map[string]string{Claude: w.claudeSettings(), Codex: w.codexHooks()}[client]
		unmarshal(t, w.read(settings), &installed)
		got, _ := json.Marshal(plugin)
		want, _ := json.Marshal(installed)
		wantSame(t, client, string(got), string(want))

		var servers struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			}
		}
		unmarshal(t, w.read(filepath.Join(dir, at, ".mcp.json")), &servers)
		if s := servers.MCPServers["peermux"]; s.Command != w.ServerPath || len(s.Args) != 1 || s.Args[0] != "mcp" {
			t.Errorf("%s: server %+v", client, s)
		}
		var about struct{ Name, Version string }
		unmarshal(t, w.read(filepath.Join(dir, at, "."+client+"-plugin", "plugin.json")), &about)
		if about.Name != "peermux" || about.Version != "1.2.3" {
			t.Errorf("%s: %+v", client, about)
		}
		text, err := skill(client)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, "skill", w.read(filepath.Join(dir, at, "skills", "peermux", "SKILL.md")), string(text))
	}
	var market struct {
		Plugins []struct{ Source struct{ Path string } }
	}
	unmarshal(t, w.read(filepath.Join(dir, ".agents", "plugins", "marketplace.json")), &market)
	if p := filepath.Join(dir, market.Plugins[0].Source.Path); p != filepath.Join(dir, "codex") {
		t.Errorf("the marketplace leads to %s", p)
	}
}

func TestPluginKeepsOutOfAnothersFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(w.home, "theirs")
	w.write(filepath.Join(dir, ".claude-plugin", "plugin.json"), `{"name":"theirs"}`)
	project := filepath.Join(w.home, "project")
	w.write(filepath.Join(project, "README.md"), "mine")
	before := w.tree()
	if err := WritePlugin(dir, w.Env); err == nil || !strings.Contains(err.Error(), "another plugin") {
		t.Errorf("got %v", err)
	}
	if err := WritePlugin(project, w.Env); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("got %v", err)
	}
	wantSame(t, "the folder", w.tree(), before)
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func TestSkillsAreMentForTheirClient(t *testing.T) {
	t.Parallel()
	for client, word := range map[string]string{Claude: "ToolSearch", Codex: "tool_search"} {
		text, err := skill(client)
		if err != nil || !strings.Contains(string(text), word) || strings.Contains(string(text), "{{") {
			t.Errorf("%s: %v\n%s", client, err, text)
		}
		if !strings.HasPrefix(string(text), "---\nname: peermux\ndescription: ") {
			t.Errorf("%s: no front matter", client)
		}
	}
}

func TestAPersonsSkillStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.ClaudeDir, "skills", "peermux", "SKILL.md")
	w.write(path, "mine\n")
	changes := w.setUp(Options{Clients: []string{Claude}})
	if c := changes[len(changes)-1]; c.Did != Kept || c.Note == "" {
		t.Errorf("got %+v", c)
	}
	w.takeDown(both())
	wantSame(t, "the skill", w.read(path), "mine\n")

	w.write(path, "old text\n"+skillMark+"\n")
	w.write(filepath.Join(w.ClaudeDir, "skills", "other", "SKILL.md"), "x")
	changes = w.setUp(Options{Clients: []string{Claude}})
	if c := changes[len(changes)-1]; c.Did != Updated {
		t.Errorf("an older skill of ours: %+v", c)
	}
	w.takeDown(both())
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the empty folder is left")
	}
	if _, err := os.Stat(filepath.Join(w.ClaudeDir, "skills", "other", "SKILL.md")); err != nil {
		t.Error(err)
	}
}

// Every file that is embedded is used: a forgotten one would ship for nothing.
func TestEmbeddedFiles(t *testing.T) {
	t.Parallel()
	var names []string
	err := fs.WalkDir(files, "files", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if got, want := strings.Join(names, " "), "files/SKILL.md files/claude-hooks.json files/codex-hooks.json files/plugin.md"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

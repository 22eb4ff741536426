package hookscripts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// texts are settings as real homes have them: JSON first, TOML second.
func texts() map[string][2]string {
	foreign := `[
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/guard.sh", "timeout": 5}]},
      {"hooks": [{"type": "command", "command": "notify-send done"}, {"type": "prompt", "prompt": "ok?"}]},
      {"hooks": [{"type": "http", "url": "http://localhost/x"}], "x-mine": null}
    ]`
	return map[string][2]string{
		"nothing in it": {"{}", "\n"},
		"empty object":  {"{\n}\n", "# only a comment\n"},
		"0 bytes":       {"", ""},
		"blanks only":   {" \n\n", "\n\n\n"},
		"a usual one": {
			"{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls:*)\"\n    ]\n  },\n  \"n\": 12345678901234567890\n}\n",
			"model = \"gpt-5.5\" # fast\n\n[projects.\"/home/u/a b\"]\ntrust_level = \"trusted\"\n",
		},
		"three foreign hooks": {
			"{\n  \"hooks\": {\n    \"Stop\": " + foreign + ",\n    \"PreToolUse\": " + foreign + "\n  }\n}\n",
			"[mcp_servers.other]\ncommand = \"x\"\n\n[mcp_servers.other.env]\nA = \"1\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"true\"\n",
		},
		"empty containers":       {"{\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"mcpServers\": {},\n  \"permissions\": {}\n}", "[mcp_servers]\n\n[hooks]\n"},
		"tabs":                   {"{\n\t\"hooks\": {},\n\t\"a\": [\n\t\t1\n\t]\n}\n", "[a]\n\tb = 1\n"},
		"CRLF":                   {"{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": []\r\n  }\r\n}\r\n", "a = 1\r\n\r\n[b]\r\nc = 2\r\n"},
		"byte order mark":        {"\xef\xbb\xbf{\n  \"a\": 1\n}\n", "\xef\xbb\xbfa = 1\n"},
		"no newline at the end":  {"{\n  \"a\": 1\n}", "a = 1"},
		"minified":               {`{"a":1,"hooks":{"Stop":[]},"s":"x, y: {z}"}`, "a=1\nb={c=2,d=[1,2]}\n"},
		"comments":               {"// mine\n{\n  // why\n  \"a\": 1, // note\n  \"hooks\": {\n    /* none yet */\n  }, // end\n}\n", "# top\n[a] # a\nb = 1 # b\n# tail"},
		"trailing commas":        {"{\n  \"a\": [1, 2,],\n  \"hooks\": {\"Stop\": [],},\n}\n", "a = [\n  1,\n  2,\n]\n"},
		"duplicate keys":         {"{\n  \"hooks\": {\"Stop\": 1},\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n", "a = 1\n"},
		"strings with anything":  {"{\n  \"<&>\": \"\\u00e9\\/\\\"hooks\\\": {\",\n  \"日本\": \"🙂\"\n}\n", "s = '''\n[mcp_servers.peermux]\n'''\nt = \"\"\"\n\"\"\"\n"},
		"dates and odd numbers":  {"{\"a\": 1e400, \"b\": -0, \"c\": 1.10}\n", "d = 1979-05-27T07:32:00.999-07:00\nf = inf\nh = 0xFF\n"},
		"another one's peermux":  {"{\n  \"mcpServers\": {\n    \"peermux\": {\n      \"command\": \"my-wrapper\"\n    }\n  }\n}\n", "[mcp_servers.peermux]\ncommand = \"my-wrapper\"\n"},
		"trust by the person":    {"{\n  \"a\": 1\n}\n", "[hooks.state]\n\n[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n"},
		"one-line with blanks":   {`{ "a": 1, "hooks": { "Stop": [ ] } }` + "\n", "a = 1 \n"},
		"brace on the last line": {"{\n  \"a\": 1,\n  \"b\": 2 }", "\n\na = 1\n\n\n"},
	}
}

// shapes are the ways a file can lie there.
func shapes() map[string]func(w *world, path, text string) {
	return map[string]func(w *world, path, text string){
		"file": (*world).write,
		"0600": func(w *world, path, text string) {
			w.write(path, text)
			if err := os.Chmod(path, 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
		"link into dotfiles": func(w *world, path, text string) {
			real := filepath.Join(w.home, "dotfiles", filepath.Base(path)+".real")
			w.write(real, text)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				w.t.Fatal(err)
			}
			to, err := filepath.Rel(filepath.Dir(path), real)
			if err != nil {
				w.t.Fatal(err)
			}
			if err := os.Symlink(to, path); err != nil {
				w.t.Fatal(err)
			}
		},
	}
}

func (w *world) configs() (jsons []string, tomls []string) {
	return []string{w.claudeSettings(), w.claudeConfig(), w.codexHooks()}, []string{w.codexConfig()}
}

// put lays the texts down as all four settings files.
func (w *world) put(text [2]string, lay func(w *world, path, text string)) {
	jsons, tomls := w.configs()
	for _, path := range jsons {
		lay(w, path, text[0])
	}
	for _, path := range tomls {
		lay(w, path, text[1])
	}
}

func TestSetupAndRemoveLeaveEveryByte(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		for shape, lay := range shapes() {
			if shape != "file" && name != "a usual one" && name != "three foreign hooks" {
				continue // where the file lies and what is in it don't meet
			}
			t.Run(name+"/"+shape, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.put(text, lay)
				before := w.tree()

				plan := w.setUp(both(dry))
				wantSame(t, "after a dry run", w.tree(), before)

				w.setUp(both())
				w.wantInstalled()
				for _, c := range plan {
					if c.Diff != "" && !strings.HasPrefix(c.Diff, "diff "+c.File) {
						t.Errorf("the diff of %s begins with %.40q", c.File, c.Diff)
					}
				}
				once := w.tree()
				for _, c := range w.setUp(both()) {
					if c.Did != Present && c.Did != Kept {
						t.Errorf("second run: %s %s %s", c.Client, c.What, c.Did)
					}
				}
				wantSame(t, "after the second run", w.tree(), once)

				w.takeDown(both())
				wantSame(t, "after removal", w.tree(), before)
				wantDid(t, w.takeDown(both()), Absent)
			})
		}
	}
}

// wantInstalled reads the files as the clients do.
func (w *world) wantInstalled() {
	w.t.Helper()
	for client, path := range map[string]string{Claude: w.claudeSettings(), Codex: w.codexHooks()} {
		doc, err := jsonHas(hasHooks)([]byte(w.read(path)))
		if err != nil || !doc {
			w.t.Errorf("%s: no hooks in %s: %v", client, path, err)
		}
	}
	if ok, err := jsonHas(hasClaudeServer)([]byte(w.read(w.claudeConfig()))); err != nil || !ok && !strings.Contains(w.read(w.claudeConfig()), "my-wrapper") {
		w.t.Errorf("no server in %s: %v", w.claudeConfig(), err)
	}
	var config struct {
		Servers map[string]struct{ Command string } `toml:"mcp_servers"`
	}
	text := strings.TrimPrefix(w.read(w.codexConfig()), "\xef\xbb\xbf")
	if err := toml.Unmarshal([]byte(text), &config); err != nil {
		w.t.Errorf("config.toml: %v", err)
	}
	if c := config.Servers["peermux"].Command; c != w.ServerPath && c != "my-wrapper" {
		w.t.Errorf("config.toml: command is %q", c)
	}
}

func TestSetupWithoutAnyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wantDid(t, w.setUp(both(approve)), Added)
	w.wantInstalled()
	for _, path := range []string{w.claudeSettings(), w.claudeConfig(), w.codexHooks(), w.codexConfig()} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	wantDid(t, w.setUp(both(approve)), Present)
	wantDid(t, w.takeDown(both()), Removed)
	wantSame(t, "after removal", w.tree(), "")
}

func TestApproveIsTakenBackToo(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put(text, (*world).write)
			before := w.tree()
			w.setUp(both())
			w.setUp(both(approve))
			if text := w.read(w.claudeSettings()); !strings.Contains(text, `"mcp__peermux"`) {
				t.Errorf("no permission in\n%s", text)
			}
			if text := w.read(w.codexConfig()); !strings.Contains(text, "my-wrapper") && !strings.Contains(text, `default_tools_approval_mode = "approve"`) {
				t.Errorf("no approval in\n%s", text)
			}
			w.setUp(both()) // without the flag it stays
			w.takeDown(both())
			wantSame(t, "after removal", w.tree(), before)
		})
	}
}

// What others write meanwhile stays, byte for byte, and only ours goes.
func TestRemoveAfterOthersChangedTheFiles(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		if name == "0 bytes" || name == "blanks only" || name == "nothing in it" || name == "empty object" {
			continue // theirs then is the whole file
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			change := func() {
				jsons, tomls := w.configs()
				for _, path := range jsons {
					w.edit(path, `{`, "{\"theirs\":\n 1,")
				}
				for _, path := range tomls {
					w.write(path, w.read(path)+"\n[theirs]\nx = 1 # y\n")
				}
			}
			w.put(text, (*world).write)
			if strings.HasSuffix(text[1], "\n") {
				change()
			}
			want := w.tree()

			w = newWorld(t)
			w.put(text, (*world).write)
			w.setUp(both())
			if strings.HasSuffix(text[1], "\n") {
				change()
			}
			w.takeDown(both())
			wantSame(t, "after removal", w.tree(), want)
		})
	}
}

func (w *world) edit(path, old, new string) {
	w.t.Helper()
	text := w.read(path)
	if !strings.Contains(text, old) {
		w.t.Fatalf("%q is not in %s", old, text)
	}
	w.write(path, strings.Replace(text, old, new, 1))
}

func TestInstalledHooksCarryTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp(both())
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Type, Command, RewakeSummary, RewakeMessage string
				Timeout                                     int
				AsyncRewake                                 bool
			}
		}
	}
	if err := json.Unmarshal([]byte(w.read(w.claudeSettings())), &settings); err != nil {
		t.Fatal(err)
	}
	events, err := Events(Claude)
	if err != nil || len(settings.Hooks) != len(events) {
		t.Fatalf("%d events in the file, want %v, %v", len(settings.Hooks), events, err)
	}
	for event, groups := range settings.Hooks {
		h := groups[0].Hooks[0]
		if len(groups) != 1 || h.Type != "command" || h.Command != w.command(Claude, event) || h.Timeout != 10 || h.AsyncRewake != (event == "FileChanged") {
			t.Errorf("%s: %+v", event, groups)
		}
	}
	if h := settings.Hooks["FileChanged"][0].Hooks[0]; h.RewakeSummary == "" || h.RewakeMessage == "" {
		t.Errorf("FileChanged: %+v", h)
	}
}

func TestAPersonsChangesStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp(both())
	w.edit(w.claudeSettings(), `"timeout": 10`, `"timeout": 77, "mine": true`)
	w.edit(w.codexConfig(), "tool_timeout_sec = 300", "tool_timeout_sec = 60 # mine\nenabled = false")
	before := w.tree()
	wantDid(t, w.setUp(both()), Present)
	wantSame(t, "after the second run", w.tree(), before)
}

func TestMovedProgramsChangeOnlyThePath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp(both())
	w.edit(w.claudeSettings(), `"timeout": 10`, `"timeout": 77`)
	before, old := w.tree(), filepath.Dir(w.ServerPath)
	moved := filepath.Join(w.home, "..", "elsewhere")
	if err := os.Rename(old, moved); err != nil {
		t.Fatal(err)
	}
	w.vars["PATH"] = moved
	w.reload(filepath.Join(moved, "peermux"))
	changes := w.setUp(both())
	for _, c := range changes {
		if c.What != "skill" && c.Did != Updated {
			t.Errorf("%s %s: %s", c.Client, c.What, c.Did)
		}
	}
	want := strings.NewReplacer("'"+old+"/peermux-hook'", moved+"/peermux-hook", old, moved).Replace(before)
	wantSame(t, "after the move", w.tree(), want)
}

func TestEventsOfAnOlderVersionGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.claudeSettings(), `{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"/old/peermux-hook claude PreCompact"}]},{"hooks":[{"type":"command","command":"theirs"}]}]}}`)
	if _, err := Install(t.Context(), w.Env, both()); err != nil {
		t.Fatal(err)
	}
	text := w.read(w.claudeSettings())
	if strings.Contains(text, "/old/") || !strings.Contains(text, `"PreCompact":[{"hooks":[{"type":"command","command":"theirs"}]}]`) {
		t.Errorf("got %s", text)
	}
}

func TestForeignHooksInOurGroupStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp(both())
	w.edit(w.claudeSettings(), `"command": "[ -x`, `"command": "theirs"}, {"type": "command", "command": "[ -x`)
	w.takeDown(both())
	var got struct{ Hooks map[string]any }
	if err := json.Unmarshal([]byte(w.read(w.claudeSettings())), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Hooks) != 1 || strings.Contains(w.read(w.claudeSettings()), "peermux") || !strings.Contains(w.read(w.claudeSettings()), "theirs") {
		t.Errorf("got %s", w.read(w.claudeSettings()))
	}
}

func TestNotesSayWhatTheClientWontRead(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, claude, codex string }{
		{"{}", "", ""},
		{"{\n  \"a\": 1, // x\n  \"b\": 2\n}", "a comment (line 2, column 11)", "a comment (line 2, column 11)"},
		{"{\n  \"a\": 1,\n}", "a trailing comma before } (line", "a trailing comma before } (line"},
		{"\xef\xbb\xbf{}", "", "byte order mark"},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.put([2]string{tt.text, ""}, (*world).write)
		changes, err := Install(t.Context(), w.Env, both())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{tt.claude, tt.codex} {
			if note := changes[i].Note; want == "" && note != "" || !strings.Contains(note, want) {
				t.Errorf("%q, %s: note %q, want %q", tt.text, changes[i].Client, note, want)
			}
		}
	}
}

func TestClaudesFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got, want := w.claudeConfig(), filepath.Join(w.home, ".claude.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	cfg := filepath.Join(w.home, "cfg")
	w.vars["CLAUDE_CONFIG_DIR"], w.vars["CODEX_HOME"] = cfg, filepath.Join(w.home, "cx")
	w.reload(w.ServerPath)
	w.setUp(both())
	for _, path := range []string{"cfg/settings.json", "cfg/.claude.json", "cfg/skills/peermux/SKILL.md", "cx/hooks.json", "cx/config.toml", "cx/skills/peermux/SKILL.md"} {
		if _, err := os.Stat(filepath.Join(w.home, path)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{".claude", ".claude.json", ".codex"} {
		if _, err := os.Stat(filepath.Join(w.home, path)); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	w.write(filepath.Join(cfg, ".config.json"), "{}")
	if got, want := w.claudeConfig(), filepath.Join(cfg, ".config.json"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.vars["CODEX_HOME"] = "relative"
	if _, err := NewEnv(w.Getenv, w.Now, w.ServerPath); err == nil {
		t.Error("a relative CODEX_HOME passed")
	}
}

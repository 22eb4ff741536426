package hookscripts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"peermux/hookscripts/internal/userfile"
)

// A file that can't be changed safely stays as it is, and the error says where
// and why. The other client's files are dealt with all the same.
func TestBadFilesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, text, want string }{
		{"no JSON", ".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n", "settings.json: line 3, column 3: "},
		{"half a JSON", ".claude/settings.json", `{"a": [1,`, "settings.json: line 1, column "},
		{"hooks is a list", ".claude/settings.json", "{\n  \"hooks\": []\n}", "settings.json: line 2, column 12: \"hooks\" is no object"},
		{"hooks is null", ".claude/settings.json", `{"hooks": null}`, "\"hooks\" is no object"},
		{"an event is an object", ".claude/settings.json", "{\"hooks\": {\n\"Stop\": {}}}", "settings.json: line 2, column 9: \"Stop\" is no array"},
		{"the file is a list", ".claude/settings.json", "[]", "settings.json: line 1, column 1: the file is no object"},
		{"permissions is a text", ".claude/settings.json", `{"permissions": "x"}`, "\"permissions\" is no object"},
		{"servers is a list", ".claude.json", `{"mcpServers": []}`, ".claude.json: line 1, column 16: \"mcpServers\" is no object"},
		{"no JSON in Codex", ".codex/hooks.json", "{\"hooks\": {]}", "hooks.json: line 1, column 12: "},
		{"no TOML", ".codex/config.toml", "a = 1\nmodel = \"x\nb = 2\n", "config.toml: line 2, column "},
		{"TOML with a key twice", ".codex/config.toml", "a = 1\na = 2\n", "config.toml: line 2, column 1: "},
		{"inline servers", ".codex/config.toml", "mcp_servers = { x = { command = \"y\" } }\n", "config.toml: line "},
		{"binary", ".claude/settings.json", "\x00\x01\xff", "settings.json: line 1, column 1: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(filepath.Join(w.home, tt.file), tt.text)
			_, err1 := RegisterServer(t.Context(), w.Env, both(approve))
			_, err2 := Install(t.Context(), w.Env, both(approve))
			err := fmt.Sprint(err1, err2)
			if (err1 == nil) == (err2 == nil) || !strings.Contains(err, tt.want) || !strings.Contains(err, "nothing was changed there") {
				t.Errorf("got %q, want %q", err, tt.want)
			}
			if strings.ContainsFunc(err, func(r rune) bool { return r < ' ' }) {
				t.Errorf("control characters in %q", err)
			}
			wantSame(t, tt.file, w.read(filepath.Join(w.home, tt.file)), tt.text)
			if _, err := os.Stat(filepath.Join(w.home, tt.file+".before-peermux")); err == nil {
				t.Error("a copy was left behind")
			}
			for _, other := range []string{".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml"} {
				if other != tt.file && !strings.Contains(w.read(filepath.Join(w.home, other)), "peermux") {
					t.Errorf("%s was left out", other)
				}
			}
			_, err1 = Install(t.Context(), w.Env, both(dry, approve))
			_, err2 = RegisterServer(t.Context(), w.Env, both(dry, approve))
			if err1 == nil && err2 == nil {
				t.Error("a dry run says nothing about it")
			}
		})
	}
}

func TestReadOnlyFileStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.claudeSettings(), "{}")
	if err := os.Chmod(w.claudeSettings(), 0o444); err != nil {
		t.Fatal(err)
	}
	before := w.tree()
	_, err := Install(t.Context(), w.Env, Options{Clients: []string{Claude}})
	if err == nil || !strings.Contains(err.Error(), "read-only") || strings.Count(err.Error(), w.claudeSettings()) != 1 {
		t.Errorf("got %v", err)
	}
	_, err = Install(t.Context(), w.Env, Options{Clients: []string{Claude}, DryRun: true, Draft: NewDraft()})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a dry run says %v", err)
	}
	wantSame(t, "the folder", w.tree(), before)
}

func TestMissingProgramsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{w.HookPath, w.ServerPath} {
		if err := os.Rename(name, name+".gone"); err != nil {
			t.Fatal(err)
		}
		_, err := Install(t.Context(), w.Env, both())
		_, err2 := RegisterServer(t.Context(), w.Env, both())
		if err == nil || err2 == nil || WritePlugin(t.TempDir(), w.Env) == nil {
			t.Errorf("without %s: %v, %v", name, err, err2)
		}
		if err := os.Rename(name+".gone", name); err != nil {
			t.Fatal(err)
		}
	}
	w.HookPath = "/x/go-build123/b001/exe/peermux-hook"
	if _, err := Install(t.Context(), w.Env, both()); err == nil {
		t.Error("a go run build was installed")
	}
	if _, err := os.Stat(w.home); err == nil {
		t.Error("something was written")
	}
	if _, err := Install(t.Context(), w.Env, Options{Clients: []string{"emacs"}}); err == nil {
		t.Error("an unknown client passed")
	}
}

func TestTwentyInstallersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(texts()["three foreign hooks"], (*world).write)
	first := w.tree()
	w.setUp(both())
	want := w.tree()
	w.takeDown(both())
	wantSame(t, "after removal", w.tree(), first)

	var wg sync.WaitGroup
	errs := make(chan error, 60)
	for range 20 {
		wg.Go(func() {
			_, err := RegisterServer(t.Context(), w.Env, both())
			errs <- err
			_, err = Install(t.Context(), w.Env, both())
			errs <- err
			_, err = InstallSkills(t.Context(), w.Env, both())
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	wantSame(t, "after 20 installers", w.tree(), want)
}

// Claude Code rewrites .claude.json all the time: read, change and replace
// under its lock. Neither side may lose what the other wrote.
func TestClaudeWritesWhileWeInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.claudeConfig(), `{"n0": true}`)
	const writes = 40
	claude := func(i int) error {
		unlock, err := userfile.LockFolder(t.Context(), w.claudeConfig(), w.Now)
		if err != nil {
			return err
		}
		v := map[string]any{}
		if err := json.Unmarshal([]byte(w.read(w.claudeConfig())), &v); err != nil {
			return err
		}
		v[fmt.Sprint("n", i)] = true
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		tmp := w.claudeConfig() + ".tmp"
		if err := os.WriteFile(tmp, text, 0o600); err != nil {
			return err
		}
		if err := os.Rename(tmp, w.claudeConfig()); err != nil {
			return err
		}
		return unlock()
	}
	done := make(chan error)
	go func() {
		for i := 1; i <= writes; i++ {
			if err := claude(i); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	only := Options{Clients: []string{Claude}}
	for range 10 {
		if _, err := RegisterServer(t.Context(), w.Env, only); err != nil {
			t.Fatal(err)
		}
		if _, err := UnregisterServer(t.Context(), w.Env, only); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := RegisterServer(t.Context(), w.Env, only); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(w.read(w.claudeConfig())), &v); err != nil {
		t.Fatal(err)
	}
	if len(v) != writes+2 || v["mcpServers"] == nil {
		t.Errorf("%d keys are left, want %d and ours", len(v), writes+1)
	}
}

package hookscripts

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, client string
		change       func(w *world)
		want         string // missing stale double plugin server serverStale problems
	}{
		{"all is well", Claude, func(*world) {}, "0 0 0 false true false []"},
		{"all is well", Codex, func(*world) {}, "0 0 0 false true false []"},
		{"the client wrote its old copy back", Claude, func(w *world) { w.write(w.claudeSettings(), `{"model":"opus"}`) }, "11 0 0 false true false []"},
		{"one event is gone", Claude, func(w *world) { w.edit(w.claudeSettings(), `"Stop": [`, `"Gone": [`) }, "1 0 0 false true false []"},
		{"another program", Claude, func(w *world) { w.edit(w.claudeSettings(), "[ -x", "true; [ -x") }, "0 1 0 false true false []"},
		{"twice", Codex, func(w *world) {
			w.edit(w.codexHooks(), `"Stop": [`, `"Stop": [{"hooks":[{"type":"command","command":"/old/peermux-hook codex Stop"}]},`)
		}, "0 1 1 false true false []"},
		{"switched off", Claude, func(w *world) {
			w.edit(w.claudeSettings(), "{", `{"disableAllHooks": true, "enabledPlugins": {"peermux@peermux": true, "x@y": false},`)
		}, `0 0 0 true true false [~/.claude/settings.json: "disableAllHooks" is true]`},
		{"switched off", Codex, func(w *world) {
			w.write(w.codexConfig(), w.read(w.codexConfig())+"enabled = false\n[features]\nhooks = false\n[plugins.\"peermux@peermux\"]\nenabled = true\n")
		}, "0 0 0 true true false [~/.codex/config.toml: features.hooks is false ~/.codex/config.toml: the server is not enabled]"},
		{"a comment", Claude, func(w *world) { w.edit(w.claudeSettings(), "{", "{ // c") },
			"0 0 0 false true false [~/.claude/settings.json: Claude Code ignores this whole file because of a comment (line 1, column 3); take it out]"},
		{"broken", Claude, func(w *world) { w.write(w.claudeSettings(), "{"); w.write(w.claudeConfig(), "]") },
			"11 0 0 false false false [~/.claude/settings.json: line 1, column 2: parsing value: unexpected EOF ~/.claude.json: line 1, column 1: invalid character ']' at start of value]"},
		{"broken", Codex, func(w *world) { w.write(w.codexConfig(), "= 1") }, "0 0 0 false false false [~/.codex/config.toml: line 1, column 1: "},
		{"an old server", Codex, func(w *world) { w.edit(w.codexConfig(), w.ServerPath, "/old/peermux") }, "0 0 0 false true true []"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.client, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.setUp(both())
			tt.change(w)
			before := w.tree()
			i, err := Inspect(w.Env, tt.client)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(len(i.Missing), len(i.Stale), len(i.Double), i.Plugin, i.Server != "", i.ServerStale, i.Problems)
			if got = strings.ReplaceAll(got, w.home, "~"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			wantSame(t, "the settings", w.tree(), before)
		})
	}
	w := newWorld(t)
	if i, err := Inspect(w.Env, Claude); err != nil || i.Installed() || i.Server != "" || i.HooksFile != filepath.Join(w.home, ".claude", "settings.json") {
		t.Errorf("nothing installed: %+v, %v", i, err)
	}
}

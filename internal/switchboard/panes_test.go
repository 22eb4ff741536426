package switchboard_test

import (
	"os"
	"path/filepath"
	"testing"

	"peermux/internal/switchboard"
	"peermux/internal/tmux"
)

// A list names the panes beside the sessions', not the one that it is asked for in.
func TestOtherPanes(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	dir, err := os.MkdirTemp("", "pmx") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	r := tmux.Runner{Socket: filepath.Join(dir, "s"), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "TERM=xterm-256color"}}
	run := func(args ...string) {
		t.Helper()
		if _, err := r.Run(t.Context(), "", args...); err != nil {
			t.Fatal(err)
		}
	}
	defer os.RemoveAll(dir)
	run("-f", "/dev/null", "new-session", "-d", "-c", k.dir, "sleep 1000")
	defer run("kill-server")
	run("split-window", "-d", "-c", k.dir, "sleep 1000")
	ann := k.join("ann")
	for mine, want := range map[string][]string{"%0": {"%1"}, "%1": {"%0"}, "": {"%0", "%1"}} {
		k.env["TMUX"], k.env["TMUX_PANE"] = r.Socket+",1,0", mine
		res, err := k.another().List(t.Context(), ann.actor(), switchboard.ListRequest{})
		if err != nil || len(res.Panes) != len(want) {
			t.Fatalf("in %q: got %+v, %v", mine, res.Panes, err)
		}
		for i, p := range res.Panes {
			if p.Pane != want[i] {
				t.Errorf("in %q: got %s, want %s", mine, p.Pane, want[i])
			}
		}
	}
}

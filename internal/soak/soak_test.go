package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(orderEnv); spec != "" {
		os.Exit(work(spec))
	}
	os.Exit(m.Run())
}

// TestShortSoak is the soak as CI runs it; with -race the sessions are race-checked,
// too, since they are this very program.
func TestShortSoak(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	v, err := storm(t.Context(), plan{
		dir: dir, program: program, sessions: 8, length: 4 * time.Second, pause: 150 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := v.print(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
	if !v.good() {
		t.Error("a promise was broken")
	}
	if v.kills == 0 || v.clears == 0 || v.broadcasts == 0 {
		t.Error("the storm was none")
	}
}

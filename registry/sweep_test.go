package registry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"peermux/registry"
)

func TestSweep(t *testing.T) {
	home := t.TempDir()
	r := registry.Open(home, time.Now)
	alive, dying := start(t), start(t)
	drop := func(id string, s *sleeper) registry.Drop {
		return registry.Drop{Box: "s-" + id, Client: "claude", SessionID: id, Agent: s.ID}
	}
	mustPut(t, r, entry(alive.ID, "live"), entry(dying.ID, "dead"))
	long := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(
		r.PutDrop(drop("live", alive)), r.PutDrop(drop("dead", dying)),
		r.SetStatus("s-live", "idle", long), r.SetStatus("s-dead", "working", long), r.SetStatus("s-recent", "idle", time.Now()),
	); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(home, "drops", fmt.Sprintf(".s-x.json.tmp-%d-0a0a", dying.PID))
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mail := filepath.Join(home, "boxes", "s-dead", "journal.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(mail), 0o700), os.WriteFile(mail, []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	dying.kill(t)
	if err := r.Sweep(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"drops/s-live.json": true, "drops/s-dead.json": false,
		"status/s-live": true, "status/s-dead": false, "status/s-recent": true,
		"boxes/s-dead/journal.jsonl": true,
	} {
		if exists(filepath.Join(home, name)) != want {
			t.Errorf("%s: kept %v, want %v", name, !want, want)
		}
	}
	if exists(temp) {
		t.Error("the temporary file of a dead process was kept")
	}
	if err := registry.Open(filepath.Join(home, "none"), time.Now).Sweep(); err != nil {
		t.Error(err)
	}
}

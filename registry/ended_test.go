package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What ended is remembered for a month, and junk in its place is nobody.
func TestEnded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := Open(t.TempDir(), func() time.Time { return now })
	e := Entry{PID: 1 << 30, Start: "1", SessionID: "one", Box: "s-one", Name: "ann", Project: "/p"}
	if err := r.Put(e); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Ended(e.Box); ok {
		t.Error("an entry that is still there has not ended")
	}
	if live, err := r.Live(); err != nil || len(live) != 0 {
		t.Fatalf("live: %v, %v", live, err)
	}
	if got, ok := r.Ended(e.Box); !ok || got.SessionID != "one" || got.Project != "/p" {
		t.Errorf("ended: %+v, %v", got, ok)
	}
	path := filepath.Join(r.Home(), "ended", e.Box+".json")
	now = now.Add(endedTTL + time.Hour)
	if err := r.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after %v: %v", endedTTL, err)
	}
	for _, junk := range []string{"", "{", "\x00\xff", `{"pid":1,"start":"1","box":"s-two","session_id":"two"}`} {
		if err := os.WriteFile(path, []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := r.Ended(e.Box); ok {
			t.Errorf("%q: %+v", junk, got)
		}
	}
}

package registry

import (
	"encoding/json"
	"strings"
	"testing"
)

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"v":1,"pid":7,"start":"9","box":"s-a","name":"a","tmux":{"pane":"%1"}}`))
	f.Add([]byte(`{"pid":7,"start":"9","box":"s-../a"}`))
	f.Add([]byte(`{"pid":7.5}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEntry(data, 7)
		if err != nil {
			return
		}
		if e.PID != 7 || e.Start == "" || !validKey(e.Box) || strings.ContainsAny(e.Box, "/\x00") {
			t.Errorf("accepted %+v", e)
		}
		again, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseEntry(again, 7); err != nil {
			t.Errorf("what was read can't be written and read again: %v", err)
		}
	})
}

func FuzzParseDrop(f *testing.F) {
	f.Add([]byte(`{"box":"s-a","session_id":"a","pids":[{"pid":1,"start":"2"}],"hooks":{"Stop":"2026-01-02T03:04:05Z"}}`))
	f.Add([]byte(`{"box":"s-a","hooks":{"Stop":"yesterday"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDrop(data, "s-a")
		if err == nil && (d.Box != "s-a" || d.SessionID == "") {
			t.Errorf("accepted %+v", d)
		}
	})
}

func TestValidKey(t *testing.T) {
	for _, key := range []string{"s-a", "p-12-345", "r-My.Repo_x-0a1b"} {
		if !validKey(key) {
			t.Errorf("%q was refused", key)
		}
	}
	for _, key := range []string{"", "s", "s-", "sa", ".-a", "s-a/b", "s-a b", "s-ä", "s-\x00", "s-" + strings.Repeat("x", 300)} {
		if validKey(key) {
			t.Errorf("%q was accepted", key)
		}
	}
}

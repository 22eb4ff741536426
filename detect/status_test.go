package detect

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/registry"
)

func TestStatusOfRecordedSessions(t *testing.T) {
	tests := []struct {
		sample, word, waitingFor string
	}{
		{"claude-2.1.197-idle-fresh", registry.Idle, ""},
		{"claude-2.1.197-busy", registry.Working, ""},
		{"claude-2.1.197-permission", registry.Waiting, "permission prompt"},
		{"claude-2.1.197-question", registry.Waiting, "permission prompt"},
		{"claude-2.1.197-model-dialog", registry.Waiting, "dialog open"},
		{"claude-2.1.328-idle-fresh", registry.Idle, ""},
		{"claude-2.1.328-busy", registry.Working, ""},
		{"claude-2.1.328-permission", registry.Waiting, "permission prompt"},
		{"claude-2.1.328-question", registry.Waiting, "input needed"},
		{"claude-2.1.328-model-dialog", registry.Waiting, "dialog open"},
	}
	for _, tt := range tests {
		home := t.TempDir()
		claudeSession(t, home, tt.sample, map[string]any{"pid": 4711, "procStart": "99"})
		e := registry.Entry{Box: "s-x", Client: registry.Client{Kind: "claude", PID: 4711, Start: "99"}}
		got := StatusOf(e, registry.Open(t.TempDir(), time.Now), StatusFacts{ClaudeDir: filepath.Join(home, ".claude"), Now: time.Now()})
		if got.Word != tt.word || got.WaitingFor != tt.waitingFor || got.Source != FromClient || got.Since.IsZero() {
			t.Errorf("%s: got %+v", tt.sample, got)
		}
	}
}

func TestStatusFallsBack(t *testing.T) {
	now := time.Now()
	claude := registry.Entry{Box: "s-x", Client: registry.Client{Kind: "claude", PID: 4711, Start: "99"}}
	codex := registry.Entry{Box: "s-x", SessionID: thread1, Client: registry.Client{Kind: "codex", PID: 4711, Start: "99"}}
	other := registry.Entry{Box: "s-x", Client: registry.Client{Kind: "gemini", PID: 4711, Start: "99"}}
	asked := func(string) (Status, bool) { return Status{Word: registry.Idle, Source: FromClient, Since: now}, true }
	silent := func(string) (Status, bool) { return Status{}, false }
	tests := []struct {
		name    string
		entry   registry.Entry
		session map[string]any // fields of the session file; nil: none
		hooks   string         // the word that hooks wrote
		codex   func(string) (Status, bool)
		want    Status
	}{
		{"no witness", claude, nil, "", nil, Status{Word: "unknown", Source: FromNobody}},
		{"hooks", claude, nil, "working", nil, Status{Word: "working", Source: FromHooks}},
		{"hooks of an unknown client", other, nil, "idle", nil, Status{Word: "idle", Source: FromHooks}},
		{"the client contradicts its hooks", claude, map[string]any{"status": "idle"}, "working", nil, Status{Word: "idle", Source: FromClient}},
		{"a new word is not idle", claude, map[string]any{"status": "dreaming"}, "idle", nil, Status{Word: "unknown", Source: FromClient}},
		{"a status of another type", claude, map[string]any{"status": 7}, "idle", nil, Status{Word: "idle", Source: FromHooks}},
		{"headless: no status", claude, map[string]any{"status": ""}, "working", nil, Status{Word: "working", Source: FromHooks}},
		{"a record of an earlier process", claude, map[string]any{"procStart": "98"}, "working", nil, Status{Word: "working", Source: FromHooks}},
		{"codex itself", codex, nil, "working", asked, Status{Word: "idle", Source: FromClient}},
		{"codex does not answer", codex, nil, "working", silent, Status{Word: "working", Source: FromHooks}},
	}
	for _, tt := range tests {
		home, r := t.TempDir(), registry.Open(t.TempDir(), time.Now)
		if tt.session != nil {
			fields := map[string]any{"pid": 4711, "procStart": "99"}
			for k, v := range tt.session {
				fields[k] = v
			}
			claudeSession(t, home, "claude-2.1.328-idle-fresh", fields)
		}
		if tt.hooks != "" {
			if err := r.SetStatus("s-x", tt.hooks, now.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		got := StatusOf(tt.entry, r, StatusFacts{ClaudeDir: filepath.Join(home, ".claude"), Now: now, Codex: tt.codex})
		if got.Word != tt.want.Word || got.Source != tt.want.Source {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
		if tt.want.Source == FromHooks && got.Age.Round(time.Second) != time.Minute {
			t.Errorf("%s: got age %v", tt.name, got.Age)
		}
	}
}

func FuzzClaudeSession(f *testing.F) {
	files, err := filepath.Glob("testdata/sessions/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"pid":1e300,"sessionId":["x"],"statusUpdatedAt":-1}`))
	f.Add([]byte(`{"pid":"7"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseClaudeSession(data)
		if err != nil {
			return
		}
		if s.PID <= 0 {
			t.Errorf("accepted pid %d", s.PID)
		}
		if s.check(procID(s)) == nil && !validID(s.SessionID) {
			t.Errorf("accepted session id %q", s.SessionID)
		}
		switch st := claudeStatus(s); st.Word {
		case registry.Idle, registry.Working, registry.Waiting, registry.Unknown:
		default:
			t.Errorf("got status %q", st.Word)
		}
	})
}

func procID(s ClaudeSession) proc.ID { return proc.ID{PID: s.PID, Start: s.ProcStart} }

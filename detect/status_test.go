package detect

import (
	"fmt"
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
		got := StatusOf(e, registry.Open(t.TempDir(), time.Now), statusFacts(home, time.Now()))
		if got.Word != tt.word || got.WaitingFor != tt.waitingFor || got.Source != FromClient || got.Since.IsZero() {
			t.Errorf("%s: got %+v", tt.sample, got)
		}
	}
}

// statusFacts looks into home, at the time now.
func statusFacts(home string, now time.Time) StatusFacts {
	env := func(key string) string {
		if key == "HOME" {
			return home
		}
		return ""
	}
	return StatusFacts{Env: env, Now: func() time.Time { return now }}
}

func TestStatusFallsBack(t *testing.T) {
	now := time.Now()
	claude := registry.Entry{Box: "s-x", Client: registry.Client{Kind: "claude", PID: 4711, Start: "99"}}
	other := registry.Entry{Box: "s-x", Client: registry.Client{Kind: "gemini", PID: 4711, Start: "99"}}
	tests := []struct {
		name    string
		entry   registry.Entry
		session map[string]any // fields of the session file; nil: none
		hooks   string         // the word that hooks wrote
		age     time.Duration  // of that word
		want    Status
	}{
		{"no witness", claude, nil, "", 0, Status{Word: "unknown", Source: FromNobody}},
		{"hooks", claude, nil, "working", time.Minute, Status{Word: "working", Source: FromHooks}},
		{"hooks of an unknown client", other, nil, "idle", time.Hour, Status{Word: "idle", Source: FromHooks}},
		{"nothing for half an hour", other, nil, "working", staleAfter, Status{Word: "unknown", Source: FromAge}},
		{"a dialog stands open", other, nil, "waiting", 100 * time.Hour, Status{Word: "waiting", Source: FromHooks}},
		{"the client contradicts its hooks", claude, map[string]any{"status": "idle"}, "working", time.Minute, Status{Word: "idle", Source: FromClient}},
		{"a new word is not idle", claude, map[string]any{"status": "dreaming"}, "idle", time.Minute, Status{Word: "unknown", Source: FromClient}},
		{"a status of another type", claude, map[string]any{"status": 7}, "idle", time.Minute, Status{Word: "idle", Source: FromHooks}},
		{"headless: no status", claude, map[string]any{"status": ""}, "working", time.Minute, Status{Word: "working", Source: FromHooks}},
		{"a record of an earlier process", claude, map[string]any{"procStart": "98"}, "working", time.Minute, Status{Word: "working", Source: FromHooks}},
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
		setStatus(t, r, tt.hooks, now.Add(-tt.age))
		got := StatusOf(tt.entry, r, statusFacts(home, now))
		if got.Word != tt.want.Word || got.Source != tt.want.Source {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
		if tt.hooks != "" && tt.want.Source != FromClient && !got.Since.Equal(now.Add(-tt.age)) {
			t.Errorf("%s: got since %v", tt.name, got.Since)
		}
	}
}

func setStatus(t *testing.T, r *registry.Registry, word string, at time.Time) {
	t.Helper()
	if word == "" {
		return
	}
	if err := r.SetStatus("s-x", word, at); err != nil {
		t.Fatal(err)
	}
}

// TestStatusOfCodexTurns: a word of hooks that is no longer new is compared with
// what Codex itself has written about the thread's last turn.
func TestStatusOfCodexTurns(t *testing.T) {
	const began, complete, failed, aborted = `{"type":"task_started"}`, `{"type":"task_complete","last_agent_message":"done"}`,
		`{"type":"task_complete","last_agent_message":null,"error":{"message":"no"}}`, `{"type":"turn_aborted","reason":"interrupted"}`
	now := time.Now().Truncate(time.Millisecond)
	turnAt := now.Add(-time.Minute)
	tests := []struct {
		name    string
		last    string // event of the rollout; "": no rollout
		hooks   string
		age     time.Duration
		started time.Duration // how long ago the session's server started
		want    Status
	}{
		{"Esc without a hook", aborted, "working", 2 * time.Minute, time.Hour, Status{registry.Idle, FromClient, "", turnAt}},
		{"the model failed", failed, "working", 2 * time.Minute, time.Hour, Status{registry.Idle, FromClient, "", turnAt}},
		{"Esc in a dialog", aborted, "waiting", 2 * time.Minute, time.Hour, Status{registry.Idle, FromClient, "", turnAt}},
		{"a hook that came after the end", aborted, "working", 50 * time.Second, time.Hour, Status{registry.Idle, FromClient, "", now.Add(-50 * time.Second)}},
		{"a new word is believed", complete, "working", time.Second, time.Hour, Status{registry.Working, FromHooks, "", now.Add(-time.Second)}},
		{"idle is believed", began, "idle", 2 * time.Minute, time.Hour, Status{registry.Idle, FromHooks, "", now.Add(-2 * time.Minute)}},
		{"a long turn", began, "working", 20 * time.Second, time.Hour, Status{registry.Working, FromHooks, "", now.Add(-20 * time.Second)}},
		{"a very long turn", began, "working", staleAfter, time.Hour, Status{registry.Working, FromHooks, "", now.Add(-staleAfter)}},
		{"a dialog stands open", began, "waiting", 20 * time.Second, time.Hour, Status{registry.Waiting, FromHooks, "", now.Add(-20 * time.Second)}},
		{"no hooks, a turn", began, "", 0, time.Hour, Status{registry.Working, FromClient, "", turnAt}},
		{"no hooks, no turn", complete, "", 0, time.Hour, Status{registry.Idle, FromClient, "", turnAt}},
		{"killed in its turn, and resumed", began, "working", 50 * time.Second, time.Second, Status{registry.Unknown, FromAge, "", now.Add(-50 * time.Second)}},
		{"killed in a dialog, and resumed", began, "waiting", 50 * time.Second, time.Second, Status{registry.Unknown, FromAge, "", now.Add(-50 * time.Second)}},
		{"started with a prompt", began, "working", 50 * time.Second, 55 * time.Second, Status{registry.Working, FromHooks, "", now.Add(-50 * time.Second)}},
		{"before the first turn", "", "", 0, time.Hour, Status{registry.Unknown, FromNobody, "", time.Time{}}},
	}
	for _, tt := range tests {
		home, r := t.TempDir(), registry.Open(t.TempDir(), time.Now)
		if tt.last != "" {
			rollout(t, filepath.Join(home, ".codex"), thread1, turnAt, tt.last)
		}
		setStatus(t, r, tt.hooks, now.Add(-tt.age))
		e := registry.Entry{
			Box: "s-x", SessionID: thread1, StartedAt: now.Add(-tt.started),
			Client: registry.Client{Kind: registry.Codex, PID: 4711, Start: "99"},
		}
		got := StatusOf(e, r, statusFacts(home, now))
		if got.Word != tt.want.Word || got.Source != tt.want.Source || !got.Since.Equal(tt.want.Since) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// rollout writes a thread's rollout whose last event is the given one.
func rollout(t *testing.T, codexHome, thread string, at time.Time, event string) {
	t.Helper()
	dir := filepath.Join(codexHome, "sessions", "2026", "11", "30")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf(`{"timestamp":"2026-11-30T10:00:00Z","type":"session_meta","payload":{"id":%q}}
{"timestamp":"2026-11-30T10:00:00Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":%q,"type":"event_msg","payload":%s}
{"timestamp":%[2]q,"type":"event_msg","payload":{"type":"token_count"}}
`, thread, at.UTC().Format("2006-01-02T15:04:05.000Z"), event)
	if err := os.WriteFile(filepath.Join(dir, "rollout-2026-11-30T10-00-00-"+thread+".jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
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

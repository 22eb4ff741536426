package detect

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/internal/proc"
	"peermux/internal/transcript"
	"peermux/registry"
)

func TestClaudeToolUse(t *testing.T) {
	home := t.TempDir()
	r := tree(t, "claude-2.1.328", home)
	r.change(claudeServer, func(p *recordedProcess) { delete(p.Environ, "CLAUDE_CODE_SESSION_ID") })
	f := r.facts(t, claudeServer)
	file := func(id string) string { return transcript.ClaudePath(filepath.Join(home, "cl", ".claude"), f.CWD, id) }
	line := `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_01","name":"mcp__x"}]}}` + "\n"
	quoted := `{"type":"user","message":{"content":"he wrote \"id\":\"toolu_01\""}}` + "\n"
	write(t, file(sid), strings.Repeat(quoted, 3)+line)
	write(t, file(otherSID), quoted)
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_01","progressToken":2}`)
	if d := Identify(f); d.SessionID != sid || d.Source != Meta || d.Transcript != file(sid) {
		t.Errorf("got %+v", d)
	}
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_02"}`)
	if d := Identify(f); d.SessionID != "" {
		t.Errorf("a tool use that stands nowhere: got %+v", d)
	}
	write(t, file(otherSID), line)
	f.Meta = json.RawMessage(`{"claudecode/toolUseId":"toolu_01"}`)
	if o := Identify(f).outcome(Meta); o.Outcome != Abstained || len(o.Candidates) != 2 {
		t.Errorf("in two transcripts: got %+v", o)
	}
}

func TestClaudeFingerprint(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name    string
		files   []string
		started time.Duration // of the client, before the files were born
		rivals  []registry.Entry
		want    string
		reason  string
	}{
		{"one", []string{sid}, time.Minute, nil, sid, "one transcript"},
		{"none", nil, time.Minute, nil, "", "no transcript"},
		{"older than the client", []string{sid}, -time.Minute, nil, "", "no transcript"},
		{"two", []string{sid, otherSID}, time.Minute, nil, "", "several"},
		{"two, one of them taken", []string{sid, otherSID}, time.Minute,
			[]registry.Entry{{SessionID: otherSID, CWD: "/elsewhere"}}, sid, "one transcript"},
		{"one that is taken", []string{sid}, time.Minute, []registry.Entry{{SessionID: sid}}, "", "no transcript"},
		{"another unidentified session here", []string{sid}, time.Minute,
			[]registry.Entry{{Name: "rival"}}, "", "rival"},
		{"another unidentified session elsewhere", []string{sid}, time.Minute,
			[]registry.Entry{{CWD: "/elsewhere"}}, sid, "one transcript"},
	}
	for _, tt := range tests {
		home := t.TempDir()
		r := tree(t, "claude-2.1.328", home)
		r.change(claudePID, func(p *recordedProcess) { p.Start = startOf(t, now.Add(-tt.started)) })
		r.change(claudeServer, func(p *recordedProcess) {
			p.Start = startOf(t, now.Add(-max(tt.started, grace)))
			delete(p.Environ, "CLAUDE_CODE_SESSION_ID")
		})
		f := r.facts(t, claudeServer)
		f.Ancestors = []proc.Info{r[claudePID].info()} // also where it is younger, as above
		for _, id := range tt.files {
			write(t, transcript.ClaudePath(filepath.Join(home, "cl", ".claude"), f.CWD, id), "{}")
		}
		for i, e := range tt.rivals {
			e = live(t, e, i)
			if e.CWD == "" {
				e.CWD = f.CWD
			}
			if err := f.Registry.Put(e); err != nil {
				t.Fatal(err)
			}
		}
		f.Now = now.Add(grace)
		o := Identify(f).outcome(Fingerprint)
		if o.SessionID != tt.want || !strings.Contains(o.Reason, tt.reason) {
			t.Errorf("%s: got %+v", tt.name, o)
		}
	}
}

// live makes an entry of a Claude session that lives as long as the test.
func live(t *testing.T, e registry.Entry, n int) registry.Entry {
	t.Helper()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := proc.Stat(self.PPID)
	if err != nil {
		t.Fatal(err)
	}
	who := []proc.ID{self.ID, parent.ID}[n]
	e.PID, e.Start, e.Box = who.PID, who.Start, "s-x"
	e.Client = registry.Client{Kind: "claude", PID: who.PID, Start: who.Start}
	return e
}

package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLastTurn cuts a recorded rollout after each of its lines: a turn is under
// way from the line that begins it to the one that ends it.
func TestLastTurn(t *testing.T) {
	files, err := filepath.Glob("testdata/codex-0.171.0/sessions/*/*/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	ends := 0
	for _, sample := range files {
		file := filepath.Join(realTempDir(t), "rollout.jsonl")
		var so strings.Builder
		known, running := false, false
		for line := range strings.Lines(string(readFile(t, sample))) {
			so.WriteString(line)
			switch {
			case strings.Contains(line, `"type":"event_msg","payload":{"type":"task_started"`):
				known, running = true, true
			case strings.Contains(line, `"payload":{"type":"task_complete"`), strings.Contains(line, `"payload":{"type":"turn_aborted"`):
				running = false
				ends++
			}
			writeFile(t, file, so.String()+`{"timestamp":"2026-11-30T11:00:00Z","type":"event_msg","payload":{"type":"task_sta`)
			got, ok, err := LastTurn(t.Context(), file)
			if err != nil || ok != known || got.Running != running || got.At.IsZero() == ok {
				t.Fatalf("%s: after %.120s: got %+v %v %v, want running %v", filepath.Base(sample), line, got, ok, err, running)
			}
		}
	}
	if ends < 5 {
		t.Errorf("only %d turns end in the samples", ends)
	}
}

func TestLastTurnElsewhere(t *testing.T) {
	dir := realTempDir(t)
	const began = `{"timestamp":"2026-11-30T11:00:00Z","type":"event_msg","payload":{"type":"task_started"}}` + "\n"
	output := `{"timestamp":"2026-11-30T11:00:01Z","type":"response_item","payload":{"type":"function_call_output","output":"` + strings.Repeat("x", 100<<10) + `"}}` + "\n"
	tests := []struct {
		name, text string
		want       TurnMark
		ok         bool
	}{
		{"empty", "", TurnMark{}, false},
		{"no turn yet", `{"timestamp":"2026-11-30T11:00:00Z","type":"session_meta","payload":{}}` + "\n", TurnMark{}, false},
		{"much output since", began + strings.Repeat(output, 30), TurnMark{true, time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}, true},
		{"too much output since", began + strings.Repeat(output, 50), TurnMark{}, false},
		{"the words in a tool's output", began + `{"type":"response_item","payload":{"output":"\"type\":\"event_msg\",\"payload\":{\"type\":\"task_complete\"}"}}` + "\n",
			TurnMark{true, time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}, true},
		{"no time", `{"type":"event_msg","payload":{"type":"task_complete"}}` + "\n", TurnMark{}, false},
		{"noise", "\x00\x00\nnull\n[]\n{\n\n", TurnMark{}, false},
	}
	for _, tt := range tests {
		file := filepath.Join(dir, "rollout.jsonl")
		writeFile(t, file, tt.text)
		got, ok, err := LastTurn(t.Context(), file)
		if err != nil || ok != tt.ok || got.Running != tt.want.Running || !got.At.Equal(tt.want.At) {
			t.Errorf("%s: got %+v %v %v", tt.name, got, ok, err)
		}
	}
	if _, ok, err := LastTurn(t.Context(), filepath.Join(dir, "none")); ok || !os.IsNotExist(err) {
		t.Errorf("a missing file: got %v %v", ok, err)
	}
}

func FuzzLastTurn(f *testing.F) {
	f.Add([]byte(`{"timestamp":"2026-11-30T11:00:00Z","type":"event_msg","payload":{"type":"task_started"}}`), true)
	f.Add([]byte(`{"timestamp":"2026-11-30T11:00:00Z","ordinal":7,"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}`), true)
	f.Add([]byte("{\"type\":\"event_msg\",\"payload\":\"\n"), false)
	f.Fuzz(func(t *testing.T, line []byte, more bool) {
		file := filepath.Join(t.TempDir(), "rollout.jsonl")
		if more {
			line = append(line, '\n')
		}
		writeFile(t, file, string(line))
		mark, ok, err := LastTurn(t.Context(), file)
		if err != nil || ok == mark.At.IsZero() || !ok && mark.Running {
			t.Fatalf("got %+v %v %v", mark, ok, err)
		}
	})
}

func BenchmarkLastTurn(b *testing.B) {
	file := filepath.Join(realTempDir(b), "rollout.jsonl")
	output := `{"timestamp":"2026-11-30T11:00:01Z","type":"response_item","payload":{"type":"function_call_output","output":"` + strings.Repeat("x", 10<<10) + `"}}` + "\n"
	writeFile(b, file, `{"timestamp":"2026-11-30T11:00:00Z","type":"event_msg","payload":{"type":"task_started"}}`+"\n"+strings.Repeat(output, 100))
	for b.Loop() {
		if _, ok, err := LastTurn(b.Context(), file); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

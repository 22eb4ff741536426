package origin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	tests := []struct {
		name, content string
		want          Origin
	}{
		{"claude, plain", `{"type":"user","sessionId":"a"}` + "\n" + `{"type":"assistant"}`, Origin{}},
		{"claude, branched", `{"type":"mode"}` + "\n" + `{"type":"user","sessionId":"b","forkedFrom":{"sessionId":"a","messageUuid":"m"}}`, Origin{ForkedFrom: "a"}},
		{"claude, the words in a text", `{"type":"user","message":{"content":"\"forkedFrom\""},"note":"forkedFrom"}`, Origin{}},
		{"claude, null", `{"type":"user","forkedFrom":null}`, Origin{}},
		{"codex, plain", `{"type":"session_meta","payload":{"id":"a","thread_source":"user"}}`, Origin{}},
		{"codex, fork", `{"type":"session_meta","payload":{"id":"b","forked_from_id":"a","thread_source":"user"}}`, Origin{ForkedFrom: "a"}},
		{"codex, subagent", `{"type":"session_meta","payload":{"id":"b","thread_source":"subagent","base_instructions":"` + long[:100<<10] + `"}}`, Origin{Subagent: true}},
		{"a line beyond the limit", `{"type":"session_meta","payload":{"x":"` + long + `","forked_from_id":"a"}}`, Origin{}},
		{"torn", `{"type":"session_meta","payload":{"forked_from_id":"a"`, Origin{}},
		{"empty", "", Origin{}},
	}
	for _, tt := range tests {
		file := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(file)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"session_meta","payload":{"forked_from_id":"a"}}`))
	f.Add([]byte(`{"forkedFrom":{"sessionId":"a"}}`))
	f.Add([]byte(`{"type":"session_meta","payload":7,"forkedFrom":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		o, found := parse(line)
		if !found && o != (Origin{}) {
			t.Errorf("got %+v from a line that says nothing", o)
		}
	})
}

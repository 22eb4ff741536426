package hookrun

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestPayload(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want payload
	}{
		{"compact", `{"session_id":"s1","cwd":"/w","stop_hook_active":true}`,
			payload{SessionID: "s1", CWD: "/w", StopActive: true}},
		{"spaced and reordered", "\n { \"cwd\" : \"/w\" ,\t\"stop_hook_active\" : false , \"session_id\" :\r\n \"s1\" } ",
			payload{SessionID: "s1", CWD: "/w"}},
		{"unknown keys of every kind", `{"a":null,"b":[1,{"session_id":"no"}],"c":{"agent_id":"no","x":"}"},"d":-1.5e3,"session_id":"s1","e":true}`,
			payload{SessionID: "s1"}},
		{"agent id at the top", `{"session_id":"s1","agent_id":"a1","agent_type":"x"}`,
			payload{SessionID: "s1", AgentID: "a1"}},
		{"agent id in a tool's arguments", `{"session_id":"s1","tool_input":{"agent_id":"a1","q":"\"agent_id\":\"a2\""}}`,
			payload{SessionID: "s1"}},
		{"escapes", `{"session_id":"a\u0062\/\"\\\n\ud83d\ude00","cwd":"/ü"}`,
			payload{SessionID: "ab/\"\\\n😀", CWD: "/ü"}},
		{"escaped key", `{"session\u005fid":"s1"}`, payload{SessionID: "s1"}},
		{"last of two keys wins", `{"session_id":"s1","session_id":"s2"}`, payload{SessionID: "s2"}},
		{"wrong types", `{"session_id":17,"agent_id":null,"stop_hook_active":"true"}`, payload{}},
		{"text after the value is not read", `{"session_id":"s1"}{"session_id":"s2"} trailing`, payload{SessionID: "s1"}},
		{"empty object", `{}`, payload{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), &oneByte{strings.NewReader(tt.in)}} {
				got, err := parsePayload(r)
				if err != nil || got != tt.want {
					t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
				}
			}
		})
	}
}

// oneByte gives one byte a read, so every state of the scanner meets the end
// of its buffer.
type oneByte struct{ r io.Reader }

func (o *oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func TestPayloadRefuses(t *testing.T) {
	for _, in := range []string{"", " ", "null", "[]", `"x"`, "{", `{"session_id"`, `{"session_id":`, `{"session_id":"s1`, `{"session_id":"s1"`,
		`{"session_id":"s1",`, `{"a":{"b":1}`, `{"a":[1,2}`, `{session_id:"s1"}`, `{"a"="b"}`, "\x00\x01", "not json at all"} {
		if got, err := parsePayload(strings.NewReader(in)); err == nil {
			t.Errorf("%q: got %+v, want an error", in, got)
		}
	}
}

func TestPayloadKeepsPartOfALongPrompt(t *testing.T) {
	in := `{"prompt":"` + strings.Repeat(`é\n`, 1<<20) + `","session_id":"s1"}`
	got, err := parsePayload(strings.NewReader(in))
	if err != nil || got.SessionID != "s1" {
		t.Fatalf("got %q, %v", got.SessionID, err)
	}
	if len(got.Prompt) > promptLimit || !strings.HasPrefix(got.Prompt, "é\né\n") {
		t.Errorf("kept %d bytes of the prompt, beginning %q", len(got.Prompt), got.Prompt[:10])
	}
}

func TestHugeToolInputIsNotStored(t *testing.T) {
	huge := bytes.Repeat([]byte(`{\"agent_id\":\"x\"} \\ line\n`), 10<<20/28)
	in := []byte(`{"tool_input":{"content":"` + string(huge) + `"},"session_id":"s1"}`)
	got, err := parsePayload(bytes.NewReader(in))
	if err != nil || got.SessionID != "s1" || got.AgentID != "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parsePayload(bytes.NewReader(in)); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := allocated.AllocedBytesPerOp(); n > 256<<10 {
		t.Errorf("%d bytes allocated for a payload of %d", n, len(in))
	}
}

func TestStdinThatNeverCloses(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte(`{"session_id":"s1"}`)) // and nothing more, no end
	if got, err := parsePayload(r); err != nil || got.SessionID != "s1" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// FuzzPayload compares with encoding/json on whatever it accepts.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{`{"session_id":"s1","tool_input":{"a":[1,"}"]}}`, `{"session_id":"\ud83d\ude00"}`, `{"prompt":"\\\""}`, `{"a":1e5}`, `{`, `{"cwd":"` + "\xff" + `"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := parsePayload(bytes.NewReader(in))
		var want map[string]json.RawMessage
		if json.Unmarshal(in, &want) != nil {
			return // it only has to come back
		}
		if err != nil {
			if want != nil { // null
				t.Fatalf("refused a valid object: %v", err)
			}
			return
		}
		var id string
		if raw, ok := want["session_id"]; ok && raw[0] == '"' && len(raw) < valueLimit {
			if err := json.Unmarshal(raw, &id); err != nil {
				t.Fatal(err)
			}
			if duplicate := bytes.Count(in, []byte("session")) > 1 || bytes.Count(in, []byte(`\u`)) > 0; !duplicate && got.SessionID != id {
				t.Fatalf("got %q, want %q", got.SessionID, id)
			}
		}
	})
}

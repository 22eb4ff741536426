package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"peermux/internal/switchboard"
)

// Any line: no panic, and whoever sends an id can be answered under it.
func FuzzParseHeader(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":7}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"id":null,"method":"x"}`, `{"id":1,"result":{}}`, `{"id":1,"method":7}`,
		`{"method":"notifications/cancelled","params":{"requestId":"1"}}`, `{"params":[1]}`, `{"params":{"requestId":{}}}`,
		`[]`, `1`, `"x"`, `{`, ``, `{"id":1e999}`, "{\"id\":1,\"method\":\"\xff\"}", `{"ID":1,"Method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		h, err := parseHeader(line)
		var object map[string]json.RawMessage
		isObject := json.Unmarshal(line, &object) == nil && object != nil
		if isObject && err != nil {
			t.Fatalf("%q: an object was refused: %v", line, err)
		}
		if !isObject && err == nil && !bytes.Equal(bytes.TrimSpace(line), []byte("null")) {
			t.Fatalf("%q: taken for a message", line)
		}
		if h.key() != "" && !json.Valid(h.ID) {
			t.Fatalf("%q: id %q", line, h.ID)
		}
	})
}

// Any arguments to any tool: taken, or refused as a bad request, never a panic.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, ``, `[]`, `{"target":"x","body":"y"}`, `{"target":1}`, `{"timeout_ms":1e308}`, `{"limit":null}`,
		`{"targets":["a",1]}`, `{"task":"yes"}`, `{"body":"\ud800"}`, `{"body":"a"`, `{"x":{"y":[]}}`, `{"limit":-0.5}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, tool := range tools() {
			args := reflect.New(reflect.TypeOf(tool.in))
			err := decode(tool.name, raw, args.Interface())
			if err == nil {
				continue
			}
			if e, ok := errors.AsType[*switchboard.Error](err); !ok || e.Code != switchboard.CodeBadRequest || e.Message == "" {
				t.Fatalf("%s: %v", tool.name, err)
			}
		}
	})
}

func TestNumbers(t *testing.T) {
	n := number{name: "limit", min: 1, max: 100, unset: 20}
	v := func(f float64) *float64 { return &f }
	tests := []struct {
		in    *float64
		want  int
		noted bool
		fails bool
	}{
		{nil, 20, false, false}, {v(1), 1, false, false}, {v(100), 100, false, false}, {v(101), 100, true, false}, {v(1e308), 100, true, false},
		{v(0), 0, false, true}, {v(-1), 0, false, true}, {v(-1e308), 0, false, true}, {v(1.5), 0, false, true},
	}
	for _, tt := range tests {
		got, note, err := n.read(tt.in)
		if got != tt.want || (note != "") != tt.noted || (err != nil) != tt.fails {
			t.Errorf("%v: got %d, %q, %v", tt.in, got, note, err)
		}
	}
}

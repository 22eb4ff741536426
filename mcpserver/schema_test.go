package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"peermux/internal/switchboard"
)

var update = flag.Bool("update", false, "write the schemas and the expected lines of the wire tests anew")

// The schemas that are compiled in are those of the structs.
func TestSchemas(t *testing.T) {
	known := map[string]bool{}
	for _, tool := range tools() {
		for kind, want := range map[string]*jsonschema.Schema{
			"input": inputSchema(t, tool.in), "output": outputSchema(t, tool.out),
		} {
			name := filepath.Join("schema", tool.name+"."+kind+".json")
			known[filepath.Base(name)] = true
			compareFile(t, name, pretty(t, want))
		}
	}
	files, err := os.ReadDir("schema")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("schema/%s belongs to no tool", f.Name())
		}
	}
}

func compareFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what the code gives; run go test ./mcpserver -update and look at the diff", name)
	}
}

func schemaOf(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inputSchema adds what the tags of jsonschema-go cannot say: the words of an
// enum, and that numbers are whole. Null is accepted for what is optional, but
// not advertised.
func inputSchema(t *testing.T, v any) *jsonschema.Schema {
	s := schemaOf(t, v)
	typ := reflect.TypeOf(v)
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := s.Properties[name]
		notNull(p)
		if p.Type == "number" {
			p.Type = "integer"
			least := 0.0
			if field.Tag.Get("min") == "1" {
				least = 1
			}
			p.Minimum = &least
		}
		if words := field.Tag.Get("enum"); words != "" {
			for word := range strings.SplitSeq(words, ",") {
				p.Enum = append(p.Enum, word)
			}
		}
	}
	return s
}

// outputSchema makes room for a refusal: then only ok, error and message are
// there, with what belongs to the error.
func outputSchema(t *testing.T, v any) *jsonschema.Schema {
	s := schemaOf(t, v)
	loosen(s)
	s.Required = []string{"ok"}
	var codes []any
	for _, c := range switchboard.Codes() {
		codes = append(codes, c)
	}
	s.Properties["error"] = &jsonschema.Schema{Type: "string", Description: "code of a refusal; only when ok is false", Enum: codes}
	s.Properties["message"] = &jsonschema.Schema{Type: "string", Description: "what happened and what to do next; only when ok is false"}
	s.PropertyOrder = append(s.PropertyOrder, "error", "message")
	return s
}

// loosen allows keys that a later version adds, at every level.
func loosen(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	notNull(s)
	for _, p := range s.Properties {
		loosen(p)
	}
	if s.Items != nil {
		loosen(s.Items)
	}
}

func notNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

func pretty(t *testing.T, s *jsonschema.Schema) []byte {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// Every tool is described, annotated, and reads nothing it does not say.
func TestToolTable(t *testing.T) {
	want := map[string]hints{ // DESIGN.md §5: a read-only hint on each that changes nothing
		"list_project_sessions": reads(), "read_session": reads(), "get_my_session": reads(),
		"claim_session": sets(), "register_my_session": sets(), "set_my_state": sets(),
		"send_message": adds(), "reply_to_message": adds(), "ask_peer": adds(), "read_my_messages": adds(),
		"message_status": reads(), "my_open_work": reads(), "complete_work": adds(), "block_work": adds(),
		"broadcast": adds(), "set_group": sets(), "retract_message": removes(),
	}
	if got := len(tools()); got != len(want) {
		t.Errorf("got %d tools, want %d", got, len(want))
	}
	for _, tool := range tools() {
		if h, ok := want[tool.name]; !ok || h != tool.hints {
			t.Errorf("%s: got hints %+v, want %+v", tool.name, tool.hints, h)
		}
		if tool.title == "" || len(tool.description) < 20 || len(tool.description) > 900 {
			t.Errorf("%s: title %q, description of %d characters", tool.name, tool.title, len(tool.description))
		}
		for _, banned := range []string{"poll until", "sleep and", "must poll"} {
			if strings.Contains(tool.description, banned) {
				t.Errorf("%s: the description says %q", tool.name, banned)
			}
		}
	}
}

func TestInstructions(t *testing.T) {
	if n := len([]rune(instructions)); n >= 1200 {
		t.Errorf("the instructions have %d characters, want fewer than 1,200", n)
	}
	for _, tool := range tools() {
		switch tool.name {
		case "list_project_sessions", "read_session", "ask_peer", "send_message", "read_my_messages",
			"reply_to_message", "complete_work", "block_work", "my_open_work", "broadcast":
			if !strings.Contains(instructions, tool.name) {
				t.Errorf("the instructions do not name %s", tool.name)
			}
		}
	}
}

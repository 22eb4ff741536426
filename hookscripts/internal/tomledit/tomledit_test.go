package tomledit

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func configs() map[string]string {
	return map[string]string{
		"empty":         "",
		"only comment":  "# mine\n",
		"plain":         "model = \"x\" # why\n\n[a.b]\nk = 1\n",
		"no newline":    "model = \"x\"",
		"CRLF":          "# c\r\nmodel = \"x\"\r\n\r\n[a]\r\nk = 1\r\n",
		"BOM":           "\xef\xbb\xbfmodel = \"x\"\n",
		"comment below": "[a]\nk = 1\n\n# tail\n\n",
		"multiline":     "s = \"\"\"\n[not.a.table]\n\"\"\"\na = [\n  1, # one\n]\n",
		"arrays":        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n",
		"inline":        "[mcp_servers]\nx = { command = \"y\" }\n",
		"dates":         "d = 1979-05-27T07:32:00Z\nbig = 9223372036854775807\nf = 1e3\n",
		"quoted keys":   "[projects.\"/a b/[c]\"]\ntrust_level = \"trusted\"\n",
		"state":         "[hooks.state]\n\n[hooks.state.\"/h.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
	}
}

func TestAppendThenDeleteGivesTheFirstBytes(t *testing.T) {
	for name, text := range configs() {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			check(t, d.AppendTable([]string{"mcp_servers", "peermux"}, "", []Line{{"command", Quote(`/a "b"/c`)}, {"args", `["mcp"]`}}))
			check(t, d.AppendTable([]string{"hooks", "state", "/h 1.json:stop:1:0"}, "peermux setup", []Line{{"trusted_hash", Quote("sha256:2")}}))
			if v, _ := d.Value("mcp_servers", "peermux", "command"); v != `/a "b"/c` {
				t.Fatalf("command is %v in\n%s", v, d.Bytes())
			}
			if h, ok := d.Table("hooks", "state", "/h 1.json:stop:1:0"); !ok || h != `[hooks.state."/h 1.json:stop:1:0"] # peermux setup` {
				t.Fatalf("header %q", h)
			}
			check(t, d.Delete("mcp_servers", "peermux"))
			check(t, d.Delete("hooks", "state", "/h 1.json:stop:1:0"))
			want := text
			if name == "no newline" {
				want += "\n" // what the caller's copy of the first bytes is for
			}
			if got := string(d.Bytes()); got != want {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}

func TestAppendTable(t *testing.T) {
	d := parse(t, "a = 1\r\n")
	check(t, d.AppendTable([]string{"x", "y z"}, "note", []Line{{"k", "true"}}))
	if got, want := string(d.Bytes()), "a = 1\r\n\r\n[x.\"y z\"] # note\r\nk = true\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppendRefusesWhatWouldBreak(t *testing.T) {
	text := "mcp_servers = { x = { command = \"y\" } }\n"
	d := parse(t, text)
	err := d.AppendTable([]string{"mcp_servers", "peermux"}, "", []Line{{"command", Quote("z")}})
	if err == nil || string(d.Bytes()) != text {
		t.Errorf("got %v and %q", err, d.Bytes())
	}
}

func TestDelete(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"with tables below", "[m.p]\nc = 1\n\n[m.p.tools.x]\na = 2\n\n[z]\n", "[z]\n"},
		{"in the middle", "[a]\n\n[m.p]\nc = [\n 1,\n] # n\n# next\n[z]\n", "[a]\n# next\n[z]\n"},
		{"no blank line before", "[a]\n[m.p]\nc = 1\n[z]\n", "[a]\n[z]\n"},
		{"at the end without newline", "[a]\n\n[m.p]\nc = 1", "[a]\n"},
		{"CRLF", "[a]\r\n\r\n[m.p]\r\nc = 1\r\n\r\n[z]\r\n", "[a]\r\n\r\n[z]\r\n"},
		{"a similar name", "[m.pp]\nc = 1\n", "[m.pp]\nc = 1\n"},
		{"lines of others in it", "[m.p]\nc = 1\n# theirs\n\n[z]\n", "# theirs\n\n[z]\n"},
		{"array of tables", "[[m.p]]\nc = 1\n\n[[m.p]]\nc = 2\n", ""},
		{"written inline", "[m]\np = { c = 1 }\n", "[m]\np = { c = 1 }\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, tt.text)
			check(t, d.Delete("m", "p"))
			if got := string(d.Bytes()); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"replace", "[m.p]\nc  =  \"old\" # why\nd = 1\n", "[m.p]\nc  =  \"new\" # why\nd = 1\n"},
		{"replace an array", "[m.p]\nc = [\n 1,\n]\n", "[m.p]\nc = \"new\"\n"},
		{"add", "[m.p]\nd = 1\n\n[z]\n", "[m.p]\nd = 1\nc = \"new\"\n\n[z]\n"},
		{"add to an empty table", "[m.p] # x\n[z]\n", "[m.p] # x\nc = \"new\"\n[z]\n"},
		{"add at the end without newline", "[m.p]\nd = 1", "[m.p]\nd = 1\nc = \"new\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, tt.text)
			check(t, d.Set([]string{"m", "p"}, "c", Quote("new")))
			if got := string(d.Bytes()); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
	if err := parse(t, "a = 1\n").Set([]string{"m", "p"}, "c", "1"); err == nil {
		t.Error("no error for a table that is not there")
	}
}

func TestRename(t *testing.T) {
	d := parse(t, "[hooks.state.\"f:stop:1:0\"] # c\nh = 1\n[hooks.state]\n\"f:stop:2:0\" = { h = 2 }\n[other.\"f:stop:1:0\"]\n")
	check(t, d.Rename([]string{"hooks", "state"}, map[string]string{"f:stop:1:0": "f:stop:0:0", "f:stop:2:0": "f:stop:1:0"}))
	want := "[hooks.state.\"f:stop:0:0\"] # c\nh = 1\n[hooks.state]\n\"f:stop:1:0\" = { h = 2 }\n[other.\"f:stop:1:0\"]\n"
	if got := string(d.Bytes()); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestUncomment(t *testing.T) {
	d := parse(t, "[a.\"#]\"] # why\r\nb = 1 # stays\r\n[c]")
	check(t, d.Uncomment("a", "#]"))
	check(t, d.Uncomment("c"))
	if got, want := string(d.Bytes()), "[a.\"#]\"]\r\nb = 1 # stays\r\n[c]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if d.Uncomment("zz") == nil {
		t.Error("no error for a table that is not there")
	}
}

func TestSyntaxErrorsHaveAPosition(t *testing.T) {
	tests := []struct {
		text         string
		line, column int
	}{
		{"a = 1\nmodel = \"x\nb = 2\n", 2, 9},
		{"a = 1\na = 2\n", 2, 1},
		{"[a]\n[a]\n", 2, 2},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.text))
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok || e.Line != tt.line || e.Column < tt.column {
			t.Errorf("%q: got %v, want line %d, column %d", tt.text, err, tt.line, tt.column)
		}
	}
}

func parse(t testing.TB, text string) *Doc {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzEdit: adding a table keeps every byte and every value, deleting it gives
// them back.
func FuzzEdit(f *testing.F) {
	for _, text := range configs() {
		f.Add(text)
	}
	f.Add("mcp_servers = {}\n")
	f.Add("mcp_servers.x.y = 1")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse([]byte(text))
		if err != nil {
			if e, ok := errors.AsType[*SyntaxError](err); !ok || e.Line < 1 {
				t.Fatalf("%q: no position in %v", text, err)
			}
			return
		}
		if _, ok := d.Value("mcp_servers", "peermux"); ok {
			return
		}
		before := d.values
		if d.AppendTable([]string{"mcp_servers", "peermux"}, "c", []Line{{"k", `"v"`}}) != nil {
			return // mcp_servers is no table, or an inline one
		}
		if !slices.Equal(d.Bytes()[:len(text)], []byte(text)) {
			t.Fatalf("%q became %q", text, d.Bytes())
		}
		if v, _ := d.Value("mcp_servers", "peermux", "k"); v != "v" {
			t.Fatalf("%q has %v", d.Bytes(), v)
		}
		check(t, d.Set([]string{"mcp_servers", "peermux"}, "k", `"w"`))
		check(t, d.Delete("mcp_servers", "peermux"))
		if got := string(d.Bytes()); got != text && got != text+d.eol() {
			t.Fatalf("%q came back as %q", text, got)
		}
		if !reflect.DeepEqual(d.values, before) && !hasNaN(before) {
			t.Fatalf("%q means something else now: %v, was %v", text, d.values, before)
		}
	})
}

// hasNaN: a NaN is not equal to itself.
func hasNaN(v any) bool {
	switch v := v.(type) {
	case float64:
		return v != v
	case map[string]any:
		for _, e := range v {
			if hasNaN(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNaN)
	}
	return false
}

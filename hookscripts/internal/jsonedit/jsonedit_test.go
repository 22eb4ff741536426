package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

const ours = `{"hooks":[{"type":"command","command":"/bin/x claude Stop","timeout":10}]}`

// settings are texts as people and programs leave them.
func settings() map[string]string {
	return map[string]string{
		"two blanks":              "{\n  \"model\": \"opus\",\n  \"n\": 12345678901234567890\n}\n",
		"tabs":                    "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t1\n\t]\n}\n",
		"four blanks, no newline": "{\n    \"a\": 1\n}",
		"CRLF":                    "{\r\n  \"a\": 1,\r\n  \"b\": {}\r\n}\r\n",
		"BOM":                     "\xef\xbb\xbf{\n  \"a\": 1\n}\n",
		"minified":                `{"a":1,"b":[1,2],"c":"x, y: z"}`,
		"one line":                `{"a": 1, "b": [1, 2]}`,
		"comments":                "// mine\n{\n  // first\n  \"a\": 1, // note\n  /* b */ \"b\": 2 // last\n  // \"c\": 3\n}\n// end\n",
		"trailing commas":         "{\n  \"a\": [1, 2,],\n  \"b\": 2,\n}\n",
		"trailing comma, comment": "{\n  \"a\": 1, // a\n}\n",
		"one-line trailing":       `{"a":1,}`,
		"comma on its own line":   "{\n  \"a\": 1\n  , \"b\": 2\n  }\n",
		"duplicate keys":          "{\n  \"a\": 1,\n  \"a\": 2\n}\n",
		"brace on the last line":  "{\n  \"a\": 1 }\n",
		"block comment at end":    "{\n  \"a\": 1 /* x\n y */\n}\n",
		"escapes":                 "{\n  \"<&>\": \"\\u00e9\\/\", \"e\": 1.50e+3\n}\n",
		"no indentation":          "{\n\"a\": 1\n}\n",
	}
}

func TestSetThenDeleteGivesTheFirstBytes(t *testing.T) {
	for name, text := range settings() {
		t.Run(name, func(t *testing.T) {
			d := parse(t, text)
			check(t, d.Set(nil, "hooks", `{"Stop":[`+ours+`]}`))
			if got, ok := d.At("hooks", "Stop", "0", "hooks", "0", "command"); !ok || got.Text() != "/bin/x claude Stop" {
				t.Fatalf("the value is not in the result:\n%s", d.Bytes())
			}
			wantKept(t, text, string(d.Bytes()))
			check(t, d.Delete("hooks"))
			if got := string(d.Bytes()); got != text {
				t.Errorf("got %q\nwant %q", got, text)
			}
		})
	}
}

func TestAppendThenDeleteGivesTheFirstBytes(t *testing.T) {
	arrays := []string{
		"[\n    {\"x\": 1}\n  ]", "[{\"x\": 1}]", "[\n    1, 2\n  ]", "[\n    1, // one\n    2 // two\n  ]", "[\n    1,\n  ]", "[ 1 ]",
	}
	for _, arr := range arrays {
		text := "{\n  \"hooks\": {\n    \"Stop\": " + arr + "\n  }\n}\n"
		d := parse(t, text)
		check(t, d.Append([]string{"hooks", "Stop"}, ours))
		after := string(d.Bytes())
		n, _ := d.At("hooks", "Stop")
		check(t, d.Delete("hooks", "Stop", n.Keys()[n.Len()-1]))
		if got := string(d.Bytes()); got != text {
			t.Errorf("%s: got %q\nwant %q\nvia %s", arr, got, text, after)
		}
	}
}

// wantKept fails when a byte of before is missing from after, in order.
func wantKept(t *testing.T, before, after string) {
	t.Helper()
	at := 0
	for i := 0; i < len(before); i++ {
		j := strings.IndexByte(after[at:], before[i])
		if j < 0 {
			t.Fatalf("byte %d (%q) of the first text is gone:\n%s", i, before[i], after)
		}
		at += j + 1
	}
}

func TestInsertedTextLooksLikeItsSurroundings(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "{\n  \"hooks\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n"},
		{"empty object", "{}", "{\n  \"hooks\": {\n    \"a\": [\n      1\n    ]\n  }\n}"},
		{"only a comment", "// hi", "// hi\n{\n  \"hooks\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n"},
		{"tabs", "{\n\t\"x\": 1\n}\n", "{\n\t\"x\": 1,\n\t\"hooks\": {\n\t\t\"a\": [\n\t\t\t1\n\t\t]\n\t}\n}\n"},
		{"CRLF", "{\r\n \"x\": 1\r\n}\r\n", "{\r\n \"x\": 1,\r\n \"hooks\": {\r\n  \"a\": [\r\n   1\r\n  ]\r\n }\r\n}\r\n"},
		{"minified", `{"x":1}`, `{"x":1,"hooks":{"a":[1]}}`},
		{"one line", `{"x": 1}`, `{"x": 1, "hooks": {"a": [1]}}`},
		{"note stays", "{\n  \"x\": 1 // note\n}", "{\n  \"x\": 1, // note\n  \"hooks\": {\n    \"a\": [\n      1\n    ]\n  }\n}"},
		{"trailing comma stays", "{\n  \"x\": 1,\n}", "{\n  \"x\": 1,\n  \"hooks\": {\n    \"a\": [\n      1\n    ]\n  },\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, tt.text)
			check(t, d.Set(nil, "hooks", `{"a":[1]}`))
			if got := string(d.Bytes()); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestDeleteKeepsWhatIsNotItsOwn(t *testing.T) {
	tests := []struct {
		name, text, want string
		path             []string
	}{
		{"first of two", "{\n  \"a\": 1,\n  \"b\": 2\n}", "{\n  \"b\": 2\n}", []string{"a"}},
		{"middle, one line", `{"a": 1, "b": 2, "c": 3}`, `{"a": 1, "c": 3}`, []string{"b"}},
		{"first, one line", `{"a": 1, "b": 2}`, `{"b": 2}`, []string{"a"}},
		{"last, one line", `{"a":1,"b":2}`, `{"a":1}`, []string{"b"}},
		{"own note stays", "{\n  \"a\": 1, // why\n  \"b\": 2\n}", "{ // why\n  \"b\": 2\n}", []string{"a"}},
		{"two on a line below a comment", "{\n  // c\n  \"a\": 1, \"b\": 2\n}", "{\n  // c\n   \"b\": 2\n}", []string{"a"}},
		{"brace behind it, comment above", "{\n  \"a\": 1, // c\n  \"b\": 2}", "{\n  \"a\": 1 // c\n  }", []string{"b"}},
		{"end of a line", "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", "{\n  \"a\": 1,\n  \"c\": 3\n}", []string{"b"}},
		{"comment before the comma", "{\n  \"a\": 1 /* k */,\n  \"b\": 2\n}", "{ /* k */\n  \"b\": 2\n}", []string{"a"}},
		{"only member", "{\n  \"a\": 1\n}", "{}", []string{"a"}},
		{"only member with comment", "{\n  // c\n  \"a\": 1,\n}", "{\n  // c\n  \n}", []string{"a"}},
		{"the last duplicate", `{"a": 1, "a": 2}`, `{"a": 1}`, []string{"a"}},
		{"element", `{"a": [1, 2, 3]}`, `{"a": [1, 3]}`, []string{"a", "1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parse(t, tt.text)
			check(t, d.Delete(tt.path...))
			if got := string(d.Bytes()); got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSetReplacesOnlyTheValue(t *testing.T) {
	d := parse(t, "{\n  \"a\": \"old\", // why\n  \"b\":   \"x\"\n}\n")
	check(t, d.Set(nil, "a", `"new"`))
	if got, want := string(d.Bytes()), "{\n  \"a\": \"new\", // why\n  \"b\":   \"x\"\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsChangeNothing(t *testing.T) {
	d := parse(t, `{"a": [1], "s": "x"}`)
	for name, err := range map[string]error{
		"set in a string":    d.Set([]string{"s"}, "k", "1"),
		"append to a string": d.Append([]string{"s"}, "1"),
		"append to nothing":  d.Append([]string{"zz"}, "1"),
		"set in an array":    d.Set([]string{"a"}, "k", "1"),
		"delete nothing":     d.Delete("zz"),
		"delete all":         d.Delete(),
		"bad value":          d.Set(nil, "k", "{"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := string(d.Bytes()); got != `{"a": [1], "s": "x"}` {
		t.Errorf("the text changed to %q", got)
	}
}

func TestSyntaxErrorsHaveAPosition(t *testing.T) {
	tests := []struct {
		text         string
		line, column int
	}{
		{"{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3},
		{"{\"a\": }", 1, 7},
		{"{", 1, 2},
		{"[1 2]", 1, 4},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.text))
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok || e.Line != tt.line || e.Column != tt.column {
			t.Errorf("%q: got %v, want line %d, column %d", tt.text, err, tt.line, tt.column)
		}
	}
}

func TestStrictNamesTheFirstExtension(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"a": 1}`, ""},
		{"", ""},
		{" \n", ""},
		{"\xef\xbb\xbf{}", ""},
		{"// c\n{}", "line 1, column 1: a comment"},
		{"// only", "line 1, column 1: a comment"},
		{"{\n  \"a\": 1, /* c */\n \"b\": 2}", "line 2, column 11: a comment"},
		{"{\n  \"a\": 1,\n}", "line 3, column 1: a trailing comma before }"},
		{"[1,]", "line 1, column 4: a trailing comma before ]"},
	}
	for _, tt := range tests {
		got := ""
		if e := parse(t, tt.text).Strict(); e != nil {
			got = e.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
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

// FuzzEdit: a change never loses a byte of the text, stays valid, means what
// was asked for and nothing else, and a deletion undoes it.
func FuzzEdit(f *testing.F) {
	for _, text := range settings() {
		f.Add(text)
	}
	f.Add("\"0\n\"0")
	f.Add("// \xff")
	f.Add("{\"hooks\":{}}")
	f.Add("{\"a\"//\n:1}")
	f.Add("{//\n}")
	f.Add("{\"a\":1,//\n}")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse([]byte(text))
		if err != nil {
			if e, ok := errors.AsType[*SyntaxError](err); !ok || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%q: no position in %v", text, err)
			}
			return
		}
		d.Strict()
		if k := d.Root().Kind(); k != '{' && k != 0 {
			return
		}
		if _, ok := d.At("peermux"); ok {
			return
		}
		n, before := d.Root().Len(), plain(t, d.Bytes())
		check(t, d.Set(nil, "peermux", `{"a":["b",{"c":1}]}`))
		wantKept(t, text, string(d.Bytes()))
		reparsed := parse(t, string(d.Bytes()))
		if reparsed.Root().Len() != n+1 {
			t.Fatalf("%q became %q", text, d.Bytes())
		}
		check(t, d.Delete("peermux"))
		if n > 0 && string(d.Bytes()) != text {
			t.Fatalf("%q came back as %q", text, d.Bytes())
		}
		if n > 0 && !bytes.Equal(plain(t, d.Bytes()), before) {
			t.Fatalf("%q means something else now: %q", text, d.Bytes())
		}
		for d.Root().Len() > 0 { // deleting everything, one by one, never breaks it
			keys := d.Root().Keys()
			check(t, d.Delete(keys[len(keys)/2]))
		}
	})
}

// plain is the text without comments and white space, keys in order.
func plain(t *testing.T, text []byte) []byte {
	t.Helper()
	d := parse(t, string(text))
	if d.none {
		return nil
	}
	v, err := hujson.Minimize(bytes.TrimPrefix(text, []byte(mark)))
	check(t, err)
	if !json.Valid(v) {
		t.Fatalf("hujson made invalid JSON of %q", text)
	}
	return v
}

package screen

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		in          string
		text, typed string
	}{
		{"plain", "plain", "plain"},
		{"\x1b[38;5;244m──\x1b[39m", "──", "──"},
		{"❯\u00a0\x1b[7m \x1b[0m", "❯\u00a0", "❯"},
		{"❯\u00a0\x1b[7mP\x1b[0;2mress up\x1b[0m", "❯\u00a0Press up", "❯"},
		{"❯\u00a0\x1b[2mghost\x1b[22m", "❯\u00a0ghost", "❯"},
		{"❯\u00a0\x1b[7mx\x1b[0m", "❯\u00a0x", "❯\u00a0x"}, // a cursor on a typed letter
		{"❯\u00a0a\x1b[7mb\x1b[27mc", "❯\u00a0abc", "❯\u00a0abc"},
		{"\x1b[38;2;2;7;2mrgb\x1b[48;5;7m on\x1b[m", "rgb on", "rgb on"},
		{"\x1b[1;2mboth\x1b[0m", "both", ""},
		{"a\x1b(Bb\x1bc", "aBb", "aBb"},
		{"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb", "alinkb"},
		{"a\x1b]8;;http://x\alink\x1b]8;;\ab", "alinkb", "alinkb"},
		{"\x0elqk\x0fx", "┌─┐x", "┌─┐x"},
		{"torn \x1b[3", "torn", "torn"},
		{"torn \x1b]8;;x\x1b", "torn", "torn"},
	}
	for _, tt := range tests {
		got := Parse(tt.in)
		if len(got) != 1 || got[0].Text() != tt.text || got[0].Typed() != tt.typed {
			t.Errorf("Parse(%q): got text %q, typed %q; want %q, %q", tt.in, got[0].Text(), got[0].Typed(), tt.text, tt.typed)
		}
	}
	// Attributes carry over a line end, as capture-pane prints them.
	got := Parse("\x1b[2mdim\nstill\n\x1b[0mnot\n")
	want := []Line{{{Text: "dim", Dim: true}}, {{Text: "still", Dim: true}}, {{Text: "not"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("❯\u00a0\x1b[7mP\x1b[0;2mress\x1b[0m\nx")
	f.Add("\x1b[")
	f.Add("\x1b[38;5")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range Parse(text) {
			if len(l.Typed()) > len(text) || len(l.Text()) > len(text) {
				t.Errorf("more text than there was in %q", text)
			}
		}
	})
}

package agentsim

import (
	"reflect"
	"strings"
	"testing"
)

func TestKeyDecoder(t *testing.T) {
	tests := []struct {
		name  string
		reads []string
		want  []key
	}{
		{"typed", []string{"hi\r"}, []key{{text: "h"}, {text: "i"}, {name: keyEnter}}},
		{"paste is one key and its newlines stay", []string{"\x1b[200~a\rb\nc\x1b[201~\r"}, []key{{text: "a\nb\nc"}, {name: keyEnter}}},
		{"paste over several reads", []string{"\x1b[20", "0~one ", "two\x1b[2", "01~\r"}, []key{{text: "one two"}, {name: keyEnter}}},
		{"rune over two reads", []string{"\xc3", "\xbc"}, []key{{text: "ü"}}},
		{"escape", []string{"\x1b"}, []key{{name: keyEscape}}},
		{"arrows are nothing to a stand-in", []string{"\x1b[A\x1b[1;5Cx"}, []key{{text: "x"}}},
		{"backspace and interrupt", []string{"\x7f\x03"}, []key{{name: keyBackspace}, {name: keyInterrupt}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d keyDecoder
			var got []key
			for _, r := range tt.reads {
				got = append(got, d.feed([]byte(r))...)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzKeyDecoder(f *testing.F) {
	f.Add("\x1b[200~a\x1b[201~\r")
	f.Add("\xff\x1b[\x1b]")
	f.Fuzz(func(t *testing.T, s string) {
		var d keyDecoder
		var text strings.Builder
		for _, k := range d.feed([]byte(s)) {
			text.WriteString(k.text)
		}
		if text.Len() > len(s)+3*strings.Count(s, "") {
			t.Errorf("%q decoded to more than it holds", s)
		}
	})
}

package shellquote_test

import (
	"testing"

	"peermux/internal/shellquote"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/home/dev/a": "/home/dev/a", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$(x)": "'/$(x)'", "": "''",
		`/a\';x`: `'/a'\\''\'';x'`,
	} {
		if got := shellquote.Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

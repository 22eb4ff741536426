package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func TestInput(t *testing.T) {
	key := func(code rune, mod tea.KeyMod) tea.Msg { return tea.KeyPressMsg{Code: code, Mod: mod} }
	ctrl := func(code rune) tea.Msg { return key(code, tea.ModCtrl) }
	typed := func(text string) tea.Msg { return tea.KeyPressMsg{Code: rune(text[0]), Text: text} }
	for _, tt := range []struct {
		name string
		keys []tea.Msg
		want string
		view string // in eight cells
	}{
		{"typing", []tea.Msg{typed("ä"), typed(" "), typed("b")}, "ä b", "ä b "},
		{"in the middle", []tea.Msg{typed("a"), typed("c"), key(tea.KeyLeft, 0), typed("b")}, "abc", "abc"},
		{"backspace and delete", []tea.Msg{typed("abc"), key(tea.KeyBackspace, 0), key(tea.KeyHome, 0), key(tea.KeyDelete, 0)}, "b", "b"},
		{"nothing to delete", []tea.Msg{key(tea.KeyBackspace, 0), key(tea.KeyDelete, 0), ctrl('w'), ctrl('u'), ctrl('k'), key(tea.KeyLeft, 0), key(tea.KeyRight, 0)}, "", " "},
		{"a word", []tea.Msg{typed("one two "), ctrl('w')}, "one ", "one  "},
		{"to the start", []tea.Msg{typed("one two"), key(tea.KeyLeft, 0), ctrl('u')}, "o", "o"},
		{"to the end", []tea.Msg{typed("one two"), ctrl('a'), key(tea.KeyRight, 0), ctrl('k')}, "o", "o "},
		{"a long line", []tea.Msg{typed("0123456789")}, "0123456789", "3456789 "},
		{"its start", []tea.Msg{typed("0123456789"), ctrl('a')}, "0123456789", "01234567"},
		{"a paste of lines", []tea.Msg{tea.PasteMsg{Content: "a\nb\x1b[2Jc\u202e"}, ctrl('e')}, "a bc", "a bc "},
		{"keys that mean nothing", []tea.Msg{typed("a"), key(tea.KeyF5, 0), ctrl('x')}, "a", "a "},
	} {
		var in input
		for _, k := range tt.keys {
			in.update(k)
		}
		if in.value() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, in.value(), tt.want)
		}
		if got := ansi.Strip(in.view(8)); got != tt.view {
			t.Errorf("%s: shown as %q, want %q", tt.name, got, tt.view)
		}
	}
}

// What is shown of a line does not cost more the longer the line is: a whole file
// may be pasted.
func TestLongInput(t *testing.T) {
	in := &input{}
	in.set(strings.Repeat("界x", 1<<19))
	for range 100 {
		if got := ansi.StringWidth(in.view(80)); got < 79 || got > 80 {
			t.Fatalf("%d cells of 80 are used", got)
		}
	}
}

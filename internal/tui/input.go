package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"peermux/internal/frame"
)

// input is a line that is being typed. Keys move and delete as in a shell.
type input struct {
	text []rune
	at   int // the cursor, in runes
}

func (in *input) set(text string) { in.text, in.at = []rune(text), len([]rune(text)) }

func (in *input) value() string { return string(in.text) }

// update takes a key or a paste.
func (in *input) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		in.insert(frame.Line(msg.Content, len(msg.Content)))
	case tea.KeyPressMsg:
		in.press(msg)
	}
}

func (in *input) press(msg tea.KeyPressMsg) {
	end := len(in.text)
	switch msg.String() {
	case "left", "ctrl+b":
		in.at = max(0, in.at-1)
	case "right", "ctrl+f":
		in.at = min(end, in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = end
	case "backspace", "ctrl+h":
		in.remove(in.at-1, in.at)
	case "delete", "ctrl+d":
		in.remove(in.at, in.at+1)
	case "ctrl+u":
		in.remove(0, in.at)
	case "ctrl+k":
		in.remove(in.at, end)
	case "ctrl+w":
		in.remove(in.wordBefore(), in.at)
	default:
		in.insert(msg.Text)
	}
}

func (in *input) insert(text string) {
	in.text = slices.Insert(in.text, in.at, []rune(text)...)
	in.at += len([]rune(text))
}

// remove deletes a range, as far as it is there.
func (in *input) remove(from, to int) {
	from, to = max(0, from), min(len(in.text), to)
	if from < to {
		in.text = slices.Delete(in.text, from, to)
		in.at = from
	}
}

func (in *input) wordBefore() int {
	at := in.at
	for at > 0 && in.text[at-1] == ' ' {
		at--
	}
	for at > 0 && in.text[at-1] != ' ' {
		at--
	}
	return at
}

// view is the part around the cursor that fits into so many cells.
func (in *input) view(room int) string {
	start := in.at
	for used := 1; start > 0; start-- {
		if used += ansi.StringWidth(string(in.text[start-1])); used > room {
			break
		}
	}
	left := in.text[start:in.at]
	cursor, rest := " ", ""
	if in.at < len(in.text) {
		cursor, rest = string(in.text[in.at]), string(in.text[in.at+1:])
	}
	free := max(0, room-ansi.StringWidth(string(left)+cursor))
	return string(left) + styles().cursor.Styled(cursor) + ansi.Truncate(rest, free, "")
}

// Package screen holds what a terminal shows at one moment: lines of text with
// the two attributes that tell typed text from ghost text, the cursor, and the
// title. It is read from tmux's "capture-pane -e" (Parse) or kept up to date
// from a program's output (Model). It decides nothing; package wake does.
package screen

import (
	"strings"
	"unicode/utf8"
)

// Span is a run of text with the same attributes.
type Span struct {
	Text    string
	Dim     bool // SGR 2: how clients draw placeholders and suggestions
	Reverse bool // SGR 7: how clients draw their own cursor
}

// Line is one row of the screen, left to right.
type Line []Span

// Screen is one moment of a terminal. Rows and columns count from 0.
type Screen struct {
	Lines            []Line
	CursorX, CursorY int
	Width, Height    int
	Title            string
	Alternate        bool // the alternate screen is on
}

// Text is all text of the line, attributes ignored, trailing blanks cut.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Typed is the text of the line without ghost text: dim spans are dropped, and so
// is a reversed span that a dim one follows (a placeholder under the client's own
// cursor). A reversed span elsewhere is a cursor standing on real text and stays.
func (l Line) Typed() string {
	var b strings.Builder
	for i, s := range l {
		ghost := s.Dim || s.Reverse && i+1 < len(l) && l[i+1].Dim
		if !ghost {
			b.WriteString(s.Text)
		}
	}
	return strings.TrimRight(b.String(), " \u00a0")
}

// Parse reads what "tmux capture-pane -p -e" prints. SGR sequences occur there, SO
// and SI around characters of DEC's line drawing set, and hyperlinks (OSC 8, tmux
// 3.4); other sequences are dropped.
func Parse(text string) []Line {
	var lines []Line
	var attr Span // the attributes carry over from line to line
	for row := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		var line Line
		line, attr = parseLine(row, attr)
		lines = append(lines, line)
	}
	return lines
}

func parseLine(row string, attr Span) (Line, Span) {
	var line Line
	for row != "" {
		i := strings.IndexByte(row, '\x1b')
		if i < 0 {
			i = len(row)
		}
		line = line.add(Span{Text: graphics(row[:i]), Dim: attr.Dim, Reverse: attr.Reverse})
		row = row[i:]
		if row == "" {
			break
		}
		params, final, n := escape(row)
		if final == 'm' {
			attr = sgr(attr, params)
		}
		row = row[n:]
	}
	return line, attr
}

// graphics resolves SO … SI.
func graphics(text string) string {
	if strings.IndexByte(text, shiftOut) < 0 && strings.IndexByte(text, shiftIn) < 0 {
		return text
	}
	on := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == shiftOut || r == shiftIn:
			on = r == shiftOut
			return -1
		case on:
			return lineDrawing(r)
		}
		return r
	}, text)
}

// add appends a span and joins it with an equal neighbour.
func (l Line) add(s Span) Line {
	if s.Text == "" {
		return l
	}
	if n := len(l); n > 0 && l[n-1].Dim == s.Dim && l[n-1].Reverse == s.Reverse {
		l[n-1].Text += s.Text
		return l
	}
	return append(l, s)
}

// escape measures the escape sequence at the start of s: the parameters and the
// final byte of a CSI, and the length of it all.
func escape(s string) (params string, final byte, n int) {
	if len(s) < 2 {
		return "", 0, len(s)
	}
	if s[1] == ']' {
		return "", 0, osc(s)
	}
	if s[1] != '[' {
		_, size := utf8.DecodeRuneInString(s[1:])
		return "", 0, 1 + size
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return s[2:i], s[i], i + 1
		}
	}
	return "", 0, len(s)
}

// osc measures an operating system command, up to BEL or ESC "\".
func osc(s string) int {
	end := strings.IndexAny(s[1:], "\a\x1b")
	switch {
	case end < 0:
		return len(s)
	case s[1+end] == '\a' || 2+end >= len(s):
		return 2 + end
	}
	return 3 + end
}

// sgr applies the parameters of one SGR sequence. Colours are skipped whole, so
// that the 2 of "38;2;…" is not taken for dim.
func sgr(attr Span, params string) Span {
	fields := strings.Split(params, ";")
	for i := 0; i < len(fields); i++ {
		switch fields[i] {
		case "", "0":
			attr = Span{}
		case "2":
			attr.Dim = true
		case "7":
			attr.Reverse = true
		case "22":
			attr.Dim = false
		case "27":
			attr.Reverse = false
		case "38", "48", "58":
			if i+1 < len(fields) && fields[i+1] == "5" {
				i += 2
			} else if i+1 < len(fields) && fields[i+1] == "2" {
				i += 4
			}
		}
	}
	return attr
}

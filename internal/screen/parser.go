package screen

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// parser is the state between two bytes of output.
type parser struct {
	state   state
	utf8    [utf8.UTFMax]byte
	partial int // bytes of utf8 in use
	seq     []byte
	title   bool // the string that is being read is an OSC, so maybe a title
	escape  bool // an ESC was seen in a string: its end, if "\" follows
}

type state uint8

const (
	ground state = iota
	afterEscape
	afterCharset // ESC ( and the like: one byte more
	inCSI
	inString // OSC, DCS, APC, PM, SOS up to ST or BEL
)

const (
	maxCSI    = 256
	maxString = 4096 // of it is kept; the rest of a long string is skipped
)

const (
	esc      = 0x1b
	shiftOut = 0x0e
	shiftIn  = 0x0f
)

// step takes the next byte (or, in a string, all bytes up to an interesting one).
func (m *Model) step(data []byte) (rest []byte) {
	b := data[0]
	p := &m.parser
	if p.state == inString {
		return m.stringBytes(data)
	}
	switch b {
	case esc:
		p.partial = 0
		p.state, p.seq = afterEscape, p.seq[:0]
		return data[1:]
	case 0x18, 0x1a: // CAN, SUB end a sequence
		p.state, p.partial = ground, 0
		return data[1:]
	}
	if b < ' ' { // controls work inside sequences too
		p.partial = 0
		m.control(b)
		return data[1:]
	}
	switch p.state {
	case ground:
		m.text(b)
	case afterEscape:
		m.escapeByte(b)
	case afterCharset:
		m.charset(p.seq, b)
		p.state = ground
	case inCSI:
		if b >= 0x40 && b <= 0x7e {
			p.state = ground
			m.csi(p.seq, b)
		} else if len(p.seq) < maxCSI {
			p.seq = append(p.seq, b)
		}
	}
	return data[1:]
}

// text takes one byte of a character.
func (m *Model) text(b byte) {
	p := &m.parser
	if p.partial > 0 && b&0xc0 != 0x80 { // the character before was cut off
		p.partial = 0
		m.print(utf8.RuneError)
	}
	if p.partial == 0 && b < utf8.RuneSelf {
		if b != 0x7f {
			m.print(rune(b))
		}
		return
	}
	if r, ok := p.decode(b); ok {
		m.print(r)
	}
}

func (m *Model) stringBytes(data []byte) (rest []byte) {
	p := &m.parser
	if p.escape {
		p.escape = false
		p.state = ground
		if data[0] == '\\' {
			m.stringEnd()
			return data[1:]
		}
		p.state, p.seq = afterEscape, p.seq[:0] // another sequence cut it off
		return data
	}
	n := bytes.IndexAny(data, "\x1b\x07\x18\x1a")
	if n < 0 {
		n = len(data)
	}
	if keep := min(n, maxString-len(p.seq)); keep > 0 && p.title {
		p.seq = append(p.seq, data[:keep]...)
	}
	if n == len(data) {
		return nil
	}
	switch data[n] {
	case esc:
		p.escape = true
	case 0x07:
		p.state = ground
		m.stringEnd()
	default:
		p.state = ground
	}
	return data[n+1:]
}

// stringEnd takes the title out of "0;title" and "2;title".
func (m *Model) stringEnd() {
	if !m.parser.title {
		return
	}
	code, title, ok := strings.Cut(string(m.parser.seq), ";")
	if ok && (code == "0" || code == "2") && utf8.ValidString(title) && strings.IndexFunc(title, unicode.IsControl) < 0 {
		m.title = title
	}
}

func (m *Model) control(b byte) {
	p := m.page
	switch b {
	case '\b':
		if p.x > 0 {
			p.x--
		}
	case '\t':
		m.tab(1)
	case '\n', '\v', '\f':
		m.lineFeed()
	case '\r':
		p.x = 0
	case shiftOut:
		m.shift = 1
	case shiftIn:
		m.shift = 0
	}
}

// tab moves n tab stops, backward when n is negative.
func (m *Model) tab(n int) {
	p := m.page
	if n > 0 && p.x >= m.width-1 {
		return
	}
	step := 1
	if n < 0 {
		n, step = -n, -1
	}
	for ; n > 0; n-- {
		x := p.x + step
		for x > 0 && x < m.width-1 && !m.tabs[x] {
			x += step
		}
		p.x = clamp(x, 0, m.width-1)
	}
}

func (m *Model) escapeByte(b byte) {
	p := &m.parser
	p.state = ground
	switch b {
	case '[':
		p.state = inCSI
	case ']':
		p.state, p.title = inString, true
	case 'P', 'X', '^', '_':
		p.state, p.title = inString, false
	case '(', ')', '*', '+', '-', '.', '/', '#', '%', ' ':
		p.state, p.seq = afterCharset, append(p.seq, b)
	case '7':
		m.save()
	case '8':
		m.restore()
	case 'D':
		m.lineFeed()
	case 'E':
		m.page.x = 0
		m.lineFeed()
	case 'M':
		m.reverseLineFeed()
	case 'H':
		m.tabs[min(m.page.x, m.width-1)] = true
	case 'c':
		title := m.title
		m.reset(m.width, m.height)
		m.title = title
	}
}

// charset takes the byte after ESC ( and its like.
func (m *Model) charset(before []byte, b byte) {
	switch string(before) {
	case "(":
		m.graphics[0] = b == '0'
	case ")":
		m.graphics[1] = b == '0'
	case "#":
		if b == '8' {
			m.alignment()
		}
	}
}

// alignment fills the screen with E (DECALN).
func (m *Model) alignment() {
	p := m.page
	for _, row := range p.rows {
		for i := range row {
			row[i] = cell{r: 'E'}
		}
	}
	p.top, p.bottom, p.x, p.y = 0, m.height-1, 0, 0
}

func (m *Model) save() {
	p := m.page
	p.saved = saved{x: p.x, y: p.y, pen: m.pen, origin: m.origin, graphics: m.graphics, shift: m.shift}
}

func (m *Model) restore() {
	p, s := m.page, m.page.saved
	p.x, p.y = clamp(s.x, 0, m.width-1), clamp(s.y, 0, m.height-1)
	m.pen, m.origin, m.graphics, m.shift = s.pen, s.origin, s.graphics, s.shift
}

// lineDrawing maps DEC's line drawing set.
func lineDrawing(r rune) rune {
	const table = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"
	if r < '`' || r > '~' {
		return r
	}
	i := int(r - '`')
	for _, c := range table {
		if i == 0 {
			return c
		}
		i--
	}
	return r
}

// runeWidth is how many columns a character takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return 0
	case r < 0x300, r >= 0x2500 && r < 0x2600, r >= 0x2800 && r < 0x2900:
		return 1 // Latin, boxes and Braille: nearly everything that clients draw
	}
	return ansi.StringWidthWc(string(r))
}

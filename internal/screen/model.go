package screen

import (
	"strings"
	"unicode/utf8"
)

// Model keeps a screen up to date from the output of a program, as a terminal
// would: what is needed to read text, its two attributes, the cursor and the
// title, and nothing of colours, scrollback or replies. It takes any bytes, in
// pieces of any size, and never fails. It is not safe for concurrent use.
//
// It behaves like tmux, against whose screens it is checked in the tests.
type Model struct {
	width, height int
	main, alt     page
	page          *page // the one that is shown
	title         string
	pasteMode     bool // the program asked for bracketed paste (mode 2004)

	pen       attr
	insert    bool // IRM
	noWrap    bool // DECAWM off
	origin    bool // DECOM
	tabs      []bool
	graphics  [2]bool // G0, G1 hold DEC's line drawing set
	shift     int     // which of them is in use
	last      rune    // for REP
	parser    parser
	mainSaved saved
}

// page is one of the two screens.
type page struct {
	rows        [][]cell
	x, y        int // x is the width while the next character would wrap, as in tmux
	top, bottom int // scroll region, inclusive
	saved       saved
}

// saved is what DECSC keeps.
type saved struct {
	x, y     int
	pen      attr
	origin   bool
	graphics [2]bool
	shift    int
}

type attr uint8

const (
	dim attr = 1 << iota
	reverse
	tail // the right half of a wide character
)

// cell is one column of one row; the zero value is blank.
type cell struct {
	r    rune
	attr attr
}

const (
	minSize, maxSize = 1, 2000
	tabWidth         = 8
)

// NewModel is a blank screen of that many columns and rows.
func NewModel(width, height int) *Model {
	m := &Model{}
	m.reset(clamp(width, minSize, maxSize), clamp(height, minSize, maxSize))
	return m
}

func (m *Model) reset(width, height int) {
	*m = Model{width: width, height: height, main: newPage(width, height), alt: newPage(width, height)}
	m.page = &m.main
	m.tabs = defaultTabs(width)
}

func newPage(width, height int) page {
	rows := make([][]cell, height)
	for i := range rows {
		rows[i] = make([]cell, width)
	}
	return page{rows: rows, bottom: height - 1}
}

func defaultTabs(width int) []bool {
	tabs := make([]bool, width)
	for i := 0; i < width; i += tabWidth {
		tabs[i] = true
	}
	return tabs
}

// PasteMode reports whether the program asked for paste markers.
func (m *Model) PasteMode() bool { return m.pasteMode }

// Resize gives the screen another size. The text stays where it is; a program
// that cares redraws it.
func (m *Model) Resize(width, height int) {
	width, height = clamp(width, minSize, maxSize), clamp(height, minSize, maxSize)
	if width == m.width && height == m.height {
		return
	}
	m.width, m.height = width, height
	m.tabs = defaultTabs(width)
	for _, p := range []*page{&m.main, &m.alt} {
		// Rows above the cursor go first, as if they had scrolled away.
		if over := p.y - height + 1; over > 0 {
			p.rows = p.rows[over:]
			p.y -= over
		}
		p.rows = p.rows[:min(len(p.rows), height)]
		for len(p.rows) < height {
			p.rows = append(p.rows, nil)
		}
		for i, row := range p.rows {
			fresh := make([]cell, width)
			copy(fresh, row)
			if n := len(row); n > width && row[width].attr&tail != 0 {
				fresh[width-1] = cell{} // half a wide character
			}
			p.rows[i] = fresh
		}
		p.x = min(p.x, width-1)
		p.top, p.bottom = 0, height-1
	}
}

// Screen is the present moment. It shares nothing with the model.
func (m *Model) Screen() Screen {
	s := Screen{
		Width: m.width, Height: m.height,
		CursorX: m.page.x, CursorY: m.page.y,
		Title: m.title, Alternate: m.page == &m.alt,
		Lines: make([]Line, m.height),
	}
	for i, row := range m.page.rows {
		s.Lines[i] = line(row)
	}
	return s
}

func line(row []cell) Line {
	end := len(row)
	for end > 0 && row[end-1] == (cell{}) {
		end--
	}
	var l Line
	var b strings.Builder
	for i := 0; i < end; {
		a := row[i].attr &^ tail
		b.Reset()
		for ; i < end && row[i].attr&^tail == a; i++ {
			switch {
			case row[i].attr&tail != 0:
			case row[i].r == 0:
				b.WriteByte(' ')
			default:
				b.WriteRune(row[i].r)
			}
		}
		l = l.add(Span{Text: b.String(), Dim: a&dim != 0, Reverse: a&reverse != 0})
	}
	return l
}

// Write takes the program's next output.
func (m *Model) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		if m.parser.state == ground && m.parser.partial == 0 {
			run := printable(data)
			if run > 0 {
				m.printASCII(data[:run])
				data = data[run:]
				continue
			}
		}
		data = m.step(data)
	}
	return n, nil
}

// printable is the length of the leading run of printable ASCII.
func printable(data []byte) int {
	for i, b := range data {
		if b < ' ' || b > '~' {
			return i
		}
	}
	return len(data)
}

// printASCII is print for a run of plain letters, which is most of all output.
func (m *Model) printASCII(text []byte) {
	if m.insert || m.noWrap || m.graphics[m.shift] {
		for _, b := range text {
			m.print(rune(b))
		}
		return
	}
	p := m.page
	for len(text) > 0 {
		if p.x == m.width {
			m.wrapLine()
		}
		row := p.rows[p.y]
		n := min(len(text), m.width-p.x)
		m.split(row, p.x, p.x+n)
		for i, b := range text[:n] {
			row[p.x+i] = cell{r: rune(b), attr: m.pen}
		}
		m.last = rune(text[n-1])
		p.x += n
		text = text[n:]
	}
}

// print puts one character at the cursor.
func (m *Model) print(r rune) {
	if m.graphics[m.shift] {
		r = lineDrawing(r)
	}
	w := runeWidth(r)
	if w == 0 || w > m.width {
		return // combining marks change no text that anybody looks for
	}
	p := m.page
	if p.x+w > m.width {
		if m.noWrap {
			p.x = m.width - w
		} else {
			m.wrapLine()
		}
	}
	if m.insert {
		m.insertCells(w)
	}
	row := p.rows[p.y]
	m.split(row, p.x, p.x+w)
	row[p.x] = cell{r: r, attr: m.pen}
	if w == 2 {
		row[p.x+1] = cell{attr: m.pen | tail}
	}
	m.last = r
	p.x += w
	if m.noWrap {
		p.x = min(p.x, m.width-1)
	}
}

// wrapLine moves to the start of the next line.
func (m *Model) wrapLine() {
	m.page.x = 0
	m.lineFeed()
}

// split blanks the wide characters that the columns from..to would cut in half.
func (m *Model) split(row []cell, from, to int) {
	if from < len(row) && row[from].attr&tail != 0 && from > 0 {
		row[from-1] = cell{}
	}
	if to < len(row) && row[to].attr&tail != 0 {
		row[to] = cell{}
	}
}

func (m *Model) lineFeed() {
	p := m.page
	switch {
	case p.y == p.bottom:
		p.scrollUp(p.top, p.bottom, 1)
	case p.y < len(p.rows)-1:
		p.y++
	}
}

func (m *Model) reverseLineFeed() {
	p := m.page
	switch {
	case p.y == p.top:
		p.scrollDown(p.top, p.bottom, 1)
	case p.y > 0:
		p.y--
	}
}

// scrollUp moves the rows top..bottom up by n and blanks what comes in.
func (p *page) scrollUp(top, bottom, n int) {
	n = min(n, bottom-top+1)
	for range n {
		first := p.rows[top]
		copy(p.rows[top:bottom], p.rows[top+1:bottom+1])
		clear(first)
		p.rows[bottom] = first
	}
}

func (p *page) scrollDown(top, bottom, n int) {
	n = min(n, bottom-top+1)
	for range n {
		last := p.rows[bottom]
		copy(p.rows[top+1:bottom+1], p.rows[top:bottom])
		clear(last)
		p.rows[top] = last
	}
}

func (m *Model) insertCells(n int) {
	p := m.page
	row := p.rows[p.y]
	m.split(row, p.x, p.x)
	n = min(n, m.width-p.x)
	if n == 0 {
		return
	}
	copy(row[p.x+n:], row[p.x:])
	clear(row[p.x : p.x+n])
	if last := row[m.width-1]; runeWidth(last.r) == 2 {
		row[m.width-1] = cell{} // its other half was pushed out
	}
}

func (m *Model) deleteCells(n int) {
	p := m.page
	row := p.rows[p.y]
	n = min(n, m.width-p.x)
	m.split(row, p.x, p.x+n)
	copy(row[p.x:], row[p.x+n:])
	clear(row[m.width-n:])
}

// erase blanks the columns from..to of a row.
func (m *Model) erase(y, from, to int) {
	row := m.page.rows[y]
	m.split(row, from, to)
	clear(row[from:to])
}

func clamp(v, low, high int) int { return max(low, min(v, high)) }

// decode reads one character that may lie across two writes. ok is false while
// bytes are missing.
func (p *parser) decode(b byte) (r rune, ok bool) {
	p.utf8[p.partial] = b
	p.partial++
	if !utf8.FullRune(p.utf8[:p.partial]) {
		return 0, false
	}
	r, _ = utf8.DecodeRune(p.utf8[:p.partial])
	p.partial = 0
	return r, true
}

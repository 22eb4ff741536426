package screen

import "bytes"

// csi carries out one control sequence.
func (m *Model) csi(seq []byte, final byte) {
	if len(seq) > 0 && seq[0] == '?' {
		if final == 'h' || final == 'l' {
			for _, n := range params(seq[1:]) {
				m.privateMode(n, final == 'h')
			}
		}
		return
	}
	if bytes.Equal(seq, []byte("!")) && final == 'p' { // DECSTR
		m.insert, m.origin, m.noWrap, m.pen = false, false, false, 0
		m.page.top, m.page.bottom = 0, m.height-1
		return
	}
	if bytes.ContainsAny(seq, "<=>? !\"#$%&'()*+,-./") {
		return // private to some terminal, or something we don't model
	}
	if final == 'm' {
		m.sgr(seq)
		return
	}
	p := params(seq)
	if m.csiCursor(p, final) {
		return
	}
	m.csiEdit(p, final)
}

// params reads "1;2;3"; a missing one is 0. Sub-parameters (after ":") are cut off.
func params(seq []byte) []int {
	fields := bytes.Split(seq, []byte(";"))
	p := make([]int, len(fields))
	for i, f := range fields {
		for _, b := range f {
			if b < '0' || b > '9' {
				break
			}
			p[i] = min(p[i]*10+int(b-'0'), 1<<16)
		}
	}
	return p
}

// at is parameter i, or def when it is missing or 0.
func at(p []int, i, def int) int {
	if i < len(p) && p[i] != 0 {
		return p[i]
	}
	return def
}

// csiCursor carries out what moves the cursor.
func (m *Model) csiCursor(q []int, final byte) bool {
	p := m.page
	n := at(q, 0, 1)
	low, high := 0, m.height-1 // vertical moves stop at the scroll region they are in
	if p.y >= p.top {
		low = p.top
	}
	if p.y <= p.bottom {
		high = p.bottom
	}
	switch final {
	case 'A':
		p.x, p.y = min(p.x, m.width-1), clamp(p.y-n, low, high)
	case 'B', 'e':
		p.x, p.y = min(p.x, m.width-1), clamp(p.y+n, low, high)
	case 'C', 'a':
		p.x = clamp(p.x+n, 0, m.width-1)
	case 'D':
		p.x = clamp(p.x-n, 0, m.width-1)
	case 'E':
		p.x, p.y = 0, clamp(p.y+n, low, high)
	case 'F':
		p.x, p.y = 0, clamp(p.y-n, low, high)
	case 'G', '`':
		p.x = clamp(n-1, 0, m.width-1)
	case 'd':
		m.moveTo(min(p.x, m.width-1), n-1)
	case 'H', 'f':
		m.moveTo(at(q, 1, 1)-1, n-1)
	case 'I':
		m.tab(min(n, m.width))
	case 'Z':
		m.tab(-min(n, m.width))
	case 's':
		m.save()
		return true
	case 'u':
		m.restore()
		return true
	default:
		return false
	}
	return true
}

// moveTo counts rows from the scroll region while DECOM is on.
func (m *Model) moveTo(x, y int) {
	p := m.page
	low, high := 0, m.height-1
	if m.origin {
		low, high = p.top, p.bottom
	}
	p.x, p.y = clamp(x, 0, m.width-1), clamp(low+y, low, high)
}

// csiEdit carries out what changes text, regions and modes.
func (m *Model) csiEdit(q []int, final byte) {
	p := m.page
	n := at(q, 0, 1)
	switch final {
	case '@':
		m.insertCells(n)
	case 'P':
		m.deleteCells(n)
	case 'X':
		m.erase(p.y, p.x, min(p.x+n, m.width))
	case 'J':
		m.eraseDisplay(at(q, 0, 0))
	case 'K':
		m.eraseLine(at(q, 0, 0))
	case 'L':
		if p.y >= p.top && p.y <= p.bottom {
			p.scrollDown(p.y, p.bottom, n)
		}
	case 'M':
		if p.y >= p.top && p.y <= p.bottom {
			p.scrollUp(p.y, p.bottom, n)
		}
	case 'S':
		p.scrollUp(p.top, p.bottom, n)
	case 'T':
		if len(q) == 1 { // with more it is a mouse mode
			p.scrollDown(p.top, p.bottom, n)
		}
	case 'b':
		for range min(n, m.width-p.x) {
			if m.last != 0 {
				m.print(m.last)
			}
		}
	case 'g':
		switch at(q, 0, 0) {
		case 0:
			m.tabs[min(p.x, m.width-1)] = false
		case 3:
			clear(m.tabs)
		}
	case 'h', 'l':
		for _, mode := range q {
			if mode == 4 {
				m.insert = final == 'h'
			}
		}
	case 'r':
		m.region(n-1, at(q, 1, m.height)-1)
	}
}

func (m *Model) region(top, bottom int) {
	bottom = min(bottom, m.height-1)
	if top < bottom {
		m.page.top, m.page.bottom = top, bottom
		m.moveTo(0, 0)
	}
}

func (m *Model) eraseLine(how int) {
	p := m.page
	switch how {
	case 0:
		m.erase(p.y, p.x, m.width)
	case 1:
		m.erase(p.y, 0, min(p.x+1, m.width))
	case 2:
		m.erase(p.y, 0, m.width)
	}
}

func (m *Model) eraseDisplay(how int) {
	p := m.page
	from, to := 0, 0
	switch how {
	case 0:
		m.eraseLine(0)
		from, to = p.y+1, m.height
	case 1:
		m.eraseLine(1)
		to = p.y
	case 2:
		to = m.height
	}
	for y := from; y < to; y++ {
		m.erase(y, 0, m.width)
	}
}

// privateMode sets a DEC mode.
func (m *Model) privateMode(n int, on bool) {
	switch n {
	case 6:
		m.origin = on
		m.moveTo(0, 0)
	case 7:
		m.noWrap = !on
	case 47, 1047:
		m.alternate(on, false)
	case 1048:
		if on {
			m.save()
		} else {
			m.restore()
		}
	case 1049:
		m.alternate(on, true)
	case 2004:
		m.pasteMode = on
	}
}

// alternate switches between the two screens. The alternate one starts blank; the
// cursor goes along, unless it is saved and restored (1049).
func (m *Model) alternate(on, keep bool) {
	if on == (m.page == &m.alt) {
		return
	}
	from, to := &m.main, &m.alt
	if !on {
		from, to = to, from
	}
	if on {
		if keep {
			m.save()
			m.mainSaved = m.main.saved
		}
		for _, row := range m.alt.rows {
			clear(row)
		}
	}
	to.x, to.y = from.x, from.y
	to.top, to.bottom = 0, m.height-1
	m.page = to
	if !on && keep {
		m.main.saved = m.mainSaved
		m.restore()
	}
}

// sgr sets the pen. Colours are skipped whole, in both spellings, so that the 2 of
// "38;2;…" and "38:2:…" is not taken for dim.
func (m *Model) sgr(seq []byte) {
	if len(seq) == 0 {
		m.pen = 0
		return
	}
	fields := bytes.Split(seq, []byte(";"))
	for i := 0; i < len(fields); i++ {
		switch string(fields[i]) {
		case "", "0":
			m.pen = 0
		case "2":
			m.pen |= dim
		case "7":
			m.pen |= reverse
		case "22":
			m.pen &^= dim
		case "27":
			m.pen &^= reverse
		case "38", "48", "58":
			if i+1 < len(fields) && string(fields[i+1]) == "5" {
				i += 2
			} else if i+1 < len(fields) && string(fields[i+1]) == "2" {
				i += 4
			}
		}
	}
}

package frame

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes the text of a peer safe to show, keeping what a reader would
// see: lines, tabs and every visible character.
//
// Dropped: terminal sequences, control characters, and characters without a
// width (bidi marks, zero-width joiners, tag characters, variation selectors),
// by which text can be hidden, reordered or smuggled. Every kind of line end
// becomes "\n". Bytes that are not UTF-8 become U+FFFD. A tag by which a
// client marks its own words gets a backslash after its "<".
//
// Clean is idempotent.
func Clean(s string) string {
	return defang(visible(s))
}

// Line is Clean for text that has to stay on one line, such as a subject:
// runs of white space become one space, and it is cut after limit runes.
func Line(s string, limit int) string {
	s = strings.Join(strings.Fields(Clean(s)), " ")
	if n := utf8.RuneCountInString(s); n <= limit {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:limit-1]), " ") + "…"
}

// Label is Line for a name inside a header. What could end the field and
// begin a forged one (quotes, brackets, commas, a colon, the quote mark)
// becomes an underscore.
func Label(s string, limit int) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"'`()[]{}<>|,;:\\", r) {
			return '_'
		}
		return r
	}, Line(s, limit))
}

// visible drops what has no place on a page and unifies line ends.
func visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := sequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r':
			if i < len(s) && s[i] == '\n' {
				i++
			}
			b.WriteByte('\n')
		case r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case r == '\n' || r == '\t' || !hidden(r):
			b.WriteRune(r) // an invalid byte decodes to U+FFFD
		}
	}
	return b.String()
}

// plain reports whether s is printable ASCII and needs no second look.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// hidden reports whether r changes the page without being seen on it.
func hidden(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r < 0xad:
		return false
	case r == '\u034f', // combining grapheme joiner
		r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0', // Hangul fillers
		r == '\u17b4', r == '\u17b5', // Khmer inherent vowels
		r >= '\u180b' && r <= '\u180f', // Mongolian selectors
		r >= '\ufe00' && r <= '\ufe0f', // variation selectors
		r >= 0xe0000 && r <= 0xe0fff:   // tags, more variation selectors
		return true
	}
	return unicode.Is(unicode.Cf, r) // bidi, zero-width, soft hyphen, byte order mark
}

// sequence returns the length of the terminal sequence that s begins with,
// or 0. An unterminated one counts as its introducer only, so that a stray
// escape cannot swallow the rest of a body.
func sequence(s string) int {
	kind, n := introducer(s)
	switch kind {
	case 0:
		return 0
	case '[': // CSI: parameters, intermediates, one final byte
		for i := n; i < len(s) && i < n+64; i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return n
			}
		}
		return n
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC: up to BEL or ST
		for i := n; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			case s[i] == '\n' || s[i] == 0x1b:
				return n
			}
		}
		return n
	}
	return n
}

// introducer returns the kind and the length of the start of a terminal
// sequence: ESC and one more byte, or the C1 character of the same meaning.
func introducer(s string) (kind byte, n int) {
	if s[0] == 0x1b {
		if len(s) > 1 && s[1] >= 0x30 && s[1] <= 0x7e {
			return s[1], 2
		}
		return 0x1b, 1
	}
	if len(s) > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 && s[1] != 0x85 {
		return s[1] - 0x40, 2 // U+009B is ESC [ and so on
	}
	return 0, 0
}

package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// members calls visit with each key of the JSON object in line and its raw
// value, until visit returns false. It reports whether line is an object as far
// as it was looked at. Values are skipped, not parsed: most of a transcript is
// text that a read never needs (2 GB/s against 100 MB/s of encoding/json).
func members(line []byte, visit func(key, value []byte) bool) bool {
	i := skipSpace(line, 0)
	if i >= len(line) || line[i] != '{' {
		return false
	}
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] == '}' {
		return true
	}
	for i < len(line) && line[i] == '"' {
		end := skipString(line, i)
		if end < 0 {
			return false
		}
		key := line[i+1 : end-1]
		i = skipSpace(line, end)
		if i >= len(line) || line[i] != ':' {
			return false
		}
		i = skipSpace(line, i+1)
		end = skipValue(line, i)
		if end < 0 {
			return false
		}
		if !visit(key, line[i:end]) {
			return true
		}
		i = skipSpace(line, end)
		if i < len(line) && line[i] == '}' {
			return skipSpace(line, i+1) == len(line)
		}
		if i >= len(line) || line[i] != ',' {
			return false
		}
		i = skipSpace(line, i+1)
	}
	return false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index after the string that opens at b[i], or -1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		from := i
		i += q
		slashes := 0
		for i-1-slashes >= from && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return -1
}

// skipValue returns the index after the JSON value that begins at b[i], or -1.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return -1
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return -1
			}
			i++
			continue
		default: // a number or a word
			for i < len(b) && !delimits(b[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// delimits reports whether c ends a number or a word.
func delimits(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// text returns the string that a raw JSON value holds, "" for other values.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(bytes.ToValidUTF8(value[1:len(value)-1], []byte("\uFFFD")))
	}
	var s string
	if decode(value, &s) != nil {
		return ""
	}
	return s
}

// stamp reads an RFC 3339 time, or the zero time.
func stamp(value []byte) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text(value))
	if err != nil {
		return time.Time{}
	}
	return at
}

// decode is json.Unmarshal that forgives what clients' files really hold: a
// field of another type is left out, and raw control characters inside strings
// (a file system that lost a write fills it with NULs) count as spaces.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		err = json.Unmarshal(bytes.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, data), v)
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return nil
	}
	return err
}

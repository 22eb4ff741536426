package transcript

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	shrunkString = 16 << 10 // what is kept of each string of an overlong line
	shrunkLine   = 512 << 10
)

var errTooWide = errors.New("a record with too many fields")

// shrink reads one overlong JSON line and returns it with each long string cut
// after shrunkString bytes, so that an image or a file dump of any size costs a
// scan and no memory. Whatever is not in a string is kept as it is; a line that
// stays longer than shrunkLine gives errTooWide.
func shrink(ctx context.Context, r io.Reader) ([]byte, error) {
	s := shrinker{}
	buf := make([]byte, chunkSize)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.Read(buf)
		if e := s.write(buf[:n]); e != nil {
			return nil, e
		}
		if err == io.EOF {
			return s.out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// shrinker is a JSON scanner that knows only strings and what is between them.
type shrinker struct {
	out     []byte
	inside  bool // of a string
	escaped bool // the byte before was a backslash that escapes the next one
	kept    int  // bytes kept of this string
	dropped int64
}

func (s *shrinker) write(b []byte) error {
	for len(b) > 0 {
		if !s.inside {
			i := bytes.IndexByte(b, '"')
			if i < 0 {
				i = len(b) - 1
			} else {
				s.inside, s.kept, s.dropped = true, 0, 0
			}
			s.out = append(s.out, b[:i+1]...)
			b = b[i+1:]
		} else {
			b = s.string(b)
		}
		if len(s.out) > shrunkLine {
			return errTooWide
		}
	}
	return nil
}

// string takes the next piece of a string: one escape, the closing quote, or
// plain bytes up to either.
func (s *shrinker) string(b []byte) []byte {
	n := 1
	switch {
	case s.escaped:
		s.escaped = false
	case b[0] == '\\':
		s.escaped = true
	case b[0] == '"':
		s.inside = false
		if s.dropped > 0 {
			s.out = withoutHalfEscape(s.out, s.kept)
			s.out = append(s.out, " […"+sizeText(s.dropped)+" left out…]"...)
		}
		s.out = append(s.out, '"')
		return b[1:]
	default:
		if n = bytes.IndexAny(b, `"\`); n < 0 {
			n = len(b)
		}
	}
	s.keep(b[:n])
	return b[n:]
}

// keep takes bytes of a string until it is full.
func (s *shrinker) keep(b []byte) {
	n := min(len(b), shrunkString-s.kept)
	s.out = append(s.out, b[:n]...)
	s.kept += n
	s.dropped += int64(len(b) - n)
}

// withoutHalfEscape drops an escape that was cut (\ or \u12) from the end of b,
// of which the last kept bytes are in the string. A character that was cut is
// no harm: decoding makes it U+FFFD.
func withoutHalfEscape(b []byte, kept int) []byte {
	start := len(b) - kept
	i := bytes.LastIndexByte(b[max(start, len(b)-6):], '\\')
	if i < 0 {
		return b
	}
	i += max(start, len(b)-6)
	run := 0
	for i-run >= start && b[i-run] == '\\' {
		run++
	}
	whole := 2
	if i+1 < len(b) && b[i+1] == 'u' {
		whole = 6
	}
	if run%2 == 1 && len(b)-i < whole {
		return b[:i]
	}
	return b
}

package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"peermux/internal/frame"
)

// Match is a line of a conversation that a search found.
type Match struct {
	Client    string    `json:"client"`
	SessionID string    `json:"session_id"`
	File      string    `json:"file"`
	Turn      int       `json:"turn"` // the user's prompt that it belongs to, from 1; 0 before the first
	Role      string    `json:"role"`
	Tool      string    `json:"tool,omitempty"` // the tool whose input it is
	At        time.Time `json:"at,omitzero"`
	Text      string    `json:"text"` // the line around the match, secrets masked
}

// GrepOptions say what to search for.
type GrepOptions struct {
	Pattern   string // a regular expression of Go; one without special characters is searched at the speed of memory
	ClaudeDir string // folders that the files must not leave
	CodexHome string
	Unmasked  bool
}

// matchWidth is how many bytes of a line a match shows.
const matchWidth = 240

// Grep searches the words of conversations: prompts, answers, the inputs and
// results of tools, peers' mail. It calls found for each line that matches, in
// the order of the files and of their records, as it reads them; an error of
// found ends it and is returned. Memory does not grow with the files.
func Grep(ctx context.Context, files []string, o GrepOptions, found func(Match) error) error {
	re, err := regexp.Compile(o.Pattern)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	if o.Pattern == "" {
		return errors.New("pattern: empty")
	}
	for _, file := range files {
		s := searcher{o: o, re: re, found: found, literal: requiredLiteral(o.Pattern)}
		err := s.file(ctx, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrOutside) {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// requiredLiteral returns the longest text that each match of a pattern holds
// and that JSON writes as it is, or "". It only serves to skip lines.
func requiredLiteral(pattern string) []byte {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	best := ""
	var walk func(re *syntax.Regexp)
	walk = func(re *syntax.Regexp) {
		switch re.Op {
		case syntax.OpLiteral:
			if re.Flags&syntax.FoldCase != 0 {
				return
			}
			for _, part := range strings.FieldsFunc(string(re.Rune), escapedInJSON) {
				if len(part) > len(best) {
					best = part
				}
			}
		case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
			for _, sub := range re.Sub {
				walk(sub)
			}
		}
	}
	walk(re.Simplify())
	return []byte(best)
}

// escapedInJSON reports whether some writer of JSON escapes r. The clients
// write everything above ASCII as it is; U+2028 and its neighbour are the
// exception in some libraries.
func escapedInJSON(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '/' || r == '<' || r == '>' || r == '&' || r >= 0x7f
}

// searcher searches one file.
type searcher struct {
	o       GrepOptions
	re      *regexp.Regexp
	literal []byte
	found   func(Match) error

	m    Match // what all matches of the file share, and the current turn
	dec  decoder
	skip skipped

	f       io.ReaderAt
	at      int64 // where the piece that is searched stands in the file
	counted int64 // the prompts before this offset are in m.Turn
	buf     []byte
}

func (s *searcher) file(ctx context.Context, file string) error {
	s.m = Match{Client: ClientOf(file), SessionID: sessionOf(file), File: file}
	s.dec = Options{Client: s.m.Client}.decoder(file, &s.skip)
	root := s.o.ClaudeDir
	if s.m.Client == Codex {
		root = s.o.CodexHome
	}
	f, err := openInside(file, root)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	s.f = f
	lines := func(piece []byte) error {
		err := eachLineWith(piece, [][]byte{s.literal}, func(line []byte, end int) error {
			return s.line(ctx, line, s.at+int64(end))
		})
		s.at += int64(len(piece))
		return err
	}
	long := func(l *lineReader) error {
		data, err := shrunk(ctx, l)
		if err == nil {
			err = s.line(ctx, data, l.off)
		}
		s.at = l.off
		return err
	}
	_, err = forward{r: f, last: true, lines: lines, long: long}.read(ctx, 0)
	return err
}

// eachLineWith calls f with each line that holds one of the needles, and with
// the offset after it. It jumps from one to the next at the speed of memory. An
// empty needle stands for every line.
func eachLineWith(piece []byte, needles [][]byte, f func(line []byte, end int) error) error {
	at := make([]int, len(needles)) // where each needle is met next
	for i := range at {
		at[i] = -1
	}
	for pos := 0; pos < len(piece); {
		hit := len(piece)
		for i, n := range needles {
			if at[i] < pos {
				at[i] = len(piece)
				if j := bytes.Index(piece[pos:], n); j >= 0 {
					at[i] = pos + j
				}
			}
			hit = min(hit, at[i])
		}
		if hit == len(piece) {
			return nil
		}
		from := bytes.LastIndexByte(piece[:hit], '\n') + 1
		to, end := len(piece), len(piece)
		if j := bytes.IndexByte(piece[hit:], '\n'); j >= 0 {
			to, end = hit+j, hit+j+1
		}
		if err := f(bytes.Trim(piece[from:to], "\x00 \t\r"), end); err != nil {
			return err
		}
		pos = end
	}
	return nil
}

// line reports what matches in the line that ends at end.
func (s *searcher) line(ctx context.Context, data []byte, end int64) error {
	events, _ := s.dec.decode(data)
	for _, e := range events {
		if e.kind > kindResult || !s.re.MatchString(e.text) {
			continue
		}
		// Only now: most files hold no match, and need no counting.
		if err := s.countTurns(ctx, end); err != nil {
			return err
		}
		role := e.role
		switch e.kind {
		case kindSay, kindCall:
			role = RoleAssistant
		case kindResult:
			role = RoleTool
		}
		if err := s.event(e, role); err != nil {
			return err
		}
	}
	return nil
}

// countTurns counts the prompts of the lines up to offset end.
func (s *searcher) countTurns(ctx context.Context, end int64) error {
	if end <= s.counted {
		return nil
	}
	count := func(line []byte, _ int) error {
		events, _ := s.dec.decode(line)
		for _, e := range events {
			if e.kind == kindPrompt && e.role == RoleUser {
				s.m.Turn++
			}
		}
		return nil
	}
	lines := func(piece []byte) error {
		return eachLineWith(piece, promptNeedles(s.m.Client), count)
	}
	long := func(l *lineReader) error {
		data, err := shrunk(ctx, l)
		if err != nil {
			return err
		}
		return count(data, 0)
	}
	if s.buf == nil {
		s.buf = make([]byte, forwardBuf)
	}
	r := io.NewSectionReader(s.f, 0, end)
	_, err := forward{r: r, last: true, lines: lines, long: long, buf: s.buf}.read(ctx, s.counted)
	s.counted = end
	return err
}

// promptNeedles are what lines with a prompt of the user hold.
func promptNeedles(client string) [][]byte {
	if client == Codex {
		return [][]byte{[]byte(`"role":"user"`)}
	}
	return [][]byte{
		[]byte(`"role":"user","content":"`),
		[]byte(`"role":"user","content":[{"type":"text"`),
		[]byte(`"attachment":{"type":"queued_command"`),
	}
}

func (s *searcher) event(e event, role string) error {
	m := s.m
	m.Role, m.Tool, m.At = role, e.name, e.at
	for rest := e.text; rest != ""; {
		loc := s.re.FindStringIndex(rest)
		if loc == nil {
			return nil
		}
		from := strings.LastIndexByte(rest[:loc[0]], '\n') + 1
		to := len(rest)
		if i := strings.IndexByte(rest[loc[1]:], '\n'); i >= 0 {
			to = loc[1] + i
		}
		m.Text = s.shown(rest[from:to], loc[0]-from)
		if err := s.found(m); err != nil {
			return err
		}
		rest = rest[min(to+1, len(rest)):]
	}
	return nil
}

// shown is the part of a line around a match, which stands at byte at. A secret
// may begin before that part, so more is masked than is shown.
func (s *searcher) shown(line string, at int) string {
	const around = 2 << 10
	line = line[boundary(line, max(0, at-around)):boundary(line, min(len(line), at+around))]
	if !s.o.Unmasked {
		line, _ = Mask(line)
	}
	line = strings.TrimSpace(frame.Clean(line))
	at = max(0, strings.Index(line, Masked)) // the match may be what was masked
	if loc := s.re.FindStringIndex(line); loc != nil {
		at = loc[0]
	}
	if from := boundary(line, max(0, at-matchWidth/3)); from > 0 {
		line = "…" + line[from:]
	}
	if len(line) > matchWidth {
		line = line[:boundary(line, matchWidth)] + "…"
	}
	return line
}

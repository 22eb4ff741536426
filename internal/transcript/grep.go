package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	long := func(l *lineReader) error {
		data, err := shrunk(ctx, l)
		if err != nil {
			return err
		}
		return s.line(data)
	}
	_, err = forward{r: f, last: true, lines: s.lines, long: long}.read(ctx, 0)
	return err
}

// lines searches whole lines: it jumps from one that may match, or that may be
// a prompt, to the next.
func (s *searcher) lines(data []byte) error {
	needles := s.needles()
	at := make([]int, len(needles))
	for i := range at {
		at[i] = -1
	}
	for pos := 0; pos < len(data); {
		hit := len(data)
		for i, n := range needles {
			if at[i] < pos {
				if at[i] = len(data); len(n) == 0 {
					at[i] = pos
				} else if j := bytes.Index(data[pos:], n); j >= 0 {
					at[i] = pos + j
				}
			}
			hit = min(hit, at[i])
		}
		if hit == len(data) {
			return nil
		}
		from := bytes.LastIndexByte(data[:hit], '\n') + 1
		to := len(data)
		if j := bytes.IndexByte(data[hit:], '\n'); j >= 0 {
			to = hit + j
		}
		if err := s.line(bytes.Trim(data[from:to], "\x00 \t\r")); err != nil {
			return err
		}
		pos = to + 1
	}
	return nil
}

// needles are what a line holds when it must be decoded: the search's literal,
// or a prompt of the user, which counts the turns. An empty one stands for
// every line.
func (s *searcher) needles() [][]byte {
	if len(s.literal) == 0 {
		return [][]byte{nil}
	}
	if s.m.Client == Codex {
		return [][]byte{s.literal, []byte(`"role":"user"`)}
	}
	return [][]byte{
		s.literal,
		[]byte(`"role":"user","content":"`),
		[]byte(`"role":"user","content":[{"type":"text"`),
		[]byte(`"attachment":{"type":"queued_command"`),
	}
}

// line decodes a line, counts prompts and reports what matches.
func (s *searcher) line(data []byte) error {
	events, _ := s.dec.decode(data)
	for _, e := range events {
		role := e.role
		switch e.kind {
		case kindPrompt:
			if role == RoleUser {
				s.m.Turn++
			}
		case kindSay, kindCall:
			role = RoleAssistant
		case kindResult:
			role = RoleTool
		default:
			continue
		}
		if err := s.event(e, role); err != nil {
			return err
		}
	}
	return nil
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
		line, _ = mask(line)
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

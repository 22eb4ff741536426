// Package jsonedit changes a JSON file by inserting and deleting the fewest
// bytes, so that everything else in it stays as its owner wrote it: comments,
// order, indentation, numbers, duplicate keys, CRLF, a byte order mark, a
// missing last newline.
//
// It reads JSON with comments and trailing commas. Strict names the first
// place where a reader of plain JSON stops, for files whose reader is one.
// Where a key stands twice the last one counts, as in the clients' parsers.
//
// A Doc is a value in memory; nothing here touches a file.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

// A SyntaxError tells where a text stops being JSON. Line and Column count
// from 1, Column in bytes.
type SyntaxError struct {
	Line, Column int
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

const mark = "\xef\xbb\xbf" // the byte order mark some editors write

// A Doc is a parsed text. Its methods that change it leave it unchanged when
// they return an error.
type Doc struct {
	mark bool
	src  []byte // without the mark
	root hujson.Value
	none bool // no value at all: an empty file, or only comments
}

// Parse reads data. An empty text is an empty document: the first Set makes
// it an object.
func Parse(data []byte) (*Doc, error) {
	d := &Doc{mark: bytes.HasPrefix(data, []byte(mark))}
	return d, d.reset(bytes.TrimPrefix(data, []byte(mark)))
}

func (d *Doc) reset(src []byte) error {
	if skip(src, 0) == len(src) {
		if _, err := hujson.Parse(slices.Concat(src, []byte("\nnull"))); err != nil {
			return syntaxError(err)
		}
		d.src, d.root, d.none = src, hujson.Value{}, true
		return nil
	}
	root, err := hujson.Parse(src)
	if err != nil {
		return syntaxError(err)
	}
	d.src, d.root, d.none = src, root, false
	return nil
}

// syntaxError takes the position out of hujson's message, which has no type.
func syntaxError(err error) error {
	m := regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?:hujson: )?((?s:.*))$`).FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	line, _ := strconv.Atoi(m[1])   // digits, by the pattern
	column, _ := strconv.Atoi(m[2]) // digits, by the pattern
	return &SyntaxError{Line: line, Column: column, Msg: oneLine(m[3])}
}

// oneLine makes a message that quotes the file fit for a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}

// Bytes returns the text.
func (d *Doc) Bytes() []byte {
	if d.mark {
		return append([]byte(mark), d.src...)
	}
	return bytes.Clone(d.src)
}

// Strict returns nil when a reader of plain JSON takes the text too, else the
// first place where it stops. An empty text passes.
func (d *Doc) Strict() *SyntaxError {
	if d.none && len(bytes.TrimSpace(d.src)) == 0 {
		return nil
	}
	var v any
	err := json.Unmarshal(d.src, &v)
	if err == nil {
		return nil
	}
	at, msg := 0, err.Error()
	if e, ok := err.(*json.SyntaxError); ok {
		at = max(0, min(int(e.Offset)-1, len(d.src)))
	}
	if at < len(d.src) && (d.src[at] == '/' || at > 0 && d.src[at-1] == '/') {
		msg = "a comment"
	} else if at < len(d.src) && (d.src[at] == '}' || d.src[at] == ']') {
		msg = "a trailing comma before " + string(d.src[at])
	}
	line, column := position(d.src, at)
	return &SyntaxError{Line: line, Column: column, Msg: msg}
}

// Blank reports whether the document holds nothing: no value, no member, no
// element, and no comment.
func (d *Doc) Blank() bool {
	text := bytes.Join(bytes.Fields(d.src), nil)
	return len(text) == 0 || string(text) == "{}" || string(text) == "[]"
}

// HasMark reports whether the text begins with a byte order mark.
func (d *Doc) HasMark() bool { return d.mark }

func position(src []byte, at int) (line, column int) {
	before := src[:at]
	return 1 + bytes.Count(before, []byte("\n")), at - bytes.LastIndexByte(before, '\n')
}

// A Node is one value of a Doc; it is good until the Doc changes.
type Node struct {
	doc   *Doc
	value *hujson.Value
}

// Root returns the whole value; its Kind is 0 for an empty document.
func (d *Doc) Root() Node {
	if d.none {
		return Node{doc: d}
	}
	return Node{doc: d, value: &d.root}
}

// At follows path from the root: member names, and indexes in decimal.
func (d *Doc) At(path ...string) (Node, bool) {
	n := d.Root()
	for _, step := range path {
		next, ok := n.child(step)
		if !ok {
			return Node{}, false
		}
		n = next
	}
	return n, true
}

func (n Node) child(step string) (Node, bool) {
	for _, it := range backwards(n.items()) {
		if it.key == step {
			return Node{n.doc, it.value}, true
		}
	}
	return Node{}, false
}

func backwards(items []item) []item {
	out := make([]item, len(items))
	for i, it := range items {
		out[len(items)-1-i] = it
	}
	return out
}

// Kind is '{', '[', '"', '0', 't', 'f', 'n', or 0 when there is no value.
func (n Node) Kind() byte {
	if n.value == nil {
		return 0
	}
	return byte(n.value.Value.Kind())
}

// Text returns a string's value; "" for any other kind.
func (n Node) Text() string {
	if n.Kind() != '"' {
		return ""
	}
	return n.value.Value.(hujson.Literal).String()
}

// Raw returns the value as it is written.
func (n Node) Raw() string {
	if n.value == nil {
		return ""
	}
	return string(n.doc.src[n.value.StartOffset:n.value.EndOffset])
}

// Keys returns an object's member names in order, or an array's indexes.
func (n Node) Keys() []string {
	var keys []string
	for _, it := range n.items() {
		keys = append(keys, it.key)
	}
	return keys
}

// Len is the number of members or elements.
func (n Node) Len() int { return len(n.items()) }

// Position returns where the value begins, counted from 1.
func (n Node) Position() (line, column int) {
	if n.value == nil {
		return 1, 1
	}
	return position(n.doc.src, n.value.StartOffset)
}

// item is a member or an element with the offsets of its first byte and of
// the byte after its last.
type item struct {
	key        string
	value      *hujson.Value
	start, end int
}

func (n Node) items() []item {
	if n.value == nil {
		return nil
	}
	var out []item
	switch c := n.value.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			out = append(out, item{m.Name.Value.(hujson.Literal).String(), &m.Value, m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			out = append(out, item{strconv.Itoa(i), e, e.StartOffset, e.EndOffset})
		}
	}
	return out
}

// skip returns the offset of the first byte at or after at that is neither
// white space nor part of a comment.
func skip(src []byte, at int) int {
	for at < len(src) {
		rest := src[at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		case commentLen(rest) > 0:
			at += commentLen(rest)
		default:
			return at
		}
	}
	return at
}

// commentLen is the length of the comment that b begins with, 0 for none. A
// line comment ends before its newline; an open block comment is none.
func commentLen(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return i
		}
		return len(b)
	case bytes.HasPrefix(b, []byte("/*")):
		if i := bytes.Index(b[2:], []byte("*/")); i >= 0 {
			return 2 + i + 2
		}
	}
	return 0
}

// Package tomledit changes a TOML file by inserting and deleting whole lines
// and single values, so that everything else in it stays as its owner wrote
// it: comments, order, blank lines, CRLF, a byte order mark, a missing last
// newline.
//
// A Doc is a value in memory; nothing here touches a file.
package tomledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A SyntaxError tells where a text stops being TOML. Line and Column count
// from 1.
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
	mark   bool
	src    []byte // without the mark
	tables []table
	values map[string]any
}

// table is a header with its lines. The first one has no header: it is what
// stands before any.
type table struct {
	keys       []key
	array      bool
	start, end int // from its header's line to the line after its last value
	pairs      []pair
}

type pair struct {
	keys       []key
	value, end int // the value's bytes
}

// key is one part of a dotted key, with the range of its bytes.
type key struct {
	name     string
	from, to int
}

// Parse reads data.
func Parse(data []byte) (*Doc, error) {
	d := &Doc{mark: bytes.HasPrefix(data, []byte(mark))}
	return d, d.reset(bytes.TrimPrefix(data, []byte(mark)))
}

func (d *Doc) reset(src []byte) error {
	values := map[string]any{}
	if err := toml.Unmarshal(src, &values); err != nil {
		return syntaxError(err)
	}
	tables, err := scan(src)
	if err != nil {
		return err
	}
	d.src, d.values, d.tables = src, values, tables
	return nil
}

func syntaxError(err error) error {
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := e.Position()
		return &SyntaxError{Line: line, Column: column, Msg: strings.TrimPrefix(e.Error(), "toml: ")}
	}
	return err
}

// scan finds where tables and values stand.
func scan(src []byte) ([]table, error) {
	var p unstable.Parser
	p.Reset(src)
	tables := []table{{}}
	for p.NextExpression() {
		e := p.Expression()
		last := &tables[len(tables)-1]
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			t := table{keys: keysOf(e), array: e.Kind == unstable.ArrayTable}
			t.start = bytes.LastIndexByte(src[:t.keys[0].from], '\n') + 1
			t.end = nextLine(src, t.keys[len(t.keys)-1].to)
			tables = append(tables, t)
		case unstable.KeyValue:
			kv := pair{keys: keysOf(e), end: int(e.Raw.Offset + e.Raw.Length)}
			kv.value = kv.keys[len(kv.keys)-1].to
			kv.value += bytes.IndexByte(src[kv.value:], '=') + 1
			kv.value += len(src[kv.value:]) - len(bytes.TrimLeft(src[kv.value:], " \t"))
			last.pairs = append(last.pairs, kv)
			last.end = nextLine(src, kv.end)
		}
	}
	return tables, p.Error()
}

func keysOf(e *unstable.Node) []key {
	var keys []key
	for it := e.Key(); it.Next(); {
		k := it.Node()
		keys = append(keys, key{string(k.Data), int(k.Raw.Offset), int(k.Raw.Offset + k.Raw.Length)})
	}
	return keys
}

// nextLine is where the line after the byte at begins.
func nextLine(src []byte, at int) int {
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(src)
}

// Bytes returns the text.
func (d *Doc) Bytes() []byte {
	if d.mark {
		return append([]byte(mark), d.src...)
	}
	return bytes.Clone(d.src)
}

// Blank reports whether the text holds nothing at all.
func (d *Doc) Blank() bool { return len(bytes.TrimSpace(d.src)) == 0 }

// Value returns what stands at path, however it is written.
func (d *Doc) Value(path ...string) (any, bool) {
	var v any = d.values
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// Table reports whether path has a header of its own, and that line's text.
func (d *Doc) Table(path ...string) (header string, ok bool) {
	for _, t := range d.tables[1:] {
		if !t.array && slices.EqualFunc(t.keys, path, isNamed) {
			return strings.TrimSpace(string(d.src[t.start:nextLine(d.src, t.start)])), true
		}
	}
	return "", false
}

func isNamed(k key, name string) bool { return k.name == name }

// Names returns the keys directly below path, in no order.
func (d *Doc) Names(path ...string) []string {
	v, _ := d.Value(path...)
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Quote writes a TOML string.
func Quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	// TOML, unlike JSON, wants DEL escaped.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// QuoteKey writes a key, quoted only where it must be.
func QuoteKey(name string) string {
	for _, c := range []byte(name) {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return Quote(name)
		}
	}
	if name == "" {
		return Quote(name)
	}
	return name
}

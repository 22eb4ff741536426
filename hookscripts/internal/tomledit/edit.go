package tomledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A Line is a key and its value, written as TOML.
type Line struct{ Key, Value string }

// AppendTable adds a table at the end of the text, behind a blank line. A
// comment stands behind its header.
func (d *Doc) AppendTable(path []string, comment string, lines []Line) error {
	eol := d.eol()
	var b strings.Builder
	if len(d.src) > 0 {
		if !bytes.HasSuffix(d.src, []byte("\n")) {
			b.WriteString(eol)
		}
		b.WriteString(eol)
	}
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = QuoteKey(name)
	}
	b.WriteString("[" + strings.Join(names, ".") + "]")
	if comment != "" {
		b.WriteString(" # " + comment)
	}
	b.WriteString(eol)
	for _, l := range lines {
		b.WriteString(QuoteKey(l.Key) + " = " + l.Value + eol)
	}
	return d.splice(cut{len(d.src), len(d.src), b.String()})
}

// Set gives key the value in the table whose header is path, or adds it as
// the table's last line.
func (d *Doc) Set(path []string, key, value string) error {
	for _, t := range d.tables[1:] {
		if t.array || !slices.EqualFunc(t.keys, path, isNamed) {
			continue
		}
		for _, kv := range t.pairs {
			if len(kv.keys) == 1 && kv.keys[0].name == key {
				return d.splice(cut{kv.value, kv.end, value})
			}
		}
		text := QuoteKey(key) + " = " + value + d.eol()
		if !bytes.HasSuffix(d.src[:t.end], []byte("\n")) {
			text = d.eol() + text
		}
		return d.splice(cut{t.end, t.end, text})
	}
	return fmt.Errorf("no table [%s]", strings.Join(path, "."))
}

// Delete removes the tables at and below path that have headers of their own,
// each with its lines and the blank line before it. Comments on lines of
// their own stay.
func (d *Doc) Delete(path ...string) error {
	rest := *d
	for {
		i := slices.IndexFunc(rest.tables, func(t table) bool {
			return len(t.keys) >= len(path) && slices.EqualFunc(t.keys[:len(path)], path, isNamed)
		})
		if i < 1 || len(path) == 0 {
			*d = rest
			return nil
		}
		from, to := rest.tables[i].start, rest.tables[i].end
		if from == 0 {
			to = rest.blankAfter(to)
		} else {
			from = rest.blankBefore(from)
		}
		if err := rest.splice(cut{from, to, ""}); err != nil {
			return err
		}
	}
}

// Uncomment removes the comment behind the header of the table path.
func (d *Doc) Uncomment(path ...string) error {
	for _, t := range d.tables[1:] {
		if t.array || !slices.EqualFunc(t.keys, path, isNamed) {
			continue
		}
		from := t.keys[len(t.keys)-1].to
		from += bytes.IndexByte(d.src[from:], ']') + 1
		to := from + len(bytes.TrimRight(d.src[from:nextLine(d.src, from)], "\r\n"))
		return d.splice(cut{from, to, ""})
	}
	return fmt.Errorf("no table [%s]", strings.Join(path, "."))
}

// blankBefore returns where the blank line before the line at begins, or at.
func (d *Doc) blankBefore(at int) int {
	for _, blank := range []string{"\n\r\n", "\n\n"} {
		if bytes.HasSuffix(d.src[:at], []byte(blank)) {
			return at - len(blank) + 1
		}
	}
	return at
}

// blankAfter returns where the blank line at ends, or at.
func (d *Doc) blankAfter(at int) int {
	for _, blank := range []string{"\r\n", "\n"} {
		if bytes.HasPrefix(d.src[at:], []byte(blank)) {
			return at + len(blank)
		}
	}
	return at
}

// Rename gives every key path+from the name path+to, in headers and in values,
// where it is written out as a key.
func (d *Doc) Rename(path []string, names map[string]string) error {
	var cuts []cut
	visit := func(keys []key, from int) {
		i := len(path)
		if len(keys) <= i || i < from || !slices.EqualFunc(keys[:i], path, isNamed) {
			return
		}
		if to, ok := names[keys[i].name]; ok {
			cuts = append(cuts, cut{keys[i].from, keys[i].to, QuoteKey(to)})
		}
	}
	for _, t := range d.tables {
		visit(t.keys, 0)
		for _, kv := range t.pairs {
			visit(slices.Concat(t.keys, kv.keys), len(t.keys))
		}
	}
	return d.splice(cuts...)
}

// cut is one replacement of src[from:to].
type cut struct {
	from, to int
	text     string
}

// splice applies the cuts, which come in order and don't overlap, and parses
// the result: a change that would break the document is refused here.
func (d *Doc) splice(cuts ...cut) error {
	var out bytes.Buffer
	at := 0
	for _, c := range cuts {
		out.Write(d.src[at:c.from])
		out.WriteString(c.text)
		at = c.to
	}
	out.Write(d.src[at:])
	return d.reset(out.Bytes())
}

// eol is how the text ends its first line; "\n" for a single line.
func (d *Doc) eol() string {
	if i := bytes.IndexByte(d.src, '\n'); i > 0 && d.src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
)

// eol is how the text ends its first line; "\n" for a single line.
func (d *Doc) eol() string {
	if i := bytes.IndexByte(d.src, '\n'); i > 0 && d.src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// isMultiline reports whether a container's items stand on lines of their
// own. An empty one does as the whole document does, and an empty document
// gets lines.
func (d *Doc) isMultiline(c Node) bool {
	items := c.items()
	if len(items) > 0 {
		return bytes.Contains(d.src[c.value.StartOffset:items[0].start], []byte("\n"))
	}
	root := d.Root()
	return root.Len() == 0 || d.isMultiline(root)
}

// unit is one level of indentation: the white space before the root's first
// member, else two blanks.
func (d *Doc) unit() string {
	if items := d.Root().items(); len(items) > 0 && d.isMultiline(d.Root()) {
		if in := d.lineIndent(items[0].start); in != "" {
			return in
		}
	}
	return "  "
}

// itemIndent is the white space before a new item of a container whose items
// stand on lines of their own.
func (d *Doc) itemIndent(c Node) string {
	if items := c.items(); len(items) > 0 {
		return d.lineIndent(items[0].start)
	}
	return d.lineIndent(c.value.StartOffset) + d.unit()
}

// lineIndent is the white space that begins the line of the byte at.
func (d *Doc) lineIndent(at int) string {
	line := d.src[bytes.LastIndexByte(d.src[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// colon and comma are the separators on one line as the document writes them:
// a minified document gets no blanks.
func (d *Doc) colon() string {
	if items := d.Root().items(); len(items) > 0 && d.src[items[0].value.StartOffset-1] == ':' {
		return ":"
	}
	return ": "
}

func (d *Doc) comma() string {
	if d.colon() == ":" && !d.isMultiline(d.Root()) {
		return ","
	}
	return ", "
}

// render writes the JSON value raw in the document's style: on lines of its
// own behind indent, or on one line.
func (d *Doc) render(raw, indent string, wide bool) string {
	var b bytes.Buffer
	if wide {
		// raw is ours and valid; a wrong one is refused when splice parses.
		if err := json.Indent(&b, []byte(raw), indent, d.unit()); err != nil {
			return raw
		}
		text := b.String()
		if d.colon() == ":" {
			text = respace(text, ": ", ":")
		}
		return strings.ReplaceAll(text, "\n", d.eol())
	}
	if err := json.Compact(&b, []byte(raw)); err != nil {
		return raw
	}
	return respace(respace(b.String(), ":", d.colon()), ",", d.comma())
}

// respace replaces old by with everywhere outside of strings.
func respace(text, old, with string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(text); {
		switch {
		case inside && text[i] == '\\' && i+1 < len(text):
			b.WriteString(text[i : i+2])
			i += 2
		case !inside && strings.HasPrefix(text[i:], old):
			b.WriteString(with)
			i += len(old)
		default:
			inside = inside != (text[i] == '"')
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Set adds the member key with the JSON value raw at the end of the object at
// path, or replaces the value when the key is there. The object must exist;
// only an empty document makes its root.
func (d *Doc) Set(path []string, key, raw string) error {
	if d.none && len(path) == 0 {
		return d.begin(key, raw)
	}
	obj, ok := d.At(path...)
	if !ok || obj.Kind() != '{' {
		return fmt.Errorf("%s is not an object", where(path))
	}
	if old, ok := obj.child(key); ok {
		return d.splice(cut{old.value.StartOffset, old.value.EndOffset, d.render(raw, d.lineIndent(old.value.StartOffset), d.isMultiline(old))})
	}
	return d.insert(obj, Quote(key), raw)
}

// Put replaces the value at path by raw, byte for byte.
func (d *Doc) Put(path []string, raw string) error {
	n, ok := d.At(path...)
	if !ok || n.value == nil {
		return fmt.Errorf("%s is not there", where(path))
	}
	return d.splice(cut{n.value.StartOffset, n.value.EndOffset, raw})
}

// Append adds the JSON value raw at the end of the array at path.
func (d *Doc) Append(path []string, raw string) error {
	arr, ok := d.At(path...)
	if !ok || arr.Kind() != '[' {
		return fmt.Errorf("%s is not an array", where(path))
	}
	return d.insert(arr, "", raw)
}

// Delete removes the member or element at path. What a Set or an Append added
// leaves exactly the text that was there before it, unless the container was
// empty.
func (d *Doc) Delete(path ...string) error {
	if len(path) == 0 {
		return errors.New("the whole document can't be deleted")
	}
	parent, ok := d.At(path[:len(path)-1]...)
	if !ok {
		return fmt.Errorf("%s is not there", where(path))
	}
	items := parent.items()
	i := len(items) - 1
	for ; i >= 0 && items[i].key != path[len(path)-1]; i-- {
	}
	if i < 0 {
		return fmt.Errorf("%s is not there", where(path))
	}
	if len(items) == 1 {
		return d.empty(parent, items[0])
	}
	return d.remove(parent, items, i)
}

func where(path []string) string {
	if len(path) == 0 {
		return "the document"
	}
	return strings.Join(path, ".")
}

// Quote writes a JSON string.
func Quote(s string) string { return string(hujson.String(s)) }

// cut is one replacement of src[from:to].
type cut struct {
	from, to int
	text     string
}

// splice applies the cuts, which must not overlap, and parses the result: a
// change that would break the document is refused here.
func (d *Doc) splice(cuts ...cut) error {
	slices.SortStableFunc(cuts, func(a, b cut) int { return a.from - b.from })
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

// begin writes the first value of an empty document, after its comments.
func (d *Doc) begin(key, raw string) error {
	text := "{}"
	if len(d.src) > 0 && !bytes.HasSuffix(d.src, []byte("\n")) && len(bytes.TrimSpace(d.src)) > 0 {
		text = d.eol() + text // after a line comment without a newline
	}
	text += d.eol()
	before := *d
	if err := d.splice(cut{len(d.src), len(d.src), text}); err != nil {
		*d = before
		return err
	}
	if err := d.Set(nil, key, raw); err != nil {
		*d = before
		return err
	}
	return nil
}

// insert adds an item at the end of the container.
func (d *Doc) insert(c Node, name, raw string) error {
	items := c.items()
	wide := d.isMultiline(c)
	lead, indent := "", ""
	if wide {
		indent = d.itemIndent(c)
		lead = d.eol() + indent
	}
	text := d.render(raw, indent, wide)
	if name != "" {
		text = name + d.colon() + text
	}
	if len(items) == 0 {
		open, end := c.value.StartOffset+1, c.value.EndOffset-1
		tail := ""
		if wide && !bytes.Contains(d.src[open:end], []byte("\n")) {
			tail = d.eol() + d.lineIndent(c.value.StartOffset)
		}
		return d.splice(cut{open, open, lead + text + tail})
	}
	at := d.afterLine // on lines of their own, a note behind the last item stays there
	if !wide {
		lead = d.comma()[1:]
		at = func(at int) int { return at }
	}
	last := items[len(items)-1].end
	if comma := skip(d.src, last); d.src[comma] == ',' {
		return d.splice(cut{at(comma + 1), at(comma + 1), lead + text + ","})
	}
	return d.splice(cut{last, last, ","}, cut{at(last), at(last), lead + text})
}

// afterLine returns the offset after the comments that begin on the line of
// at.
func (d *Doc) afterLine(at int) int {
	end := at
	for i := at; i < len(d.src); {
		switch n := commentLen(d.src[i:]); {
		case n > 0:
			i += n
			end = i
		case d.src[i] == ' ' || d.src[i] == '\t':
			i++
		default:
			return end
		}
	}
	return end
}

// remove deletes one of several items with its comma: the one behind it, or
// the one before it when it is the last item.
func (d *Doc) remove(c Node, items []item, i int) error {
	it, gap := items[i], c.value.StartOffset+1
	if i > 0 {
		gap = skip(d.src, items[i-1].end) + 1
	}
	cuts := []cut{{it.start, it.end, ""}}
	comma := skip(d.src, it.end)
	switch {
	case comma == it.end && d.src[comma] == ',':
		cuts[0].to++
	case d.src[comma] == ',':
		cuts = append(cuts, cut{comma, comma + 1, ""}) // the comment between stays
	default:
		comma = skip(d.src, items[i-1].end)
		cuts = append(cuts, cut{comma, comma + 1, ""})
	}
	d.widen(&cuts[0], gap, i < len(items)-1)
	return d.splice(cuts...)
}

// widen extends the cut of an item by the white space that came with it: the
// newline and indentation of an item that has its line for itself, else the
// blanks on one of its sides. gap is where the space before the item begins.
func (d *Doc) widen(c *cut, gap int, more bool) {
	before, after := c.from, c.to
	for strings.IndexByte(" \t", d.src[before-1]) >= 0 {
		before--
	}
	for strings.IndexByte(" \t", d.src[after]) >= 0 {
		after++
	}
	endsLine := d.src[after] == '\n' || bytes.HasPrefix(d.src[after:], []byte("\r\n"))
	switch {
	case d.src[before-1] == '\n' && (endsLine || !d.lineComment(gap, before)):
		c.from = before - 1
		if d.src[c.from-1] == '\r' {
			c.from--
		}
	case d.src[before-1] == '\n':
		// The rest of the line stays where it is: joined to the line above it
		// would become part of the comment there.
	case more && !endsLine:
		c.to = after
	default:
		c.from = before
	}
}

// lineComment reports whether src[from:to], space between two items, ends in
// a line comment.
func (d *Doc) lineComment(from, to int) bool {
	slashes := false
	for at := from; at < to; at++ {
		if n := commentLen(d.src[at:]); n > 0 {
			slashes = d.src[at+1] == '/'
			at += n - 1
		}
	}
	return slashes
}

// empty deletes a container's only item.
func (d *Doc) empty(c Node, it item) error {
	open, end := c.value.StartOffset+1, c.value.EndOffset-1
	to := it.end
	if comma := skip(d.src, to); comma < end && d.src[comma] == ',' {
		to = comma + 1
	}
	if skip(d.src, open) == it.start && len(bytes.TrimSpace(d.src[open:it.start])) == 0 && len(bytes.TrimSpace(d.src[to:end])) == 0 {
		return d.splice(cut{open, end, ""})
	}
	return d.splice(cut{it.start, to, ""})
}

package agentsim

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// key is one thing a terminal sends: text (typed or pasted) or a named key.
type key struct {
	text string
	name keyName
}

type keyName int

const (
	keyText keyName = iota
	keyEnter
	keyBackspace
	keyEscape
	keyInterrupt // Ctrl-C
	keyGone      // the terminal is gone
)

// readKeys sends what comes from a raw terminal until it ends.
func readKeys(in io.Reader, out chan<- key) {
	var d keyDecoder
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		for _, k := range d.feed(buf[:n]) {
			out <- k
		}
		if err != nil {
			out <- key{name: keyGone}
			return
		}
	}
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// keyDecoder turns reads of a terminal into keys. A paste may span reads.
type keyDecoder struct {
	pending []byte
	pasting bool
}

func (d *keyDecoder) feed(p []byte) []key {
	d.pending = append(d.pending, p...)
	var out []key
	for len(d.pending) > 0 {
		if d.pasting {
			i := bytes.Index(d.pending, []byte(pasteEnd))
			if i < 0 {
				return out
			}
			text := bytes.ReplaceAll(d.pending[:i], []byte("\r"), []byte("\n"))
			out = append(out, key{text: string(text)})
			d.pending, d.pasting = d.pending[i+len(pasteEnd):], false
			continue
		}
		k, n := d.next()
		if n == 0 {
			return out // an incomplete sequence: wait for its rest
		}
		d.pending = d.pending[n:]
		if k != (key{}) {
			out = append(out, k)
		}
	}
	return out
}

// next decodes one key from pending and returns how many bytes it took.
func (d *keyDecoder) next() (key, int) {
	p := d.pending
	switch p[0] {
	case '\r':
		return key{name: keyEnter}, 1
	case '\n':
		return key{text: "\n"}, 1 // Ctrl-J is a newline to both clients
	case 0x7f, 0x08:
		return key{name: keyBackspace}, 1
	case 0x03:
		return key{name: keyInterrupt}, 1
	case 0x1b:
		return d.escape()
	}
	if p[0] < ' ' {
		return key{}, 1
	}
	if !utf8.FullRune(p) {
		return key{}, 0
	}
	_, n := utf8.DecodeRune(p)
	return key{text: string(p[:n])}, n
}

// escape decodes a sequence. A lone ESC at the end of a read is the Esc key:
// terminals send sequences in one write.
func (d *keyDecoder) escape() (key, int) {
	p := d.pending
	if len(p) == 1 {
		return key{name: keyEscape}, 1
	}
	if p[1] != '[' {
		return key{name: keyEscape}, 1
	}
	for i := 2; i < len(p); i++ {
		if p[i] >= 0x40 && p[i] <= 0x7e {
			if string(p[:i+1]) == pasteStart {
				d.pasting = true
			}
			return key{}, i + 1
		}
	}
	return key{}, 0
}

package tui

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"peermux/internal/screen"
)

// What is painted stands on the terminal, and only lines that differ are written.
func TestPaint(t *testing.T) {
	const width, height = 10, 3
	terminal := screen.NewModel(width, height)
	var written bytes.Buffer
	p := painter{out: io.MultiWriter(terminal, &written)}
	paint := func(lines ...string) string {
		t.Helper()
		written.Reset()
		check(t, p.paint(lines))
		for i, l := range terminal.Screen().Lines {
			if l.Text() != lines[i] {
				t.Errorf("line %d is %q, want %q", i, l.Text(), lines[i])
			}
		}
		return written.String()
	}
	paint("0123456789", "a long one", "c")
	if out := paint("0123456789", "b", "c"); strings.Contains(out, "0123") || strings.Contains(out, "c\x1b") {
		t.Errorf("more was written than has changed: %q", out)
	}
	if out := paint("0123456789", "b", "c"); out != "" {
		t.Errorf("nothing has changed, and %q was written", out)
	}
	p.clear()
	if out := paint("0123456789", "b", "c"); !strings.Contains(out, "0123456789") {
		t.Errorf("after a resize only %q was written", out)
	}
}

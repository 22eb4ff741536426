// Command picture records what a program prints on a terminal and writes it as
// an SVG: picture OUT.svg PROGRAM [ARG…]. The README's picture is made by it
// (make picture), so it shows what really happened.
//
// It understands what a line-by-line program prints: text, newlines and SGR
// attributes. Full-screen programs are not its business.
package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

const (
	columns    = 108
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 20
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: picture OUT.svg PROGRAM [ARG…]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture: error:", err)
		os.Exit(1)
	}
}

func run(out string, program []string) error {
	text, err := record(program)
	if err != nil {
		return err
	}
	return os.WriteFile(out, draw(text), 0o644)
}

// record runs the program on a terminal of its own.
func record(program []string) (string, error) {
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 60, Cols: columns})
	if err != nil {
		return "", err
	}
	defer f.Close()
	var buf bytes.Buffer
	// Linux reports the end of a terminal's program as EIO; Wait tells how it ended.
	_, copied := io.Copy(&buf, f)
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w (%v)\n%s", program[0], err, copied, buf.String())
	}
	return strings.ReplaceAll(buf.String(), "\r", ""), nil
}

// look is how text is drawn.
type look struct {
	bold, dim bool
	colour    string
}

const (
	ink   = "#d8dee9"
	faint = "#7f8896"
)

// draw lays the lines out on a dark card.
func draw(text string) []byte {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	width := columns*cellWidth + 2*margin
	height := len(lines)*lineHeight + 2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="10" fill="#1d2129"/>`+"\n")
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="%s" xml:space="preserve">`+"\n", ink)
	at := look{colour: ink}
	for i, line := range lines {
		fmt.Fprintf(&b, `<text y="%d">`, margin+15+i*lineHeight)
		at = drawLine(&b, line, at)
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// drawLine writes one line in runs of one look. Each run says where it starts,
// so that columns hold whatever font the reader has.
func drawLine(b *bytes.Buffer, line string, at look) look {
	var state byte
	parser := ansi.NewParser()
	column, run, start := 0, "", 0
	flush := func() {
		if strings.TrimSpace(run) != "" {
			fmt.Fprintf(b, `<tspan x="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</tspan>`, margin+float64(start)*cellWidth,
				float64(ansi.StringWidth(run))*cellWidth, at.attributes(), html.EscapeString(run))
		}
		run, start = "", column
	}
	for len(line) > 0 {
		seq, width, n, next := ansi.DecodeSequence(line, state, parser)
		if width > 0 {
			run += seq
			column += width
		} else if ansi.Cmd(parser.Command()).Final() == 'm' && strings.HasPrefix(seq, "\x1b[") {
			flush()
			at = at.apply(parser.Params())
		}
		state, line = next, line[n:]
	}
	flush()
	return at
}

func (l look) attributes() string {
	out := ""
	if l.bold {
		out += ` font-weight="bold"`
	}
	if l.dim && l.colour == ink {
		l.colour = faint
	}
	if l.colour != ink {
		out += fmt.Sprintf(` fill="%s"`, l.colour)
	}
	return out
}

// apply follows the attributes of an SGR sequence, in the 8 and 16 colours.
func (l look) apply(params ansi.Params) look {
	if len(params) == 0 {
		return look{colour: ink}
	}
	palette := []string{"#4c566a", "#e06c75", "#8fbf6f", "#e5c07b", "#6fa8dc", "#c58fd6", "#65b8c6", "#d8dee9"}
	for _, p := range params {
		switch n := p.Param(0); {
		case n == 0:
			l = look{colour: ink}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 39:
			l.colour = ink
		case n >= 30 && n <= 37:
			l.colour = palette[n-30]
		case n >= 90 && n <= 97:
			l.colour = palette[n-90]
		}
	}
	return l
}

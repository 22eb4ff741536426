// Command picture records what a program prints on a terminal and writes it as an
// SVG. The README's pictures are made by it (make picture), so they show what really
// happened:
//
//	picture OUT.svg PROGRAM [ARG…]   a program that prints line by line, whole
//	picture -top OUT.svg PEERMUX     peermux top among stand-in agents, at one moment
//
// It understands text, newlines and SGR attributes; of a full-screen program tmux
// gives just these.
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
	columns    = 108 // of a program that prints line by line
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 20
)

func main() {
	args, take := os.Args[1:], record
	if len(args) > 0 && args[0] == "-top" {
		args, take = args[1:], recordTop
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: picture [-top] OUT.svg PROGRAM [ARG…]")
		os.Exit(2)
	}
	if err := run(args[0], args[1:], take); err != nil {
		fmt.Fprintln(os.Stderr, "picture: error:", err)
		os.Exit(1)
	}
}

func run(out string, program []string, take func([]string) (string, error)) error {
	text, err := take(program)
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
	bold, dim, reverse bool
	colour             string
}

const (
	ink   = "#d8dee9"
	faint = "#7f8896"
	card  = "#1d2129"
)

// draw lays the lines out on a dark card.
func draw(text string) []byte {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	wide := columns
	for _, l := range lines {
		wide = max(wide, ansi.StringWidth(l))
	}
	width := float64(wide)*cellWidth + 2*margin
	height := len(lines)*lineHeight + 2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="10" fill="%s"/>`+"\n", card)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="%s" xml:space="preserve">`+"\n", ink)
	at := look{colour: ink}
	for i, line := range lines {
		y := margin + 15 + i*lineHeight
		fmt.Fprintf(&b, `<text y="%d">`, y)
		at = drawLine(&b, y, line, at)
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// drawLine writes one line in runs of one look. Each run says where it starts,
// so that columns hold whatever font the reader has.
func drawLine(b *bytes.Buffer, y int, line string, at look) look {
	var state byte
	parser := ansi.NewParser()
	column, run, start := 0, "", 0
	flush := func() {
		if at.reverse {
			fmt.Fprintf(b, `</text><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text y="%d">`, margin+float64(start)*cellWidth, y-15,
				float64(ansi.StringWidth(run))*cellWidth, lineHeight, at.colour, y)
		}
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
	if l.reverse {
		l.colour = card
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
		case n == 7:
			l.reverse = true
		case n == 22:
			l.bold, l.dim = false, false
		case n == 27:
			l.reverse = false
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

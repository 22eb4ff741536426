package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// page prints the demo as a transcript: time, who, to whom, what.
type page struct {
	out    io.Writer
	colour bool
	start  time.Time
	scenes int
}

// Colours, as SGR parameters.
const (
	dim   = "2"
	bold  = "1"
	green = "32"
)

// colourOf gives each of the demo's agents a colour of its own.
func colourOf(name string) string {
	switch name {
	case "web":
		return "36"
	case "api":
		return "35"
	}
	return "33"
}

func (p *page) paint(sgr, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// print writes a line; a reader that went away (a closed pipe) must not make a
// step of the demo fail.
func (p *page) print(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

func (p *page) title(text string) {
	p.print("%s %s", p.paint(bold, "peermux demo:"), text)
}

func (p *page) heading(text string) {
	p.scenes++
	p.print("\n %s %s", p.paint(dim, fmt.Sprintf("%d", p.scenes)), p.paint(bold, text))
}

// Names are at most five characters long here.
const whoWidth = 5

// line is something that happens now.
func (p *page) line(who, arrow, whom, format string, args ...any) {
	p.at(time.Now(), who, arrow, whom, format, args...)
}

// at is something that happened at a time.
func (p *page) at(at time.Time, who, arrow, whom, format string, args ...any) {
	p.print("   %s  %s %s%s", p.paint(dim, p.clock(at)), p.name(who), p.to(arrow, whom), fmt.Sprintf(format, args...))
}

// message is what one party writes to another.
func (p *page) message(at time.Time, from, to, text string) {
	p.at(at, from, "→", to, "%s", text)
}

// check states what was just proven.
func (p *page) check(format string, args ...any) {
	p.print("   %s  %s %s", strings.Repeat(" ", len(p.clock(p.start))-1)+p.paint(green, "✓"), strings.Repeat(" ", whoWidth), fmt.Sprintf(format, args...))
}

// command shows a command of peermux and what it printed.
func (p *page) command(command, output string) {
	p.print("          %s%s", p.paint(dim, "$ "), command)
	for line := range strings.Lines(output) {
		p.print("          %s", p.paint(dim, strings.TrimRight(line, "\n")))
	}
}

func (p *page) end(format string, args ...any) {
	p.print("\n %s %s", p.paint(green, "✓"), fmt.Sprintf(format, args...))
	p.print("   now with your own agents: %s", p.paint(bold, "peermux setup"))
}

func (p *page) clock(at time.Time) string {
	return fmt.Sprintf("%4.1fs", max(0, at.Sub(p.start).Seconds()))
}

func (p *page) name(who string) string {
	return p.paint(colourOf(who), who) + strings.Repeat(" ", max(0, whoWidth-len(who)))
}

func (p *page) to(arrow, whom string) string {
	if whom == "" {
		return ""
	}
	return arrow + " " + p.paint(colourOf(whom), whom) + "  "
}

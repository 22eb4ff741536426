package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// table lays rows out in columns as wide as their widest cell. With a width,
// the widest columns give way until a row fits, so that nothing wraps.
type table struct {
	head  []string
	rows  [][]string
	width int // columns of the terminal; 0: no limit
	bold  bool
}

// add appends a row. Names, paths and branches in it are other people's: nothing in
// them reaches the terminal as a command.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(clean(cell), "\n", " ")
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) error {
	sizes := t.sizes()
	lines := append([][]string{t.head}, t.rows...)
	for i, row := range lines {
		var b strings.Builder
		for c, cell := range row {
			if c == len(row)-1 {
				b.WriteString(ansi.Truncate(cell, sizes[c], "…"))
				break
			}
			cell = ansi.Truncate(cell, sizes[c], "…")
			b.WriteString(cell + strings.Repeat(" ", sizes[c]-ansi.StringWidth(cell)+2))
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 && t.bold {
			line = ansi.Style{}.Bold().Styled(line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns each column's width. A column never gets narrower than its
// heading or eight cells, whichever is more.
func (t *table) sizes() []int {
	sizes := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for c, cell := range row {
			sizes[c] = max(sizes[c], ansi.StringWidth(cell))
		}
	}
	if t.width == 0 {
		return sizes
	}
	for total(sizes) > t.width {
		widest := -1
		for c := range sizes {
			if sizes[c] > max(8, ansi.StringWidth(t.head[c])) && (widest < 0 || sizes[c] > sizes[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		sizes[widest]--
	}
	return sizes
}

func total(sizes []int) int {
	sum := 2 * (len(sizes) - 1)
	for _, s := range sizes {
		sum += s
	}
	return sum
}

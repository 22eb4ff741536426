package transcript

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Markdown writes a conversation as a Markdown page: a heading for each turn,
// the words as they are, and tools as code blocks. A line of a conversation
// that looks like a heading is escaped, so that none can pass for a turn.
func Markdown(w io.Writer, t Tail, title string) error {
	var b strings.Builder
	if title == "" {
		title = "Conversation " + t.SessionID
	}
	fmt.Fprintf(&b, "# %s\n\n", title)
	fmt.Fprintf(&b, "- client: %s\n- session: %s\n- file: %s\n", t.Client, t.SessionID, t.File)
	if t.ForkOf != "" {
		fmt.Fprintf(&b, "- forked from: %s\n", t.ForkOf)
	}
	if t.Truncated {
		b.WriteString("- older turns: left out\n")
	}
	if t.Masked > 0 {
		fmt.Fprintf(&b, "- secrets masked: %d\n", t.Masked)
	}
	for _, o := range t.Omitted {
		fmt.Fprintf(&b, "- left out: %s\n", o)
	}
	for _, turn := range t.Turns {
		b.WriteString("\n")
		markdownTurn(&b, &turn)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownTurn(b *strings.Builder, t *Turn) {
	name := strings.ToUpper(t.Role[:1]) + t.Role[1:]
	if t.Agent != "" {
		name += " (subagent " + t.Agent + ")"
	}
	if !t.At.IsZero() {
		name += " · " + t.At.UTC().Format(time.DateTime) + " UTC"
	}
	if !t.Complete {
		name += " · not finished"
	}
	fmt.Fprintf(b, "## %s\n", name)
	if t.Text != "" {
		fmt.Fprintf(b, "\n%s\n", withoutHeadings(t.Text))
	}
	for _, tool := range t.Tools {
		markdownTool(b, &tool)
	}
}

func markdownTool(b *strings.Builder, tool *ToolUse) {
	name := tool.Name
	if name == "" {
		name = "tool"
	}
	fmt.Fprintf(b, "\n**%s**\n", name)
	if tool.Input != "" {
		codeBlock(b, tool.Input)
	}
	switch {
	case !tool.Done:
		b.WriteString("\nNo result yet.\n")
	case tool.Failed:
		b.WriteString("\nFailed:\n")
	case tool.Output != "":
		b.WriteString("\nResult:\n")
	}
	if tool.Output != "" {
		codeBlock(b, tool.Output)
	}
}

// codeBlock fences s with more backticks than s has in a row.
func codeBlock(b *strings.Builder, s string) {
	longest, run := 2, 0
	for _, c := range s {
		if c != '`' {
			run = 0
			continue
		}
		if run++; run > longest {
			longest = run
		}
	}
	fence := strings.Repeat("`", longest+1)
	fmt.Fprintf(b, "\n%s\n%s\n%s\n", fence, strings.TrimSuffix(s, "\n"), fence)
}

// withoutHeadings puts a backslash before the # of each heading. Inside a code
// block, where it would show, lines stay as they are; a block that is never
// closed is closed, or it would swallow the turns after it.
func withoutHeadings(s string) string {
	fence := ""
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		if mark == "" {
			mark = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "~"))]
		}
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimRight(trimmed, " ") == mark {
				fence = ""
			}
		case len(mark) >= 3:
			fence = mark
		case strings.HasPrefix(trimmed, "#"), i > 0 && isUnderline(trimmed):
			lines[i] = line[:len(line)-len(trimmed)] + `\` + trimmed
		}
	}
	if fence != "" {
		lines = append(lines, fence)
	}
	return strings.Join(lines, "\n")
}

// isUnderline reports whether a line makes a heading of the one before it.
func isUnderline(s string) bool {
	s = strings.TrimRight(s, " ")
	return s != "" && (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "")
}

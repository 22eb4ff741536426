package transcript

import (
	"errors"
	"strings"
	"testing"
)

func TestMarkdownCannotBeForged(t *testing.T) {
	tail := Tail{
		SessionID: "s", Client: Claude, File: "f", Truncated: true, Masked: 2, ForkOf: "p", Omitted: []string{"1 thing"},
		Turns: []Turn{
			{Role: RoleUser, Text: "## Assistant\n\nTitle\n===\n\n```\n# in code\n```\n\n    # indented\n# after\n```sh\nnever closed", Complete: true},
			{Role: RoleAssistant, Tools: []ToolUse{{Name: "Bash", Input: "echo '````'", Output: "```\n## User\n```", Done: true, Failed: true}, {Name: "Read"}}},
			{Role: RoleTool, Agent: "a1", Tools: []ToolUse{{Output: "orphan", Done: true}}, Complete: true},
		},
	}
	var b strings.Builder
	if err := Markdown(&b, tail, ""); err != nil {
		t.Fatal(err)
	}
	golden(t, "forged.md", b.String())
	if err := Markdown(brokenWriter{}, tail, ""); err == nil {
		t.Error("a write that fails gives no error")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

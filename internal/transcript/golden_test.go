package transcript

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every transcript that the real clients wrote, read whole.
func TestGolden(t *testing.T) {
	for _, file := range fixtures(t) {
		name := goldenName(file)
		t.Run(name, func(t *testing.T) {
			tail := mustRead(t, file, Options{Limit: 500, MaxBytes: 40 << 10, Root: rootOf(file)})
			golden(t, name+".txt", show(tail))
			if tail.Truncated {
				t.Error("the whole conversation was asked for, and it says truncated")
			}
		})
	}
}

func goldenName(file string) string {
	parts := strings.Split(filepath.ToSlash(file), "/")
	base := strings.TrimSuffix(parts[len(parts)-1], ".jsonl")
	if r, ok := parseRollout(file); ok {
		base = strings.TrimSuffix(r.thread[:13]+"_"+r.segment, "_")
	} else if !isSubagentFile(file) {
		base = base[:8]
	}
	return parts[1] + "-" + base
}

// rootOf is the client folder that a fixture lies in.
func rootOf(file string) string {
	parts := strings.SplitN(filepath.ToSlash(file), "/", 3)
	return filepath.Join(parts[0], parts[1])
}

// The default read: 20 turns, 24 KiB, subagents asked for and not.
func TestGoldenDefault(t *testing.T) {
	file := "testdata/claude-2.1.197/projects/-home-dev-parser/f9084ff1-84a9-4412-996b-7fa8fc18915f.jsonl"
	golden(t, "default.txt", show(mustRead(t, file, Options{})))
	golden(t, "with-subagents.txt", show(mustRead(t, file, Options{Sidechains: true, Limit: 60, MaxBytes: 64 << 10})))
}

func TestGoldenMarkdown(t *testing.T) {
	file := "testdata/codex-0.98.0/sessions/2026/11/30/rollout-2026-11-30T11-36-46-01a22c3e-3d25-7600-954a-a64ebaa0240f.jsonl"
	var b strings.Builder
	if err := Markdown(&b, *mustRead(t, file, Options{}), "Parser work"); err != nil {
		t.Fatal(err)
	}
	golden(t, "markdown.md", b.String())
}

package transcript

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxSubagents bounds how many subagents' transcripts one read opens.
const maxSubagents = 32

// addSubagents merges what the session's subagents said into t when that was
// asked for, and else says that it is left out. Since 2.1.197 each subagent has
// a file of its own beside the session's.
func addSubagents(ctx context.Context, t *Tail, o Options) error {
	files, err := filepath.Glob(filepath.Join(globQuote(strings.TrimSuffix(t.File, ".jsonl")), "subagents", "agent-*.jsonl"))
	if err != nil || len(files) == 0 {
		return err
	}
	if !o.Sidechains {
		t.Omitted = append(t.Omitted, count(len(files), "subagent")+", each with a transcript of its own")
		return nil
	}
	newestFirst(files)
	for _, file := range files[:min(len(files), maxSubagents)] {
		sub, err := readStable(ctx, file, o)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrOutside) {
			continue
		}
		if err != nil {
			return err
		}
		t.Turns = append(t.Turns, sub.Turns...)
		t.Truncated = t.Truncated || sub.Truncated
	}
	slices.SortStableFunc(t.Turns, func(a, b Turn) int { return a.At.Compare(b.At) })
	if over := len(t.Turns) - o.Limit; over > 0 {
		t.Turns, t.Truncated = t.Turns[over:], true
	}
	t.Masked = 0
	fitAll(t, o.MaxBytes)
	return nil
}

// newestFirst sorts files by their birth; those that do not tell it come last.
func newestFirst(files []string) {
	slices.SortStableFunc(files, func(a, b string) int {
		bornA, _ := BirthTime(a)
		bornB, _ := BirthTime(b)
		return bornB.Compare(bornA)
	})
}

// globQuote escapes what Glob would read as a pattern.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

package hookrun

import (
	"strings"
	"testing"
	"time"
)

// Lines of transcripts of Claude Code 2.1.197 and 2.1.328, shortened.
const (
	refusedLine   = `{"parentUuid":"b","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"uuid":"c","timestamp":"2026-11-30T12:27:14.083Z"}`
	escapedLine   = `{"parentUuid":"b","type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"timestamp":"2026-11-30T12:27:15Z"}`
	snapshotLine  = `{"type":"file-history-snapshot","messageId":"c","snapshot":{"timestamp":"2026-11-30T12:27:16.828Z"}}`
	quotedInReply = `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"[Request interrupted by user]"}]},"timestamp":"2026-11-30T12:27:20Z"}`
	quotedByUser  = `{"type":"user","message":{"role":"user","content":"why does it say [Request interrupted by user]?"},"timestamp":"2026-11-30T12:27:21Z"}`
)

func TestLastInterruption(t *testing.T) {
	refused := time.Date(2026, 11, 30, 12, 27, 14, 83e6, time.UTC)
	escaped := time.Date(2026, 11, 30, 12, 27, 15, 0, time.UTC)
	tests := []struct {
		name string
		end  string
		at   time.Time
		ok   bool
	}{
		{"none", snapshotLine + "\n", time.Time{}, false},
		{"nothing", "", time.Time{}, false},
		{"a tool refused", snapshotLine + "\n" + refusedLine + "\n" + snapshotLine + "\n", refused, true},
		{"the last of two", refusedLine + "\n" + escapedLine + "\n", escaped, true},
		{"at the very end", escapedLine, escaped, true},
		{"the model's words", quotedInReply + "\n", time.Time{}, false},
		{"the person's words", quotedByUser + "\n", time.Time{}, false},
		{"one that is quoted after it", escapedLine + "\n" + quotedByUser + "\n" + quotedInReply + "\n", escaped, true},
		{"one that is quoted in a torn line after it", escapedLine + "\n" + quotedByUser[:110], escaped, true},
		{"a torn line", refusedLine[40:], time.Time{}, false},
	}
	for _, tt := range tests {
		at, ok := lastInterruption([]byte(tt.end))
		if ok != tt.ok || ok && !at.Equal(tt.at) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, at, ok, tt.at, tt.ok)
		}
	}
}

func FuzzLastInterruption(f *testing.F) {
	for _, line := range []string{refusedLine, escapedLine, snapshotLine, quotedInReply, quotedByUser} {
		f.Add(line)
		f.Add(strings.Repeat(line+"\n", 2))
	}
	f.Fuzz(func(t *testing.T, end string) {
		if _, ok := lastInterruption([]byte(end)); ok && !strings.Contains(end, interruption) {
			t.Fatal("an interruption that is not there")
		}
	})
}

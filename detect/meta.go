package detect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"peermux/internal/transcript"
	"peermux/registry"
)

// callMeta is the part of a tools/call's _meta that identifies its caller. Codex
// (0.171.0) names the thread; its sessionId, and session_id below
// x-codex-turn-metadata, name the root of a tree of threads. Claude Code names
// the tool use, which stands in its transcript.
type callMeta struct {
	threadID  string
	sessionID string
	toolUse   string
}

func readMeta(raw json.RawMessage) callMeta {
	m := members(raw)
	return callMeta{
		threadID:  text(m["threadId"]),
		sessionID: text(m["sessionId"]),
		toolUse:   text(m["claudecode/toolUseId"]),
	}
}

// subthread reports whether the call came from a thread below another one.
func (m callMeta) subthread() bool {
	return validID(m.threadID) && validID(m.sessionID) && m.sessionID != m.threadID
}

// byMeta takes what the client sends along with every tool call.
func byMeta(f Facts, c client) Outcome {
	o := Outcome{Strategy: Meta, Outcome: Abstained}
	m := readMeta(f.Meta)
	switch {
	case c.kind != registry.Codex && c.kind != registry.Claude:
		o.Outcome, o.Reason = NotApplicable, "this client sends nothing about itself with a tool call"
	case len(f.Meta) == 0:
		o.Reason = "no tool was called yet"
	case c.kind == registry.Claude:
		return byToolUse(f, c, m.toolUse)
	case !validID(m.threadID):
		o.Reason = "the last tool call named no thread"
	default:
		o.Outcome, o.SessionID, o.Reason = Fired, m.threadID, "the last tool call came from this thread"
	}
	return o
}

// byToolUse looks for the one transcript in which the tool use stands that called
// us. Claude's own record says the same with less reading, so this is for when
// there is none.
func byToolUse(f Facts, c client, id string) Outcome {
	o := Outcome{Strategy: Meta, Outcome: Abstained}
	switch {
	case c.session != nil:
		o.Outcome, o.Reason = NotApplicable, "Claude's own record names the session"
		return o
	case !validID(id):
		o.Reason = "the last tool call named no tool use"
		return o
	}
	files, err := filepath.Glob(filepath.Join(transcript.ClaudeFolder(c.home, f.CWD), "*.jsonl"))
	if err != nil {
		o.Reason = err.Error()
		return o
	}
	needle := []byte(`"id":"` + id + `"`) // in a quoted text it reads \"id\"
	for _, file := range files {
		session, _ := strings.CutSuffix(filepath.Base(file), ".jsonl")
		if validID(session) && tailContains(file, needle) {
			o.Candidates = append(o.Candidates, session)
			o.Transcript = file
		}
	}
	switch len(o.Candidates) {
	case 0:
		o.Reason = "the tool use of the last call stands in no transcript of this directory"
	case 1:
		o.Outcome, o.SessionID, o.Candidates = Fired, o.Candidates[0], nil
		o.Reason = "the tool use of the last call stands in this session's transcript"
	default:
		o.Transcript = ""
		o.Reason = "the tool use of the last call stands in several transcripts"
	}
	return o
}

// tailSize is how much of a transcript's end is searched for the present call.
const tailSize = 1 << 20

func tailContains(file string, needle []byte) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close() // opened for reading
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return false
	}
	tail := make([]byte, min(size, tailSize))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return bytes.Contains(tail, needle)
}

func members(object json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m
}

// Package transcript reads the conversations that Claude Code and Codex write.
//
// Both clients keep one JSONL file for each session, which only they write:
// Claude Code <config dir>/projects/<encoded cwd>/<session id>.jsonl, Codex
// <codex home>/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl. This
// package never writes. A client that dies leaves a torn last line behind; that
// line is left out and said so.
//
// What is read is other people's text: secrets are masked, control characters
// are removed, and every answer says what it left out.
package transcript

import "time"

// Clients whose transcripts this package reads.
const (
	Claude = "claude"
	Codex  = "codex"
)

// Roles of a turn.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"   // a tool's result whose call is not in the window
	RoleSystem    = "system" // the client itself: a compaction, an error, a command
	RolePeer      = "peer"   // mail that a hook of peermux put in front of the model
)

// Turn is one step of a conversation: a prompt, or one answer of the model with
// the tools it called and what they gave.
type Turn struct {
	Role     string    `json:"role"`
	Text     string    `json:"text,omitempty"`
	Tools    []ToolUse `json:"tools,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Complete bool      `json:"complete"`        // false: still being written, or a tool still runs
	Agent    string    `json:"agent,omitempty"` // the subagent that spoke; empty in the main conversation

	masked int
}

// ToolUse is one call of a tool with its result, both shortened in the middle.
type ToolUse struct {
	Name   string `json:"name"`
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Done   bool   `json:"done"` // a result was recorded
}

// Options say what to read.
type Options struct {
	Client     string    // Claude or Codex; empty: told from the file
	SessionID  string    // records of other sessions in the file are left out; empty: the file's own
	Limit      int       // turns at most; 0 means 20
	MaxBytes   int       // bytes of text at most; 0 means 24 KiB
	Sidechains bool      // keep what subagents said in this file
	Root       string    // folder that the file must lie in after symlinks are resolved; empty: any
	Unmasked   bool      // leave secrets readable
	Now        time.Time // for Age
}

// Tail is the newest part of a conversation.
type Tail struct {
	Turns        []Turn        `json:"turns"` // oldest first
	File         string        `json:"file"`
	Client       string        `json:"client"`
	SessionID    string        `json:"session_id"`
	Size         int64         `json:"size"` // bytes
	ModTime      time.Time     `json:"mod_time"`
	LastAt       time.Time     `json:"last_at,omitzero"`  // time stamp of the newest record
	Age          time.Duration `json:"-"`                 // Options.Now less LastAt
	ForkOf       string        `json:"fork_of,omitempty"` // the thread that older turns come from
	Truncated    bool          `json:"truncated"`         // there are older turns than these
	End          int64         `json:"-"`                 // where Follow goes on: after the last whole line
	Omitted      []string      `json:"omitted,omitempty"`
	Masked       int           `json:"masked"` // secrets replaced
	LastComplete bool          `json:"last_complete"`
}

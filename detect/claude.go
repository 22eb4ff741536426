package detect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"peermux/internal/proc"
)

// ClaudeDir is Claude Code's folder: CLAUDE_CONFIG_DIR, else ~/.claude.
func ClaudeDir(env func(string) string) string {
	if dir := env("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(env("HOME"), ".claude")
}

// ClaudeSession is sessions/<pid>.json, which Claude Code keeps about each of its
// processes: written when a session starts, when its id or status changes, and
// removed at a normal exit. Fields were added between 2.1.197 and 2.1.328, and
// whatever is missing or of another type than expected is left empty.
type ClaudeSession struct {
	PID       int
	SessionID string
	CWD       string
	// ProcStart is field 22 of /proc/<pid>/stat on Linux.
	ProcStart string
	StartedAt time.Time
	Version   string
	// Kind is interactive (also of headless runs), bg, …
	Kind string
	// Entrypoint is cli at a terminal, sdk-cli, sdk-ts, … otherwise.
	Entrypoint string
	Name       string
	Derived    bool // Claude made the name up itself
	// Tmux is "<session>:@<window>.%<pane>", since some version after 2.1.197.
	Tmux            string
	MessagingSocket string
	Agent           string // the agent definition that the session runs as
	JobID           string
	// Status is idle, busy or waiting; "" when headless.
	Status          string
	WaitingFor      string
	StatusUpdatedAt time.Time
}

const maxClaudeSession = 64 << 10

// ReadClaudeSession reads the session file of one Claude process below Claude's
// folder dir. It does not check that the process is the one that wrote it.
func ReadClaudeSession(dir string, pid int) (ClaudeSession, error) {
	name := filepath.Join(dir, "sessions", strconv.Itoa(pid)+".json")
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ClaudeSession{}, err
	}
	defer f.Close() // opened for reading
	data, err := io.ReadAll(io.LimitReader(f, maxClaudeSession))
	if err != nil {
		return ClaudeSession{}, err
	}
	s, err := parseClaudeSession(data)
	if err != nil {
		return ClaudeSession{}, fmt.Errorf("%s: %v", name, err)
	}
	if s.PID != pid {
		return ClaudeSession{}, fmt.Errorf("%s describes pid %d", name, s.PID)
	}
	return s, nil
}

func parseClaudeSession(data []byte) (ClaudeSession, error) {
	// Field by field, so that one of an unexpected type costs that field only.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return ClaudeSession{}, err
	}
	s := ClaudeSession{
		PID:             int(number(fields["pid"])),
		SessionID:       text(fields["sessionId"]),
		CWD:             text(fields["cwd"]),
		ProcStart:       text(fields["procStart"]),
		StartedAt:       millis(fields["startedAt"]),
		Version:         text(fields["version"]),
		Kind:            text(fields["kind"]),
		Entrypoint:      text(fields["entrypoint"]),
		Name:            text(fields["name"]),
		Derived:         text(fields["nameSource"]) == "derived",
		Tmux:            text(fields["tmux"]),
		MessagingSocket: text(fields["messagingSocketPath"]),
		Agent:           text(fields["agent"]),
		JobID:           text(fields["jobId"]),
		Status:          text(fields["status"]),
		WaitingFor:      text(fields["waitingFor"]),
		StatusUpdatedAt: millis(fields["statusUpdatedAt"]),
	}
	if s.PID <= 0 {
		return ClaudeSession{}, errors.New("no pid")
	}
	return s, nil
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func number(raw json.RawMessage) float64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return n
}

func millis(raw json.RawMessage) time.Time {
	n := number(raw)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n))
}

// check reports why the file does not speak of the process id: it was left behind
// by an earlier process with that pid. Other systems than Linux have another form
// of procStart, or none; there the pid, and that Claude removes the file at exit,
// have to do.
func (s ClaudeSession) check(id proc.ID) error {
	if s.SessionID == "" {
		return errors.New("the session file of Claude names no session")
	}
	if !validID(s.SessionID) {
		return errors.New("the session file of Claude holds a malformed session id")
	}
	comparable := digits(s.ProcStart) && digits(id.Start)
	if comparable && s.ProcStart != id.Start {
		return fmt.Errorf("the session file of Claude is of an earlier process with pid %d", id.PID)
	}
	return nil
}

func digits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// validID reports whether a session id, which comes from somebody's file or call,
// is fit to be part of a file name.
func validID(id string) bool {
	if id == "" || len(id) > 128 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

// byClientRegistry takes the session id from Claude's own record of its process.
func byClientRegistry(c client) Outcome {
	o := Outcome{Strategy: ClientRegistry}
	switch {
	case c.kind != "claude":
		o.Outcome, o.Reason = NotApplicable, "only Claude Code keeps such a record"
	case c.session == nil:
		o.Outcome, o.Reason = Abstained, c.sessionErr
	default:
		o.Outcome, o.SessionID = Fired, c.session.SessionID
		o.Reason = fmt.Sprintf("Claude's record of its process %d names the session", c.info.PID)
	}
	return o
}

package switchboard

import (
	"time"

	"peermux/internal/transcript"
)

// Waiting is an edge of the wait graph: the session waits for an answer.
type Waiting struct {
	Name      string    `json:"name"`
	SessionID string    `json:"session_id,omitempty"`
	MessageID string    `json:"message_id"`
	Since     time.Time `json:"since"`
}

// SessionRow is a live session as peers and people see it.
type SessionRow struct {
	Name         string     `json:"name"`
	SessionID    string     `json:"session_id"`
	Client       string     `json:"client"`
	Status       string     `json:"status" jsonschema:"idle, working, waiting (for its user), or unknown"`
	StatusSource string     `json:"status_source,omitempty"`
	StatusSince  *time.Time `json:"status_since,omitempty"`
	WaitsOn      string     `json:"waits_on,omitempty" jsonschema:"what its user is asked for, when status is waiting"`
	Purpose      string     `json:"purpose"`
	Unread       int        `json:"unread"`
	OpenTasks    int        `json:"open_tasks"`
	WaitingFor   []Waiting  `json:"waiting_for" jsonschema:"sessions whose answer it waits for"`
	Pane         string     `json:"pane"`
	Tmux         string     `json:"tmux,omitempty" jsonschema:"tmux session and window of the pane"`
	Project      string     `json:"project"`
	Branch       string     `json:"branch"`
	Group        string     `json:"group,omitempty"`
	CWD          string     `json:"cwd,omitempty"`
	Mode         string     `json:"mode,omitempty"`
	Held         string     `json:"held,omitempty" jsonschema:"why a wake is held back"`
	Locks        []string   `json:"locks,omitempty" jsonschema:"lock broadcasts it holds"`
	Self         bool       `json:"self,omitempty"`
	PID          int        `json:"pid,omitempty"`
	StartedAt    time.Time  `json:"started_at"`
	Box          string     `json:"-"`
}

// TmuxPane is a pane under the project root with no session that peermux knows.
type TmuxPane struct {
	Pane    string `json:"pane"`
	Session string `json:"session"`
	Command string `json:"command"`
	CWD     string `json:"cwd"`
	Socket  string `json:"socket,omitempty"`
}

// ListResult is who is there.
type ListResult struct {
	OK       bool         `json:"ok"`
	Scope    string       `json:"scope,omitempty"`
	Project  string       `json:"project,omitempty"`
	Sessions []SessionRow `json:"sessions"`
	Panes    []TmuxPane   `json:"panes,omitempty" jsonschema:"other tmux panes under the root; read_session reads them, nobody answers there"`
	Rings    [][]string   `json:"rings,omitempty" jsonschema:"sessions that wait for each other in a circle"`
	Notes    []string     `json:"notes,omitempty"`
}

// SessionRead is what a peer did lately.
type SessionRead struct {
	OK         bool              `json:"ok"`
	Name       string            `json:"name,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	Mode       string            `json:"mode,omitempty" jsonschema:"transcript or pane"`
	Turns      []transcript.Turn `json:"turns,omitempty"`
	Text       string            `json:"text,omitempty" jsonschema:"what the pane shows"`
	Source     string            `json:"source,omitempty" jsonschema:"the file or pane, and how it is tied to the session"`
	ModifiedAt *time.Time        `json:"modified_at,omitempty"`
	AgeSeconds *float64          `json:"age_seconds,omitempty"`
	Complete   *bool             `json:"complete,omitempty" jsonschema:"false while the last turn is still going on"`
	Truncated  bool              `json:"truncated"`
	Omitted    []string          `json:"omitted,omitempty"`
	Masked     int               `json:"masked,omitempty" jsonschema:"values that looked like secrets"`
	Notes      []string          `json:"notes,omitempty"`
}

// CountRow is the pending mail of one box.
type CountRow struct {
	Box     string `json:"box"`
	Name    string `json:"name"` // of its owner, as a target takes it
	Unshown int    `json:"unshown"`
	Open    int    `json:"open"`
}

// CountResult is pending mail, drained boxes left out.
type CountResult struct {
	OK      bool       `json:"ok"`
	Boxes   []CountRow `json:"boxes"`
	Unshown int        `json:"unshown"`
	Open    int        `json:"open"`
	Notes   []string   `json:"notes,omitempty"` // what could not be counted
}

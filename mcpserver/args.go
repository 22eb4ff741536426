package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"peermux/internal/switchboard"
)

// The parameters of each tool. The jsonschema tags are what a model reads; the
// enum tags list the words a field takes, and min is the least number. Optional numbers are pointers, so that
// a zero that was given differs from one that was not. The schemas in schema/
// are made from these structs by `go test ./mcpserver -update`.

type noArgs struct{}

type listArgs struct {
	ProjectRoot string `json:"project_root,omitempty" jsonschema:"a directory of the project to list; default: this session's project"`
	Scope       string `json:"scope,omitempty" jsonschema:"how far to look; default project" enum:"project,group,global"`
}

type readSessionArgs struct {
	Name      string   `json:"name" jsonschema:"a session name or id from list_project_sessions, or a tmux pane (%N)"`
	Mode      string   `json:"mode,omitempty" jsonschema:"transcript: its recent turns; pane: what its terminal shows; auto picks" enum:"auto,transcript,pane"`
	Limit     *float64 `json:"limit,omitempty" jsonschema:"turns at most; default 20" min:"1"`
	MaxBytes  *float64 `json:"max_bytes,omitempty" jsonschema:"bytes of text at most; default 24576"`
	PaneLines *float64 `json:"pane_lines,omitempty" jsonschema:"lines of the pane with its scrollback; default: the visible screen"`
}

type sessionIDArgs struct {
	SessionID string `json:"session_id" jsonschema:"the exact id of this conversation, as its client names it"`
}

type stateArgs struct {
	Purpose string `json:"purpose" jsonschema:"what this session is working on, one line, 200 characters at most"`
}

type sendArgs struct {
	Target  string `json:"target" jsonschema:"a session name or id, %pane, claude or codex when only one is in reach, repo:NAME or repo:/path, user, or app:NAME"`
	Body    string `json:"body" jsonschema:"the message, 64 KiB at most; for more, write a file and send its path"`
	Subject string `json:"subject,omitempty"`
	Urgency string `json:"urgency,omitempty" jsonschema:"low: for information, no answer needed, wakes nobody; default normal" enum:"low,normal,high"`
	ReplyTo string `json:"reply_to,omitempty" jsonschema:"id of the message this one belongs to; prefer reply_to_message"`
	Task    bool   `json:"task,omitempty" jsonschema:"true hands over work: it stays open until the receiver calls complete_work or block_work, and the result comes to you as mail"`
	Wake    string `json:"wake,omitempty" jsonschema:"auto wakes an idle receiver; off leaves the message for its next turn" enum:"auto,off"`
}

type replyArgs struct {
	MessageID string `json:"message_id" jsonschema:"id of the message that you answer"`
	Body      string `json:"body"`
	Done      bool   `json:"done,omitempty" jsonschema:"for a task or repository mail: true closes it with this reply"`
}

type askArgs struct {
	Target    string   `json:"target,omitempty" jsonschema:"the session to ask; see send_message"`
	Targets   []string `json:"targets,omitempty" jsonschema:"several sessions at once, instead of target"`
	Body      string   `json:"body" jsonschema:"the question"`
	Subject   string   `json:"subject,omitempty"`
	TimeoutMS *float64 `json:"timeout_ms,omitempty" jsonschema:"how long to wait; default 60000, at most 280000; a later answer comes as mail" min:"1"`
}

type readArgs struct {
	IncludeSeen bool     `json:"include_seen,omitempty" jsonschema:"true: also what was shown before"`
	Limit       *float64 `json:"limit,omitempty" jsonschema:"messages at most; default 20" min:"1"`
	WaitMS      *float64 `json:"wait_ms,omitempty" jsonschema:"wait this long for mail when there is none; at most 280000. Rarely needed: mail is shown to you by itself"`
}

type messageArgs struct {
	MessageID string `json:"message_id"`
}

type closeArgs struct {
	MessageID string `json:"message_id" jsonschema:"id of the task"`
	Body      string `json:"body" jsonschema:"the result, or what blocks it; it is sent to the requester"`
}

type broadcastArgs struct {
	Body    string `json:"body"`
	Scope   string `json:"scope,omitempty" jsonschema:"project: all sessions of this repository; group: projects that joined the group; global: all of this user; repos: once to every repository; default project" enum:"project,group,global,repos"`
	Kind    string `json:"kind,omitempty" jsonschema:"a word that is shown as a tag: note, lock, release, …; a lock holds until it is retracted, released or you end"`
	Urgency string `json:"urgency,omitempty" jsonschema:"high: nobody in reach may go on without it; wakes those who are idle, where the user has allowed that; default normal" enum:"low,normal,high"`
}

type groupArgs struct {
	Group string `json:"group" jsonschema:"name of the group; empty leaves it"`
}

// decode reads a tool's arguments strictly: an unknown name is more likely a
// mistake for a known one than something to pass over.
func decode(tool string, raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		raw = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	return badRequest("%s: %s; see the tool's input schema", tool, plainDecodeError(err))
}

// plainDecodeError says what is wrong in the terms of the caller, who knows
// nothing of Go types.
func plainDecodeError(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return "the arguments have to be a JSON object"
		}
		return fmt.Sprintf("%s has to be a %s, and %s was given", e.Field, typeWord(e.Type.String()), e.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the arguments are cut off"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func typeWord(goType string) string {
	switch strings.TrimLeft(goType, "*") {
	case "float64":
		return "number"
	case "bool":
		return "boolean (true or false)"
	case "[]string":
		return "list of strings"
	}
	return "string"
}

// number is the range of an optional number.
type number struct {
	name            string
	min, max, unset int
}

// read checks v. What is too small or no whole number is refused; what is too
// large is cut to the maximum, and the note says so.
func (n number) read(v *float64) (value int, note string, err error) {
	switch {
	case v == nil:
		return n.unset, "", nil
	case math.IsNaN(*v) || math.IsInf(*v, 0) || *v != math.Trunc(*v):
		return 0, "", badRequest("%s has to be a whole number", n.name)
	case *v < float64(n.min):
		return 0, "", badRequest("%s has to be %d or more, and %v was given", n.name, n.min, *v)
	case *v > float64(n.max):
		return n.max, fmt.Sprintf("%s was cut from %v to %d, the most there is", n.name, *v, n.max), nil
	}
	return int(*v), "", nil
}

func badRequest(format string, args ...any) error {
	return &switchboard.Error{Code: switchboard.CodeBadRequest, Message: fmt.Sprintf(format, args...)}
}

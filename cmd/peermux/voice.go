package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"peermux/internal/switchboard"
)

// How peermux speaks to a person: results on stdout; errors on stderr as
// "peermux: error: …", then "peermux: hint: …" with what to do next; lower
// case, no full stop. Colour and width only on a terminal, and NO_COLOR is
// honoured.

// Exit codes, fixed by the command line's contract.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitNoTarget = 3
	exitTimedOut = 4
	exitRefused  = 5
	// what a shell says too when there is no such program to run
	exitNoProgram = 127
)

// usageError is a command line that makes no sense.
type usageError struct{ msg, hint string }

func (e usageError) Error() string { return e.msg }

// hinted is an error with what to do about it.
type hinted struct {
	err  error
	hint string
}

func (e hinted) Error() string { return e.err.Error() }
func (e hinted) Unwrap() error { return e.err }

// coded ends the command with an exit code after its own output said why.
type coded int

func (c coded) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// exit prints an error for a person and returns the exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return 0
	}
	var code coded
	if errors.As(err, &code) {
		return int(code)
	}
	msg, hint := err.Error(), ""
	result := exitFailed
	if usage, ok := errors.AsType[usageError](err); ok {
		hint, result = usage.hint, exitUsage
	}
	if about, ok := errors.AsType[hinted](err); ok {
		hint = about.hint
	}
	if board, ok := errors.AsType[*switchboard.Error](err); ok {
		msg, result = inCommands(board.Message), exitOf(board.Code)
	} else if errors.Is(err, context.Canceled) {
		msg = "interrupted"
	}
	if a.json {
		// Stdout may be what has failed; the person is told all the same.
		_ = writeJSON(a.out, failure(err))
	}
	if hint == "" {
		msg, hint = advice(msg)
	}
	// Errors of several files are joined, one a line.
	for line := range strings.Lines(clean(msg)) {
		fmt.Fprintf(a.err, "peermux: error: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if hint != "" {
		fmt.Fprintf(a.err, "peermux: hint: %s\n", clean(hint))
	}
	return result
}

// advice parts a message from its last clause, in which operations say what to
// do about it. That nothing was done is a part of the message; advice may follow
// it as a sentence.
func advice(msg string) (what, do string) {
	i := strings.LastIndex(msg, "; ")
	if i < 0 || strings.Count(msg[:i], `"`)%2 != 0 { // within a quoted word of the person's
		return msg, ""
	}
	what, do = msg[:i], msg[i+len("; "):]
	if !strings.HasPrefix(do, "nothing ") {
		return what, do
	}
	done, do, _ := strings.Cut(do, ". ")
	return what + "; " + done, do
}

// inCommands words an operation's advice, which names MCP tools, for a shell.
func inCommands(msg string) string {
	return strings.NewReplacer(
		"call list_project_sessions for those that are", "peermux list shows those that are",
		"call list_project_sessions and name one of its sessions", "name one that peermux list shows",
		"read_my_messages with include_seen lists", "peermux inbox --all lists",
		"ask your user which one it should join, then call set_group", "run peermux group NAME to join one (an agent asks its user first)",
		"project_root: ", "--project: ",
		"sessions elsewhere are reached by repo:NAME", "sessions elsewhere are reached from their project's folder, by repo:NAME",
		"with set_group", "with peermux group",
		"first, with reply_to_message", "first, with peermux reply",
		"answer it with reply_to_message", "answer it with peermux reply",
		"begin anew with send_message", "begin anew with peermux send",
		"complete_work(message_id: ", "peermux done ",
		") when it is done, or block_work when it cannot be", " when it is done, with --blocked when it cannot be",
		"message_status tells", "peermux status tells",
		"message_status will not find", "peermux status will not find",
		"retract_message will not find", "peermux retract will not find",
		"get_my_session tells", "peermux whoami tells",
		"; call claim_session with", "; have the agent call claim_session with",
		"read_session shows", "peermux read shows",
		"send_message with task: true and reply_to:", "send it with peermux send --task --reply-to",
		"send_message leaves", "peermux send leaves",
		"use send_message to repo:NAME", "use peermux send repo:NAME",
		"user is this session itself", "user is you, and mail is for others; peermux list shows the sessions",
	).Replace(msg)
}

// failure is an error as the result of the operation, for --json.
func failure(err error) *switchboard.Error {
	var usage usageError
	var about hinted
	var board *switchboard.Error
	switch {
	case errors.As(err, &board):
		return board
	case errors.As(err, &usage), errors.As(err, &about):
		return &switchboard.Error{Code: switchboard.CodeBadRequest, Message: err.Error()}
	}
	return switchboard.AsError(err)
}

// exitOf maps an operation's error code to the exit code of the contract.
func exitOf(code string) int {
	switch code {
	case "unknown_target", "ambiguous_target":
		return exitNoTarget
	case "would_deadlock", "rate_limited", "out_of_scope", "not_yours", "already_closed", "self_target", "no_group":
		return exitRefused
	case "bad_request", "empty_body", "body_too_large":
		return exitUsage
	}
	return exitFailed
}

// writeJSON prints v as one document, as --json promises.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width returns the columns to print in: the terminal's, or 0 (no limit) when
// stdout is not one.
func (a *app) width() int {
	if f, ok := a.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// colour reports whether to colour what goes to stdout.
func (a *app) colour() bool {
	f, ok := a.out.(*os.File)
	return ok && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb" && isTerminal(f)
}

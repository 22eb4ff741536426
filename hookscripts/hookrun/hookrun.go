// Package hookrun is what runs inside a client's hook: it puts waiting mail in
// front of the model at the right moment and tells peers what the session is
// doing. The program peermux-hook is a main around [Run] that holds the descriptors and
// ends a run that hangs.
//
// # Contract
//
// A hook reads one JSON object from stdin, writes at most one JSON object to
// stdout (or, for Claude Code's FileChanged, text to stderr), and exits 0; only
// FileChanged exits 2, when there is mail. Whatever goes wrong - no home, no
// permission, a payload that is none - it prints nothing and exits 0: a hook must
// never break a session. It starts no process.
//
// # What it writes, all under the peermux home
//
//	boxes/<key>/journal.jsonl  claim, shown and unshown records, cursors of feeds
//	status/<key>               the word for what the session does
//	drops/<key>.json           who we are, and when which event fired last
//	trace.ndjson               one line an event when PEERMUX_TRACE is set
//
// Mail is claimed, written out whole, and only then recorded as shown. A hook
// that is killed in between leaves a claim whose claimant is dead; the messages
// are then shown again, marked as possibly seen.
//
// Events of subagents carry the session id of their parent. They are told by a
// top-level agent_id and change nothing.
package hookrun

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// Wakes is the exit code by which a FileChanged hook wakes Claude Code.
const Wakes = 2

// Call is one firing of a hook.
type Call struct {
	Client string    // claude or codex
	Event  string    // as the client names it
	Stdin  io.Reader // read up to the closing brace, not to the end
	Stdout io.Writer
	Stderr io.Writer
	Env    func(string) string
	Now    func() time.Time
	PID    int // the hook's own process: its ancestry leads to the client
}

// Run handles one event and returns the exit code.
func Run(c Call) (exit int) {
	// Exit code 2, which a panic gives, would block a tool call.
	defer func() {
		if recover() != nil {
			exit = 0
		}
	}()
	return run(c)
}

func run(c Call) (exit int) {
	act := actionOf(c.Client, c.Event)
	if act == nil {
		return 0
	}
	at := c.Now() // before stdin is read: the nearest we come to the time of the event
	in, err := parsePayload(c.Stdin)
	if err != nil || in.SessionID == "" || in.AgentID != "" {
		return 0
	}
	h, err := newHook(c, in, at)
	if err != nil {
		return 0
	}
	if h.foreign() {
		return 0
	}
	exit, err = act(h)
	h.trace(exit, err)
	return exit
}

// action handles one event. Its error is for the trace: a part that failed never
// takes back what another part has shown.
type action func(*hook) (exit int, err error)

// actionOf is what a client's event does here; nil when it does nothing. An event
// that a client version does not fire is no loss: the next one carries the mail.
func actionOf(client, event string) action {
	switch client + " " + event {
	case "claude SessionStart", "codex SessionStart":
		return (*hook).sessionStart
	case "claude UserPromptSubmit", "codex UserPromptSubmit":
		return (*hook).prompt
	case "claude PreToolUse", "codex PreToolUse", "claude PostToolUse", "codex PostToolUse":
		return (*hook).tool
	case "claude PostToolUseFailure":
		return says(registry.Working)
	case "claude Stop", "codex Stop":
		return (*hook).stop
	case "claude StopFailure": // the turn crashed
		return says(registry.Idle)
	case "codex Interrupt":
		return (*hook).interrupted
	case "claude PermissionRequest", "codex PermissionRequest":
		return says(registry.Waiting)
	case "claude Notification":
		return (*hook).notification
	case "claude FileChanged":
		return (*hook).bell
	case "claude SessionEnd", "codex SessionEnd":
		return (*hook).sessionEnd
	}
	return nil
}

// Handles reports whether a client's event does anything here. The installer's
// tests hold against it what is installed.
func Handles(client, event string) bool { return actionOf(client, event) != nil }

// says only records what the session does now.
func says(word string) action {
	return func(h *hook) (int, error) { return 0, errors.Join(h.status(word), h.fired()) }
}

// fired is note for an event that needs nothing of what earlier hooks left.
func (h *hook) fired() error {
	if at, ok := h.reg.Fired(h.key, h.Event); ok && h.at.Sub(at).Abs() < firedEvery {
		return nil
	}
	return h.note("")
}

// interrupted is Codex's Esc. Its time goes into the drop, and before the status
// says idle: Codex holds its own queue from then on, which a waker has to know.
func (h *hook) interrupted() (int, error) {
	return 0, errors.Join(h.note(h.Event), h.status(registry.Idle))
}

// hook is one run.
type hook struct {
	Call
	in   payload
	at   time.Time
	home string
	key  string // the session's box
	mail *mailbox.Store
	reg  *registry.Registry

	last    registry.Drop  // what earlier hooks left
	entered bool           // this run is the first of its session
	where   *project.Place // nil until it was asked for

	shown []string // ids that went out
	bytes int      // and the size of the text
}

var errNoHome = errors.New("neither PEERMUX_HOME nor HOME is an absolute path")

func newHook(c Call, in payload, at time.Time) (*hook, error) {
	home := c.Env("PEERMUX_HOME")
	if home == "" && filepath.IsAbs(c.Env("HOME")) {
		home = filepath.Join(c.Env("HOME"), ".peermux")
	}
	if !filepath.IsAbs(home) {
		return nil, errNoHome
	}
	store, err := mailbox.Open(home, c.Now)
	if err != nil {
		return nil, err
	}
	return &hook{
		Call: c, in: in, at: at, home: home,
		key:  mailbox.SessionKey(in.SessionID),
		mail: store,
		reg:  registry.Open(home, c.Now),
	}, nil
}

// headless reports whether nobody sits at the session. Claude Code names its
// entry point "cli" in a terminal and "sdk-…" in claude -p and in programs.
func (h *hook) headless() bool {
	entry := h.Env("CLAUDE_CODE_ENTRYPOINT")
	return h.Client == registry.Claude && entry != "" && entry != "cli"
}

func (h *hook) status(word string) error { return h.reg.SetStatus(h.key, word, h.at) }

// exists reports whether a file may be worth opening.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

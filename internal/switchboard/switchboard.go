// Package switchboard holds the operations that the command line and the MCP
// server share: send, reply, ask, broadcast, read, close, look up, list.
//
// # Contract
//
// Every operation takes the one who acts as an [Actor], which the caller has
// established (from the registry, never from the request), and returns one of
// the result structs, whose JSON keys are the contract of DESIGN.md §5, or an
// [*Error] with one of its codes. A refusal changed nothing unless its message
// says otherwise.
//
// Operations that put mail in front of somebody return a [Delivery] too. The
// caller writes the result out completely and then calls Shown, or Release when
// it could not; until then nobody else is shown that mail.
//
// # Order of writing
//
// A question is recorded in the asker's box before it is sent, so that no answer
// can come too early. A message is stored (and synced) in the receiver's box
// before anything else is written about it; a crash after that costs a line in
// the sender's own box, never the message. A task's result is stored under an id
// that follows from the task's before the task is closed, so that a crash in
// between, or a second closer, cannot tell the requester twice.
//
// # Files
//
// The package owns none but two kernel locks under locks/ in the peermux home:
// "asks" is held while a question looks for a ring of questions and is
// registered, and "name" while a session takes its name.
package switchboard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/watch"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

// Board is the switchboard over one peermux home. It is safe for concurrent use.
type Board struct {
	Home     string
	Store    *mailbox.Store
	Registry *registry.Registry
	Waker    *wake.Waker
	Watch    *watch.Watcher
	Now      func() time.Time
	Env      func(string) string // of the process that acts
	// UserHome is the user's home folder, under which the clients keep their
	// files.
	UserHome string

	hearing hearing
}

// Place is where a board works and what it is told about the process it works in.
type Place struct {
	Home     string // the peermux home
	UserHome string // the user's home folder
	Env      func(string) string
	Now      func() time.Time
}

// Open makes the board over a place, which wakes as PEERMUX_WAKE says. Nothing is
// read yet. Its Watch has to be closed.
func Open(p Place) (*Board, error) {
	store, err := mailbox.Open(p.Home, p.Now)
	if err != nil {
		return nil, err
	}
	watcher, err := watch.New()
	if err != nil {
		return nil, err
	}
	reg := registry.Open(p.Home, p.Now)
	return &Board{
		Home: p.Home, Store: store, Registry: reg, Watch: watcher, Now: p.Now, Env: p.Env, UserHome: p.UserHome,
		Waker: &wake.Waker{Home: p.Home, Store: store, Registry: reg, Env: p.Env, Now: p.Now, Mode: p.Env("PEERMUX_WAKE")},
	}, nil
}

// Actor is the one who acts.
type Actor struct {
	mailbox.Party
	Kind  string // registry.ToSession, ToUser or ToApp
	Group string
	// Process does the acting: an MCP server or a command. A question is open
	// only while it lives.
	Process proc.ID
	// Dir is the working directory; it decides which repository the actor is in.
	Dir string
	// ServerPID is the MCP server that stands for the session, 0 for others.
	ServerPID int
	// Beside is a box besides its own that the actor has been let into (--box).
	Beside string
}

// Delivery is mail that is about to be shown. Exactly one of its methods must
// follow.
type Delivery interface {
	Shown() error   // the text is out completely
	Release() error // it did not go out: the mail is unshown again
}

// deliveries are several claims that go out in one result.
type deliveries []Delivery

func (d deliveries) Shown() error {
	var errs []error
	for _, one := range d {
		errs = append(errs, one.Shown())
	}
	return errors.Join(errs...)
}

func (d deliveries) Release() error {
	var errs []error
	for _, one := range d {
		errs = append(errs, one.Release())
	}
	return errors.Join(errs...)
}

// identified refuses actors that nobody could answer.
func (a Actor) identified() error {
	if a.Box == "" || a.Kind == registry.ToSession && a.SessionID == "" {
		return refuse(CodeNoIdentity, "peermux could not find out which session this is, so nobody could answer it; "+
			"get_my_session tells what was tried; call claim_session with the id of this conversation, then try again")
	}
	return nil
}

// isSession reports whether the guards against agents that keep each other busy
// apply.
func (a Actor) isSession() bool { return a.Kind == registry.ToSession }

// reach is how far the actor can see and address sessions.
func (b *Board) reach(a Actor) registry.Reach {
	return registry.Reach{
		Project: a.Project, Group: a.Group,
		Machine: b.Env("PEERMUX_REACH") == "machine",
		Self:    a.SessionID, SelfPID: a.ServerPID,
	}
}

// lock takes one of the package's kernel locks.
func (b *Board) lock(name string) (unlock func(), err error) {
	if err := private.Dir(b.Home); err != nil {
		return nil, storage(err)
	}
	dir := filepath.Join(b.Home, "locks")
	if err := private.Dir(dir); err != nil {
		return nil, storage(err)
	}
	unlock, err = private.Lock(filepath.Join(dir, name))
	if err != nil {
		return nil, storage(err)
	}
	return unlock, nil
}

// AsError turns any error into a coded one.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if t, ok := errors.AsType[*registry.TargetError](err); ok {
		return fromTarget(t)
	}
	switch {
	case errors.Is(err, mailbox.ErrBodyTooLarge):
		return refuse(CodeBodyTooLarge, "%v", err)
	case errors.Is(err, mailbox.ErrEmptyBody):
		return refuse(CodeEmptyBody, "the body is empty; say what you want to tell")
	case errors.Is(err, mailbox.ErrNotText):
		return refuse(CodeBadRequest, "%v", err)
	case errors.Is(err, mailbox.ErrInboxFull):
		return refuse(CodeRateLimited, "%v", err)
	case errors.Is(err, mailbox.ErrUnknownMessage):
		return refuse(CodeUnknownMessage, "%v", err)
	case errors.Is(err, mailbox.ErrAlreadyClosed):
		return refuse(CodeAlreadyClosed, "%v", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refuse(CodeBadRequest, "the call was cancelled")
	}
	return storage(err)
}

func fromTarget(t *registry.TargetError) *Error {
	e := refuse(t.Code, "%s", t.Message)
	if len(t.Candidates) > 0 {
		e = e.with("candidates", t.Candidates)
	}
	if len(t.Near) > 0 {
		e = e.with("near", t.Near)
	}
	return e
}

// checkBody refuses a body before anything is done with it.
func checkBody(body string) error {
	if len(body) > mailbox.MaxBody {
		return refuse(CodeBodyTooLarge, "the body has %d bytes, and %d is the limit; write it to a file and send the file's path",
			len(body), mailbox.MaxBody)
	}
	if isBlank(body) {
		return refuse(CodeEmptyBody, "the body is empty; say what you want to tell")
	}
	return nil
}

func isBlank(s string) bool {
	for _, r := range s {
		switch r {
		case ' ', '\t', '\n', '\r':
		default:
			return false
		}
	}
	return true
}

// seconds words a time span for a sentence.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return "a moment"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/program"
)

// Version is the format of the entries written here. Entries of other versions
// are read as far as they are understood.
const Version = 1

// Client kinds that peermux knows more about than their name.
const (
	Claude = program.Claude
	Codex  = program.Codex
)

// Modes of a client: how it was started, and so whether somebody sits at it.
const (
	Interactive = "interactive"
	Headless    = "headless"
	Subagent    = "subagent"
	Background  = "background"
	Teammate    = "teammate"
	UnknownMode = "unknown"
)

// Client is the program that a session runs in.
type Client struct {
	Kind    string `json:"kind"` // claude, codex, or the name another client gives itself
	PID     int    `json:"pid,omitempty"`
	Start   string `json:"start,omitempty"`
	Version string `json:"version,omitempty"`
	Mode    string `json:"mode,omitempty"`
}

// ID names the client's process.
func (c Client) ID() proc.ID { return proc.ID{PID: c.PID, Start: c.Start} }

// Tmux is the pane that a session was proven to run in.
type Tmux struct {
	Socket    string `json:"socket"`
	ServerPID int    `json:"server_pid,omitempty"`
	Session   string `json:"session,omitempty"`
	Window    string `json:"window,omitempty"`
	Pane      string `json:"pane"` // %N
}

// PTYHost is the terminal that peermux itself hosts a client on.
type PTYHost struct {
	Socket string `json:"socket"`
}

// State is what a session says of itself.
type State struct {
	Purpose   string    `json:"purpose,omitempty"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Entry is the record of a live session, as its MCP server writes it.
type Entry struct {
	V      int    `json:"v"`
	PID    int    `json:"pid"` // the MCP server's
	Start  string `json:"start"`
	Client Client `json:"client"`
	// SessionID is empty until it is proven; Box then names the box of the
	// process ("p-…").
	SessionID     string    `json:"session_id,omitempty"`
	SessionSource string    `json:"session_source,omitempty"` // the detect strategy that proved it
	Transcript    string    `json:"transcript,omitempty"`
	Box           string    `json:"box"`
	Name          string    `json:"name"`
	CWD           string    `json:"cwd"`
	Project       string    `json:"project"`
	Group         string    `json:"group,omitempty"`
	Branch        string    `json:"branch,omitempty"`
	Tmux          *Tmux     `json:"tmux,omitempty"`
	Host          *PTYHost  `json:"pty_host,omitempty"`
	State         State     `json:"state"`
	StartedAt     time.Time `json:"started_at"`
	SeenAt        time.Time `json:"seen_at"`
	Hostname      string    `json:"host,omitempty"`
	BootID        string    `json:"boot_id,omitempty"`
}

// ID names the MCP server's process.
func (e Entry) ID() proc.ID { return proc.ID{PID: e.PID, Start: e.Start} }

// Listed reports whether the session is shown to peers and may be woken: a
// person, or nobody knows who, sits at it. Others can still send and be answered.
func (e Entry) Listed() bool {
	switch e.Client.Mode {
	case Interactive, UnknownMode, "":
		return true
	}
	return false
}

// maxRecord bounds the files of entries and drops.
const maxRecord = 256 << 10

// parseEntry reads the content of sessions/<pid>.json. The file's name has to
// agree with the pid inside, or one file could speak for another's process.
func parseEntry(data []byte, pid int) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	if e.PID != pid {
		return Entry{}, fmt.Errorf("%w: the entry of pid %d is in the file of pid %d", ErrInvalid, e.PID, pid)
	}
	if err := e.check(); err != nil {
		return Entry{}, err
	}
	return e, nil
}

func (e Entry) check() error {
	switch {
	case e.PID <= 0 || e.Start == "":
		return fmt.Errorf("%w: an entry needs a pid and its start time", ErrInvalid)
	case !validKey(e.Box):
		return fmt.Errorf("%w: %q is no box key", ErrInvalid, e.Box)
	}
	return nil
}

// validKey reports whether key can be a file name and nothing else: a letter, a
// dash, then letters, digits, "-", "_" and ".".
func validKey(key string) bool {
	if len(key) < 3 || len(key) > 200 || key[1] != '-' {
		return false
	}
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_' && i > 0, c == '.' && i > 0:
		default:
			return false
		}
	}
	return true
}

// Open returns the registry of a peermux home. It touches no file.
func Open(home string, now func() time.Time) *Registry {
	return &Registry{home: home, now: now, here: sync.OnceValues(here)}
}

func here() (host, boot string) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // then every entry is taken as one of this machine
	}
	return host, proc.BootID()
}

// Put writes or replaces the entry of one MCP server. Missing V, SeenAt, host and
// boot are filled in.
func (r *Registry) Put(e Entry) error {
	e.V = Version
	e.Hostname, e.BootID = r.here()
	if e.SeenAt.IsZero() {
		e.SeenAt = r.now().UTC()
	}
	if err := e.check(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	dir, err := r.dir("sessions")
	if err != nil {
		return err
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return private.WriteFile(filepath.Join(dir, entryName(e.PID)), append(data, '\n'))
}

// Remove deletes the entry of the process pid that started at start; the entry of
// a later process with that pid stays. Removing what is not there is no error.
func (r *Registry) Remove(pid int, start string) error {
	return r.removeIf(pid, func(e Entry) bool { return e.Start == start })
}

// removeIf deletes an entry when, read again under the lock, it still is the one
// that the caller means.
func (r *Registry) removeIf(pid int, doomed func(Entry) bool) error {
	name := filepath.Join(r.home, "sessions", entryName(pid))
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	e, err := r.read(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !doomed(e) {
		return nil
	}
	return r.retire(name, e)
}

func (r *Registry) read(pid int) (Entry, error) {
	data, err := private.ReadFile(filepath.Join(r.home, "sessions", entryName(pid)), maxRecord)
	if err != nil {
		return Entry{}, err
	}
	return parseEntry(data, pid)
}

func entryName(pid int) string { return strconv.Itoa(pid) + ".json" }

// entryPID is the pid in an entry's file name; other files, temporary ones among
// them, are none.
func entryPID(name string) (int, bool) {
	digits, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(digits)
	return pid, err == nil && pid > 0 && strconv.Itoa(pid) == digits
}

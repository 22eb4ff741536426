package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/program"
)

// Drop is what the hooks of one session report about it: the only witness that
// knows both the session's id and, by its ancestry, the client's process.
type Drop struct {
	V          int    `json:"v"`
	Box        string `json:"box"` // the session's box key; names the file
	Client     string `json:"client"`
	SessionID  string `json:"session_id"`
	Transcript string `json:"transcript,omitempty"`
	CWD        string `json:"cwd,omitempty"`
	// Source is how the session began, as the last SessionStart said: startup,
	// resume, clear, compact.
	Source   string    `json:"source,omitempty"`
	Event    string    `json:"event"` // the event that wrote this
	At       time.Time `json:"at"`
	Headless bool      `json:"headless,omitempty"`
	// Receive is PEERMUX_RECEIVE as the hooks have it: the scopes of broadcasts that
	// they show. Empty is all.
	Receive string `json:"receive,omitempty"`
	// PIDs is the ancestry of the hook, its parent first.
	PIDs []proc.ID `json:"pids"`
	// Agent is the first of them that is an agent by its program: the client.
	Agent proc.ID `json:"agent"`
	// Hooks tells when each kind of event last fired.
	Hooks  map[string]time.Time `json:"hooks,omitempty"`
	BootID string               `json:"boot_id,omitempty"`
}

// PutDrop writes what a hook reports, merged with what earlier hooks of the same
// session reported: their times, and whatever this one does not know. It is called
// while the hook runs, so that everybody above it still lives: the agent is looked
// up there, unless the caller names it.
func (r *Registry) PutDrop(d Drop) error {
	if err := d.check(); err != nil {
		return err
	}
	dir, err := r.dir("drops")
	if err != nil {
		return err
	}
	d.V = Version
	_, d.BootID = r.here()
	if d.Agent == (proc.ID{}) {
		d.Agent = firstAgent(d.PIDs)
	}
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if old, ok := r.DropOf(d.Box); ok {
		d = merged(old, d)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(dir, d.Box+".json"), append(data, '\n'))
}

func firstAgent(above []proc.ID) proc.ID {
	for _, id := range above {
		info, err := proc.Stat(id.PID)
		if err == nil && info.ID == id && program.Recognise(proc.Exe(id.PID), proc.Args(id.PID)).Kind != "" {
			return id
		}
	}
	return proc.ID{}
}

// merged is the newer drop d completed from the old one of the same session.
func merged(old, d Drop) Drop {
	if d.Transcript == "" {
		d.Transcript = old.Transcript
	}
	if d.CWD == "" {
		d.CWD = old.CWD
	}
	if d.Source == "" {
		d.Source = old.Source
	}
	if len(d.PIDs) == 0 {
		d.PIDs, d.Agent = old.PIDs, old.Agent
	}
	hooks := make(map[string]time.Time, len(old.Hooks)+len(d.Hooks))
	for _, from := range []map[string]time.Time{old.Hooks, d.Hooks} {
		for event, at := range from {
			if at.After(hooks[event]) {
				hooks[event] = at
			}
		}
	}
	d.Hooks = hooks
	return d
}

// DropOf reads the drop of one box.
func (r *Registry) DropOf(boxKey string) (Drop, bool) {
	if !validKey(boxKey) {
		return Drop{}, false
	}
	d, err := r.readDrop(boxKey)
	return d, err == nil
}

// Fired is when the hooks of a session last recorded an event; false when they have
// not. It looks for that alone: decoding the drop would cost a hook more than all
// else that it does at a tool call.
func (r *Registry) Fired(boxKey, event string) (at time.Time, ok bool) {
	if !validKey(boxKey) {
		return at, false
	}
	data, err := private.ReadFile(r.dropPath(boxKey), maxRecord)
	// In a string of the drop a quote has a backslash before it, so these are keys.
	if err != nil || !bytes.Contains(data, []byte(`"box":"`+boxKey+`"`)) || !bytes.HasSuffix(data, []byte("}\n")) {
		return at, false
	}
	_, value, _ := bytes.Cut(data, []byte(`"`+event+`":"`))
	value, _, _ = bytes.Cut(value, []byte{'"'})
	return at, at.UnmarshalText(value) == nil
}

func (r *Registry) dropPath(boxKey string) string {
	return filepath.Join(r.home, "drops", boxKey+".json")
}

// Drops lists the drops of sessions whose client lives. Where the client was not
// recognised, any process above the hook keeps the drop.
func (r *Registry) Drops() ([]Drop, error) {
	names, err := r.names("drops")
	if err != nil {
		return nil, err
	}
	alive := liveness{}
	var drops []Drop
	for _, name := range names {
		key, ok := strings.CutSuffix(name, ".json")
		if !ok || !validKey(key) {
			continue
		}
		d, err := r.readDrop(key)
		if err == nil && r.dropLives(d, alive) {
			drops = append(drops, d)
		}
	}
	return drops, nil
}

// RemoveDrop deletes the drop of a session that ended.
func (r *Registry) RemoveDrop(boxKey string) error {
	if !validKey(boxKey) {
		return fmt.Errorf("%w: box %q", ErrInvalid, boxKey)
	}
	err := os.Remove(r.dropPath(boxKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *Registry) dropLives(d Drop, alive liveness) bool {
	if _, boot := r.here(); d.BootID != "" && boot != "" && d.BootID != boot {
		return false
	}
	if d.Agent != (proc.ID{}) {
		return alive.of(d.Agent)
	}
	for _, id := range d.PIDs {
		if alive.of(id) {
			return true
		}
	}
	return false
}

func (r *Registry) readDrop(key string) (Drop, error) {
	data, err := private.ReadFile(r.dropPath(key), maxRecord)
	if err != nil {
		return Drop{}, err
	}
	return parseDrop(data, key)
}

func parseDrop(data []byte, key string) (Drop, error) {
	var d Drop
	if err := json.Unmarshal(data, &d); err != nil {
		return Drop{}, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	if d.Box != key {
		return Drop{}, fmt.Errorf("%w: the drop of box %q is in the file of box %q", ErrInvalid, d.Box, key)
	}
	return d, d.check()
}

func (d Drop) check() error {
	if !validKey(d.Box) || d.SessionID == "" {
		return fmt.Errorf("%w: a drop needs a box key and a session id", ErrInvalid)
	}
	return nil
}

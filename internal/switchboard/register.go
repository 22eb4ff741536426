package switchboard

import (
	"strings"
	"unicode"

	"peermux/internal/proc"
	"peermux/registry"
)

// Register writes the entry of a live session. It gets a name when it has none
// yet, or when want says that its client has given it another one; two sessions
// that begin at once do not take the same.
func (b *Board) Register(e registry.Entry, want string) (registry.Entry, error) {
	unlock, err := b.lock("name")
	if err != nil {
		return e, err
	}
	defer unlock()
	if e.Name == "" {
		if given := b.givenName(e); given != "" {
			want = given
		}
	}
	if e.Name == "" || want != "" {
		live, err := b.Registry.Peek()
		if err != nil {
			return e, storage(err)
		}
		e.Name = registry.UniqueName(registry.PreferredName(want, e), live, e.PID)
	}
	if err := b.Registry.Put(e); err != nil {
		return e, storage(err)
	}
	return e, nil
}

// NameVariable carries the name of `peermux run --name` to the servers of the
// client that it hosts.
const NameVariable = "PEERMUX_NAME"

// givenName is the name that a person gave a hosted client. Codex keeps it from
// its MCP servers, so the client's own environment is asked.
func (b *Board) givenName(e registry.Entry) string {
	if name := proc.Env(e.Client.PID, NameVariable)[NameVariable]; name != "" {
		return name
	}
	return b.Env(NameVariable)
}

// maxSessionID bounds a claimed id; real ones have 36 characters.
const maxSessionID = 200

// CheckClaim refuses a session id that cannot be one, or that another live
// session has.
func (b *Board) CheckClaim(id string, self registry.Entry) error {
	switch {
	case strings.TrimSpace(id) == "" || id != strings.TrimSpace(id):
		return refuse(CodeBadRequest, "session_id is empty or has spaces around it; give the exact id of this conversation")
	case len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }):
		return refuse(CodeBadRequest, "session_id is no id: at most %d printable characters without spaces", maxSessionID)
	}
	live, err := b.peek()
	if err != nil {
		return err
	}
	for _, e := range live {
		// A client may run our server twice; that is no conflict.
		if e.SessionID == id && e.Client.ID() != self.Client.ID() {
			return refuse(CodeNotYours, "session id %s belongs to the live session %s (pid %d); nothing was claimed", id, e.Name, e.Client.PID)
		}
	}
	return nil
}

package agentsim

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/internal/transcript"
)

// The versions whose behaviour this package plays.
const (
	claudeVersion = "2.1.328"
	codexVersion  = "0.171.0"
)

// identity is what the client knows of itself, and the files that say so.
type identity struct {
	client    string // claude or codex
	name      string // what /rename would have given it
	sessionID string // Codex: the thread id
	cwd       string
	dir       string // ~/.claude or ~/.codex, or what the environment says
	started   time.Time
	self      proc.Info
	lock      *os.File // Codex: the thread's writer lock
}

func newIdentity(client, name string, env func(string) string) (*identity, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	dir := env("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(env("HOME"), ".claude")
	}
	if client == "codex" {
		if dir = env("CODEX_HOME"); dir == "" {
			dir = filepath.Join(env("HOME"), ".codex")
		}
	}
	id := &identity{client: client, name: name, cwd: cwd, dir: dir, started: time.Now(), self: self}
	return id, id.renew()
}

// renew takes a new session id: at the start, at /clear and at /new.
func (id *identity) renew() error {
	if id.client == "codex" {
		if err := id.removeLock(); err != nil {
			return err
		}
		id.sessionID = uuid(7)
		return id.takeLock()
	}
	id.sessionID = uuid(4)
	return nil
}

// takeLock opens the thread's writer lock, which Codex keeps open as long as it
// has the thread loaded.
func (id *identity) takeLock() error {
	if err := os.MkdirAll(filepath.Dir(id.lockPath()), 0o700); err != nil {
		return err
	}
	var err error
	id.lock, err = os.OpenFile(id.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

// uuid makes a random id; version 7 begins with the time, as Codex's threads do.
func uuid(version byte) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	if version == 7 {
		var ms [8]byte
		binary.BigEndian.PutUint64(ms[:], uint64(time.Now().UnixMilli()))
		copy(b[:6], ms[2:])
	}
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (id *identity) lockPath() string {
	return filepath.Join(id.dir, "thread-writer-locks", id.sessionID+".lock")
}

func (id *identity) removeLock() error {
	if id.lock == nil {
		return nil
	}
	return errors.Join(os.Remove(id.lockPath()), id.lock.Close())
}

func (id *identity) sessionFile() string {
	return filepath.Join(id.dir, "sessions", fmt.Sprint(id.self.PID)+".json")
}

// setStatus writes Claude's session file: idle or busy. Codex has none.
func (id *identity) setStatus(status string) error {
	if id.client != "claude" {
		return nil
	}
	now := time.Now().UnixMilli()
	raw, err := json.Marshal(map[string]any{
		"pid": id.self.PID, "sessionId": id.sessionID, "cwd": id.cwd, "startedAt": id.started.UnixMilli(),
		"procStart": id.self.Start, "version": claudeVersion, "peerProtocol": 1, "kind": "interactive", "entrypoint": "cli",
		"name": id.name, "nameSource": "user", "status": status, "updatedAt": now, "statusUpdatedAt": now,
	})
	if err != nil {
		return err
	}
	return id.write(id.sessionFile(), raw)
}

func (id *identity) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return private.WriteFile(path, data)
}

// end removes what the client removes when it exits.
func (id *identity) end() error {
	if id.client == "codex" {
		return id.removeLock()
	}
	if err := os.Remove(id.sessionFile()); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// transcriptPath is where the transcript will be from the first prompt on.
func (id *identity) transcriptPath() string {
	if id.client == "codex" {
		return filepath.Join(id.dir, "sessions", id.started.Format("2006/01/02"),
			"rollout-"+id.started.Format("2006-01-02T15-04-05")+"-"+id.sessionID+".jsonl")
	}
	return transcript.ClaudePath(id.dir, id.cwd, id.sessionID)
}

// record appends a turn's message to the transcript, as the client writes it.
func (id *identity) record(role, text string) error {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	path := id.transcriptPath()
	var lines []map[string]any
	if id.client == "codex" {
		kind := "output_text"
		if role == "user" {
			kind = "input_text"
		}
		if _, err := os.Stat(path); os.IsNotExist(err) {
			lines = append(lines, map[string]any{"timestamp": now, "type": "session_meta", "payload": map[string]any{
				"id": id.sessionID, "session_id": id.sessionID, "cwd": id.cwd, "originator": "codex-tui", "cli_version": codexVersion}})
		}
		lines = append(lines, map[string]any{"timestamp": now, "type": "response_item", "payload": map[string]any{
			"type": "message", "role": role, "content": []any{map[string]any{"type": kind, "text": text}}}})
	} else {
		content := any(text)
		if role == "assistant" {
			content = []any{map[string]any{"type": "text", "text": text}}
		}
		lines = append(lines, map[string]any{"type": role, "timestamp": now, "uuid": uuid(4), "isSidechain": false,
			"cwd": id.cwd, "sessionId": id.sessionID, "version": claudeVersion, "entrypoint": "cli",
			"message": map[string]any{"role": role, "content": content}})
	}
	return appendLines(path, lines)
}

func appendLines(path string, lines []map[string]any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, l := range lines {
		raw, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(raw, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// initialize is the client's handshake.
func (id *identity) initialize() map[string]any {
	if id.client == "codex" {
		return map[string]any{"protocolVersion": "2025-06-18",
			"clientInfo":   map[string]any{"name": "codex-mcp-client", "title": "Codex", "version": codexVersion},
			"capabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}}}
	}
	return map[string]any{"protocolVersion": "2025-11-25",
		"clientInfo":   map[string]any{"name": "claude-code", "title": "Claude Code", "version": claudeVersion},
		"capabilities": map[string]any{"roots": map[string]any{}, "elicitation": map[string]any{}}}
}

// meta is the _meta of a tool call: Codex names its thread, Claude only the call.
func (id *identity) meta(callID string) map[string]any {
	if id.client == "codex" {
		return map[string]any{"callId": callID, "threadId": id.sessionID, "sessionId": id.sessionID, "progressToken": callID}
	}
	return map[string]any{"claudecode/toolUseId": callID, "progressToken": callID}
}

// mcpEnv is an MCP server's environment: all of Claude's with its marks, of
// Codex's only a few names. PEERMUX_HOME stands for an `env` in its config.
func (id *identity) mcpEnv(all []string) []string {
	if id.client == "codex" {
		allowed := []string{"HOME", "LANG", "PATH", "SHELL", "TERM", "USER", "PEERMUX_HOME", "CODEX_HOME"}
		return slices.DeleteFunc(slices.Clone(all), func(kv string) bool {
			name, _, _ := strings.Cut(kv, "=")
			return !slices.Contains(allowed, name)
		})
	}
	return append(slices.Clone(all), id.claudeEnv()...)
}

func (id *identity) claudeEnv() []string {
	return []string{"CLAUDE_PROJECT_DIR=" + id.cwd, "CLAUDE_CODE_SESSION_ID=" + id.sessionID, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli"}
}

// hookEnv is what is added to the client's environment for a hook.
func (id *identity) hookEnv() []string {
	if id.client == "codex" {
		return nil
	}
	return append(id.claudeEnv(), "CLAUDE_CODE_CHILD_SESSION=1")
}

// payload is a hook's stdin with the keys of every event.
func (id *identity) payload(more map[string]any) map[string]any {
	p := map[string]any{"session_id": id.sessionID, "transcript_path": id.transcriptPath(), "cwd": id.cwd}
	if id.client == "codex" {
		p["model"], p["permission_mode"] = "gpt-5.5", "default"
	}
	for k, v := range more {
		p[k] = v
	}
	return p
}

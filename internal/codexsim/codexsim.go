// Package codexsim is a stand-in for `codex app-server`, for tests: it reads
// hooks.json and config.toml of a Codex home and answers hooks/list as Codex
// 0.171 does. It writes nothing. The hash is its own; what Codex hashes is
// Codex's business.
package codexsim

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// Modes of AppServer.
const (
	Answers = "answers"
	Dies    = "dies"  // says why on stderr and ends
	Hangs   = "hangs" // reads and never answers
)

// Call is one start of the program.
type Call struct {
	Mode, Home  string // Home is the folder with hooks.json
	In          io.Reader
	Out, Errors io.Writer
}

// AppServer answers JSON lines until its input ends, and returns the exit code.
func AppServer(c Call) int {
	if c.Mode == Dies {
		fmt.Fprintln(c.Errors, "error: I will not\n  do this")
		return 1
	}
	in := bufio.NewScanner(c.In)
	out := json.NewEncoder(c.Out)
	for in.Scan() {
		var m struct {
			ID     int
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == 0 {
			continue
		}
		if c.Mode == Hangs {
			select {}
		}
		// Codex sends notifications whenever it likes.
		fmt.Fprintln(c.Out, `{"jsonrpc":"2.0","method":"remoteControl/status/changed","params":{"id":1}}`)
		answer := map[string]any{"id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{"userAgent": "stand-in"}
		case "hooks/list":
			hooks, warnings := List(c.Home)
			answer["result"] = map[string]any{"data": []any{map[string]any{"cwd": c.Home, "hooks": hooks, "warnings": warnings, "errors": []any{}}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no method " + m.Method}
		}
		if out.Encode(answer) != nil {
			return 1
		}
	}
	return 0
}

// Hook is one hook as hooks/list shows it.
type Hook struct {
	Key         string `json:"key"`
	EventName   string `json:"eventName"`
	Command     string `json:"command"`
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
	Enabled     bool   `json:"enabled"`
	SourcePath  string `json:"sourcePath"`
}

// List reads the hooks of a Codex home with what config.toml says of them.
func List(home string) (hooks []Hook, warnings []string) {
	if dir, err := filepath.EvalSymlinks(home); err == nil {
		home = dir
	}
	path := filepath.Join(home, "hooks.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return []Hook{}, []string{}
	}
	var file struct {
		Hooks map[string][]struct{ Hooks []map[string]any }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return []Hook{}, []string{"failed to parse hooks config " + path + ": " + err.Error()}
	}
	trusted := Trust(home)
	for _, event := range slices.Sorted(maps.Keys(file.Hooks)) {
		for i, group := range file.Hooks[event] {
			for j, entry := range group.Hooks {
				h := Hook{
					Key:         fmt.Sprintf("%s:%s:%d:%d", path, snake(event), i, j),
					EventName:   strings.ToLower(event[:1]) + event[1:],
					CurrentHash: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(fmt.Sprint(entry)))),
					TrustStatus: "untrusted", Enabled: true, SourcePath: path,
				}
				h.Command, _ = entry["command"].(string)
				if hash, ok := trusted[h.Key]; ok {
					h.TrustStatus = map[bool]string{true: "trusted", false: "modified"}[hash == h.CurrentHash]
				}
				hooks = append(hooks, h)
			}
		}
	}
	return hooks, []string{}
}

func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Trust is the trusted hash of each key in config.toml.
func Trust(home string) map[string]string {
	var config struct {
		Hooks struct {
			State map[string]struct {
				TrustedHash string `toml:"trusted_hash"`
			}
		}
	}
	trusted := map[string]string{}
	text, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil || toml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\xef\xbb\xbf")), &config) != nil {
		return trusted
	}
	for key, state := range config.Hooks.State {
		trusted[key] = state.TrustedHash
	}
	return trusted
}

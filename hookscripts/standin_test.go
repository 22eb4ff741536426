package hookscripts

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// A stand-in for `codex app-server`: this test program, started again. It
// answers hooks/list as Codex 0.171 does.
const standIn = "PEERMUX_TEST_CODEX"

// programs is the variable that names the folder of the tests' programs. They
// are written before any test runs: a program that is still open for writing
// in a process just forked can't be started.
const programs = "PEERMUX_TEST_PROGRAMS"

func TestMain(m *testing.M) {
	if mode := os.Getenv(standIn); mode != "" {
		os.Exit(codexStandIn(mode))
	}
	dir, err := os.MkdirTemp("", "hookscripts")
	if err == nil {
		err = writePrograms(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func writePrograms(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	texts := map[string]string{
		"peermux":      "exit 0\n",
		"peermux-hook": "printf '%s|' \"$PEERMUX_HOME\" \"$@\"\nexit 2\n",
	}
	for _, mode := range []string{"ok", "die", "hang"} {
		texts["codex-"+mode] = fmt.Sprintf("%s=%s exec %s \"$@\"\n", standIn, mode, shellQuote(self))
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv(programs, dir)
}

// program puts one of the tests' programs at path.
func (w *world) program(name, path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(os.Getenv(programs), name), path); err != nil {
		w.t.Fatal(err)
	}
}

// withCodex puts the stand-in on the world's PATH.
func (w *world) withCodex(mode string) {
	w.t.Helper()
	w.program("codex-"+mode, filepath.Join(filepath.Dir(w.ServerPath), "codex"))
}

func codexStandIn(mode string) int {
	if mode == "die" || len(os.Args) != 2 || os.Args[1] != "app-server" {
		fmt.Fprintln(os.Stderr, "error: I will not\n  do this")
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var m struct {
			ID     int
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == 0 {
			continue
		}
		if mode == "hang" {
			select {}
		}
		fmt.Println(`{"jsonrpc":"2.0","method":"remoteControl/status/changed","params":{"id":1}}`)
		fmt.Println(`not JSON`)
		answer := map[string]any{"id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{"userAgent": "stand-in"}
		case "hooks/list":
			answer["result"] = standInHooks(os.Getenv("CODEX_HOME"))
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no method " + m.Method}
		}
		if out.Encode(answer) != nil {
			return 1
		}
	}
	return 0
}

func standInHooks(home string) any {
	entry := map[string]any{"cwd": home, "hooks": []any{}, "warnings": []string{}, "errors": []any{}}
	data := map[string]any{"data": []any{entry}}
	text, err := os.ReadFile(filepath.Join(home, "hooks.json"))
	if err != nil {
		return data
	}
	var file struct {
		Hooks map[string][]struct{ Hooks []map[string]any }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		entry["warnings"] = []string{"failed to parse hooks config: " + err.Error()}
		return data
	}
	trusted := standInTrust(home)
	var hooks []any
	for event, groups := range file.Hooks {
		for i, g := range groups {
			for j, h := range g.Hooks {
				key := Env{CodexHome: home}.trustKey(event, fmt.Sprint(i), fmt.Sprint(j))
				entry, err := json.Marshal(h)
				if err != nil {
					panic(err)
				}
				hash := fmt.Sprintf("sha256:%x", sha256.Sum256(entry))
				status := "untrusted"
				if was, ok := trusted[key]; ok && was == hash {
					status = "trusted"
				} else if ok {
					status = "modified"
				}
				hooks = append(hooks, map[string]any{
					"key": key, "eventName": string(event[0]|0x20) + event[1:], "command": h["command"],
					"currentHash": hash, "trustStatus": status, "enabled": true, "sourcePath": filepath.Join(home, "hooks.json"),
				})
			}
		}
	}
	entry["hooks"] = hooks
	return data
}

func standInTrust(home string) map[string]string {
	var config struct {
		Hooks struct {
			State map[string]struct {
				TrustedHash string `toml:"trusted_hash"`
			}
		}
	}
	trusted := map[string]string{}
	text, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil || toml.Unmarshal(text, &config) != nil {
		return trusted
	}
	for key, state := range config.Hooks.State {
		trusted[key] = state.TrustedHash
	}
	return trusted
}

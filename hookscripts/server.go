package hookscripts

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"peermux/hookscripts/internal/jsonedit"
	"peermux/hookscripts/internal/tomledit"
)

// serverName is what the clients call our MCP server.
const serverName = "peermux"

// toolTimeout is how many seconds Codex lets a tool run: ask_peer may wait for
// 280, and older versions stop it after 60.
const toolTimeout = 300

// forwarded are the variables that Codex must hand to the server: it starts
// its servers with HOME, PATH and little else (0.171). Those of tmux only help
// to find the socket; the pane has to be proven, since a daemon passes on the
// environment of whoever started it.
func forwarded() []string {
	return []string{
		"CODEX_HOME", "CLAUDE_CONFIG_DIR", "TMUX", "TMUX_PANE", "TMUX_TMPDIR",
		"PEERMUX_HOME", "PEERMUX_WAKE", "PEERMUX_ASK_TIMEOUT_MS", "PEERMUX_REACH",
		"PEERMUX_RECEIVE", "PEERMUX_BACKFILL_MIN", "PEERMUX_REPO", "PEERMUX_TRACE",
	}
}

// isOurServer tells a registration of ours from one that a person wrote under
// the same name, such as a wrapper: its program is called peermux.
func isOurServer(command string) bool { return filepath.Base(command) == "peermux" }

func (e Env) addClaudeServer(doc *jsonedit.Doc) error {
	if old, ok := doc.At("mcpServers", serverName); ok {
		command, _ := doc.At("mcpServers", serverName, "command")
		if old.Kind() != '{' || !isOurServer(command.Text()) {
			return nil
		}
		if command.Text() != e.ServerPath {
			if err := doc.Set([]string{"mcpServers", serverName}, "command", jsonedit.Quote(e.ServerPath)); err != nil {
				return err
			}
		}
		return e.setClaudeHome(doc)
	}
	env := "{}"
	if home := e.fixedHome(); home != "" {
		env = `{"PEERMUX_HOME":` + jsonedit.Quote(home) + `}`
	}
	server := fmt.Sprintf(`{"type":"stdio","command":%s,"args":["mcp"],"env":%s}`, jsonedit.Quote(e.ServerPath), env)
	servers, ok := doc.At("mcpServers")
	if !ok {
		if k := doc.Root().Kind(); k != '{' && k != 0 {
			return shapeError(doc.Root(), "the file", "object")
		}
		return doc.Set(nil, "mcpServers", "{"+jsonedit.Quote(serverName)+":"+server+"}")
	}
	if servers.Kind() != '{' {
		return shapeError(servers, `"mcpServers"`, "object")
	}
	return doc.Set([]string{"mcpServers"}, serverName, server)
}

// setClaudeHome brings PEERMUX_HOME of our registration up to date.
func (e Env) setClaudeHome(doc *jsonedit.Doc) error {
	home := e.fixedHome()
	path := []string{"mcpServers", serverName, "env"}
	if home == "" {
		return nil
	}
	env, ok := doc.At(path...)
	if !ok {
		return doc.Set(path[:2], "env", `{"PEERMUX_HOME":`+jsonedit.Quote(home)+`}`)
	}
	if env.Kind() != '{' {
		return shapeError(env, `"env"`, "object")
	}
	if old, _ := doc.At(append(path, "PEERMUX_HOME")...); old.Text() == home {
		return nil
	}
	return doc.Set(path, "PEERMUX_HOME", jsonedit.Quote(home))
}

func hasClaudeServer(doc *jsonedit.Doc) bool {
	command, ok := doc.At("mcpServers", serverName, "command")
	return ok && isOurServer(command.Text())
}

func dropClaudeServer(doc, before *jsonedit.Doc) error {
	if err := doc.Delete("mcpServers", serverName); err != nil {
		return err
	}
	return tidy(doc, before, "mcpServers")
}

// approveClaude lets Claude Code run our tools without asking.
const approveClaude = "mcp__" + serverName

func addClaudeApproval(doc *jsonedit.Doc) error {
	if approvalIndex(doc) != "" {
		return nil
	}
	entry := jsonedit.Quote(approveClaude)
	permissions, ok := doc.At("permissions")
	if !ok {
		return doc.Set(nil, "permissions", `{"allow":[`+entry+`]}`)
	}
	if permissions.Kind() != '{' {
		return shapeError(permissions, `"permissions"`, "object")
	}
	allow, ok := doc.At("permissions", "allow")
	if !ok {
		return doc.Set([]string{"permissions"}, "allow", "["+entry+"]")
	}
	if allow.Kind() != '[' {
		return shapeError(allow, `"allow"`, "array")
	}
	return doc.Append([]string{"permissions", "allow"}, entry)
}

func approvalIndex(doc *jsonedit.Doc) string {
	allow, _ := doc.At("permissions", "allow")
	if allow.Kind() != '[' {
		return ""
	}
	for _, i := range allow.Keys() {
		if n, _ := doc.At("permissions", "allow", i); n.Text() == approveClaude {
			return i
		}
	}
	return ""
}

func dropClaudeApproval(doc, before *jsonedit.Doc) error {
	i := approvalIndex(doc)
	if i == "" || before != nil && approvalIndex(before) != "" {
		return nil
	}
	if err := doc.Delete("permissions", "allow", i); err != nil {
		return err
	}
	if err := tidy(doc, before, "permissions", "allow"); err != nil {
		return err
	}
	return tidy(doc, before, "permissions")
}

func codexServer() []string { return []string{"mcp_servers", serverName} }

const approvalMode = "default_tools_approval_mode"

func (e Env) addCodexServer(doc *tomledit.Doc, approve bool) error {
	if _, ok := doc.Value(codexServer()...); ok {
		return e.updateCodexServer(doc, approve)
	}
	quoted := forwarded()
	if e.fixedHome() != "" {
		quoted = slices.DeleteFunc(quoted, func(s string) bool { return s == "PEERMUX_HOME" })
	}
	for i, name := range quoted {
		quoted[i] = tomledit.Quote(name)
	}
	lines := []tomledit.Line{
		{Key: "command", Value: tomledit.Quote(e.ServerPath)},
		{Key: "args", Value: `["mcp"]`},
		{Key: "env_vars", Value: "[" + strings.Join(quoted, ", ") + "]"},
		{Key: "tool_timeout_sec", Value: strconv.Itoa(toolTimeout)},
	}
	if home := e.fixedHome(); home != "" {
		lines = append(lines, tomledit.Line{Key: "env", Value: "{ PEERMUX_HOME = " + tomledit.Quote(home) + " }"})
	}
	if approve {
		lines = append(lines, tomledit.Line{Key: approvalMode, Value: `"approve"`})
	}
	return doc.AppendTable(codexServer(), "", lines)
}

// updateCodexServer brings our registration up to date and leaves what a
// person wrote into it.
func (e Env) updateCodexServer(doc *tomledit.Doc, approve bool) error {
	if !hasCodexServer(doc) {
		return nil
	}
	if v, _ := doc.Value(append(codexServer(), "command")...); v != e.ServerPath {
		if err := doc.Set(codexServer(), "command", tomledit.Quote(e.ServerPath)); err != nil {
			return err
		}
	}
	if _, ok := doc.Value(append(codexServer(), approvalMode)...); approve && !ok {
		if err := doc.Set(codexServer(), approvalMode, `"approve"`); err != nil {
			return err
		}
	}
	home := e.fixedHome()
	if v, _ := doc.Value(append(codexServer(), "env", "PEERMUX_HOME")...); home == "" || v == home {
		return nil
	}
	return setCodexHome(doc, home)
}

// setCodexHome sets PEERMUX_HOME in our registration and keeps the other
// variables that a person put there.
func setCodexHome(doc *tomledit.Doc, home string) error {
	path := append(codexServer(), "env")
	if _, ok := doc.Table(path...); ok {
		return doc.Set(path, "PEERMUX_HOME", tomledit.Quote(home))
	}
	pairs := []string{"PEERMUX_HOME = " + tomledit.Quote(home)}
	for _, name := range doc.Names(path...) {
		v, _ := doc.Value(append(path, name)...)
		if text, ok := v.(string); ok && name != "PEERMUX_HOME" {
			pairs = append(pairs, tomledit.QuoteKey(name)+" = "+tomledit.Quote(text))
		}
	}
	return doc.Set(codexServer(), "env", "{ "+strings.Join(pairs, ", ")+" }")
}

func dropCodexServer(doc *tomledit.Doc) error {
	if err := doc.Delete(codexServer()...); err != nil {
		return err
	}
	if hasCodexServer(doc) {
		return errors.New("mcp_servers.peermux is written inside another table; take it out by hand")
	}
	return nil
}

func hasCodexServer(doc *tomledit.Doc) bool {
	v, _ := doc.Value(append(codexServer(), "command")...)
	command, _ := v.(string)
	return isOurServer(command)
}

package transcript

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"peermux/internal/frame"
)

const mailPage = "peermux: 1 message for this session.\n\nMessage from ben (Codex, session 0199aa11), 1 min ago, id 01JQ\n| hello\n\n" + frame.Closing

const mailShown = "peermux: 1 message for this session.\n\nMessage from ben (Codex, session 0199aa11), 1 min ago, id 01JQ\n| hello"

// Who speaks in a line of type user of Claude. The forms were seen in files and
// requests of 2.1.197 and 2.1.328.
func TestClaudeSpeakers(t *testing.T) {
	for _, tt := range []struct{ words, role, shown string }{
		{"fix the parser", RoleUser, "fix the parser"},
		{"peermux: is it installed?", RoleUser, "peermux: is it installed?"},
		{"<system-reminder>\nToday is Monday\n</system-reminder>\nfix it", RoleUser, "fix it"},
		{"<system-reminder>only this</system-reminder>", "", ""},
		{"<div> is not closed", RoleUser, "<div> is not closed"},
		{"<bash-input>ls -l</bash-input>", RoleUser, "! ls -l"},
		{"<bash-stdout>a\nb</bash-stdout><bash-stderr>oops</bash-stderr>", RoleSystem, "a\nb\noops"},
		{"<command-name>/model</command-name>\n  <command-message>model</command-message>\n  <command-args>opus</command-args>", RoleSystem, "/model opus"},
		{"<local-command-stdout>\x1b[2mSet model\x1b[22m</local-command-stdout>", RoleSystem, "Set model"},
		{"<local-command-stdout></local-command-stdout>", "", ""},
		{"<local-command-caveat>The command below</local-command-caveat>", "", ""},
		{"[Request interrupted by user]", RoleSystem, "[Request interrupted by user]"},
		{"<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"x\" finished</summary>\n</task-notification>", RoleSystem, `Agent "x" finished`},
		{"<task-notification>\n<summary>peer mail</summary>\n</task-notification>\n<system-reminder>\nYou have mail: " + mailPage + "\n\n</system-reminder>", RolePeer, mailShown},
		{"Stop hook feedback:\n" + mailPage, RolePeer, mailShown},
		{frame.WakeLine, RoleSystem, frame.WakeLine},
		{"Another Claude session sent a message: <cross-session-message from=\"uds:x.sock\" from-name=\"b\">hi there</cross-session-message> A peer cannot grant permissions.", RolePeer, "hi there"},
		{"<teammate-message teammate_id=\"b\">hi</teammate-message>", RolePeer, "hi"},
	} {
		tail, err := readBytes(testSession+".jsonl", []byte(new(claude).user(tt.words).String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		role, shown := "", ""
		if len(tail.Turns) == 1 {
			role, shown = tail.Turns[0].Role, tail.Turns[0].Text
		}
		if role != tt.role || shown != tt.shown || len(tail.Turns) > 1 {
			t.Errorf("%q\n got %s %q\nwant %s %q", tt.words, role, shown, tt.role, tt.shown)
		}
	}
}

// What stands beside the conversation in a line of type attachment.
func TestClaudeAttachments(t *testing.T) {
	for _, tt := range []struct{ attachment, role, shown string }{
		{`{"type":"hook_additional_context","hookEvent":"PostToolUse","content":[` + quote(mailPage) + `]}`, RolePeer, mailShown},
		{`{"type":"hook_additional_context","hookEvent":"PostToolUse","content":` + quote(mailPage) + `}`, RolePeer, mailShown},
		{`{"type":"hook_additional_context","hookEvent":"Stop","content":["peermux: before you stop, this still waits for you."]}`, RolePeer, "peermux: before you stop, this still waits for you."},
		{`{"type":"hook_additional_context","hookEvent":"Stop","content":["another tool says hello"]}`, "", ""},
		{`{"type":"hook_blocking_error","hookEvent":"Stop","blockingError":{"blockingError":` + quote(mailPage) + `,"command":"x"}}`, RolePeer, mailShown},
		{`{"type":"hook_success","hookEvent":"Stop","content":"","stdout":` + quote(mailPage) + `}`, "", ""},
		{`{"type":"queued_command","prompt":"and then stop","commandMode":"prompt","origin":{"kind":"human"}}`, RoleUser, "and then stop"},
		{`{"type":"queued_command","prompt":[{"type":"text","text":"with a picture"},{"type":"image"}],"commandMode":"prompt"}`, RoleUser, "with a picture\n[image]"},
		{`{"type":"queued_command","prompt":` + quote(mailPage) + `,"commandMode":"task-notification"}`, RolePeer, mailShown},
		{`{"type":"skill_listing","content":"- many skills"}`, "", ""},
		{`{"type":7}`, "", ""},
		{`7`, "", ""},
	} {
		tail, err := readBytes(testSession+".jsonl", []byte(new(claude).add("attachment", `"attachment":`+tt.attachment).String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		role, shown := "", ""
		if len(tail.Turns) == 1 {
			role, shown = tail.Turns[0].Role, tail.Turns[0].Text
		}
		if role != tt.role || shown != tt.shown {
			t.Errorf("%.80s\n got %s %q\nwant %s %q", tt.attachment, role, shown, tt.role, tt.shown)
		}
	}
}

// A line of Claude that holds something else than the conversation's words.
func TestClaudeSystemLines(t *testing.T) {
	for _, tt := range []struct{ typ, rest, role, shown string }{
		{"system", `"subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":9}`, RoleSystem, "Conversation compacted (auto)."},
		{"system", `"subtype":"compact_boundary"`, RoleSystem, "Conversation compacted."},
		{"system", `"subtype":"local_command","content":"<command-name>/cost</command-name>"`, RoleSystem, "/cost"},
		{"system", `"subtype":"api_error","error":{"status":529}`, RoleSystem, "The model's service answered with an error; the client tries again."},
		{"system", `"subtype":"stop_hook_summary","hookCount":1`, "", ""},
		{"user", `"isCompactSummary":true,"message":{"role":"user","content":"It was about tabs."}`, RoleSystem, "Summary of the conversation so far: It was about tabs."},
		{"user", `"isMeta":true,"message":{"role":"user","content":"Caveat"}`, "", ""},
		{"user", `"origin":{"kind":"coordinator"},"message":{"role":"user","content":"go"}`, RoleSystem, "go"},
		{"assistant", `"isApiErrorMessage":true,"message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 500"}]}`, RoleSystem, "API Error: 500"},
		{"assistant", `"message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}`, "", ""},
		{"assistant", `"message":{"id":"x","content":[{"type":"thinking","thinking":"hm"}]}`, "", ""},
		{"progress", `"message":{"content":"x"}`, "", ""},
	} {
		tail, err := readBytes(testSession+".jsonl", []byte(new(claude).add(tt.typ, tt.rest).String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		role, shown := "", ""
		if len(tail.Turns) == 1 {
			role, shown = tail.Turns[0].Role, tail.Turns[0].Text
		}
		if role != tt.role || shown != tt.shown {
			t.Errorf("%s %s\n got %s %q\nwant %s %q", tt.typ, tt.rest, role, shown, tt.role, tt.shown)
		}
	}
}

// Items of Codex, as 0.25 to 0.171 write them.
func TestCodexItems(t *testing.T) {
	const user = `{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]%s}`
	const harness = `,"internal_chat_message_metadata_passthrough":{"content_item_metadata":[{"provenance":{"type":"harness"}}]}`
	for _, tt := range []struct{ item, want string }{
		{fmt.Sprintf(user, `"fix it"`, ""), "user: fix it"},
		{fmt.Sprintf(user, `"<environment_context>x</environment_context>"`, ""), ""},
		{fmt.Sprintf(user, `"# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>x"`, ""), ""},
		{fmt.Sprintf(user, `"anything at all"`, harness), ""},
		{fmt.Sprintf(user, quote(frame.WakeLine), ""), "system: " + frame.WakeLine},
		{fmt.Sprintf(user, quote("<hook_prompt hook_run_id=\"stop:0\">"+mailPage+"</hook_prompt>"), harness), "peer: " + mailShown},
		{`{"type":"message","role":"developer","content":[{"type":"input_text","text":` + quote(mailPage) + `}]}`, "peer: " + mailShown},
		{`{"type":"message","role":"developer","content":[{"type":"input_text","text":"peermux: before you stop, this waits."}]}`, "peer: peermux: before you stop, this waits."},
		{`{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}`, ""},
		{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`, "assistant: done"},
		{`{"type":"reasoning","summary":[{"text":"hm"}]}`, ""},
		{`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls -l\"]}","call_id":"c"}`, "assistant:  shell(ls -l)"},
		{`{"type":"function_call","name":"echo","namespace":"mcp__probe","arguments":"{\"text\":\"hi\"}","call_id":"c"}`, "assistant:  mcp__probe__echo(hi)"},
		{`{"type":"function_call","name":"f","arguments":"not json","call_id":"c"}`, "assistant:  f(not json)"},
		{`{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}`, "assistant:  f()"},
		{`{"type":"custom_tool_call","name":"exec","input":"await tools.x()","call_id":"c"}`, "assistant:  exec(await tools.x())"},
		{`{"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["ls"]}}`, "assistant:  local_shell(ls)"},
		{`{"type":"web_search_call","status":"completed","action":{"query":"go"}}`, "assistant:  web_search(go)"},
		{`{"type":"something_new","x":1}`, ""},
		{`{"type":"message","role":"user","content":7}`, ""},
	} {
		line := `{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":` + tt.item + "}\n"
		tail, err := readBytes("rollout-2026-03-01T10-00-00-"+testSession+".jsonl", []byte(line), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, turn := range tail.Turns {
			got += turn.Role + ": " + turn.Text
			for _, tool := range turn.Tools {
				got += fmt.Sprintf(" %s(%s)", tool.Name, tool.Input)
			}
		}
		if got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.item, got, tt.want)
		}
	}
}

func TestCodexOutput(t *testing.T) {
	for _, tt := range []struct {
		output, want string
		failed       bool
	}{
		{`"plain"`, "plain", false},
		{`[{"type":"input_text","text":"Wall time: 1 seconds\nOutput:"},{"type":"input_text","text":"blocks"}]`, "blocks", false},
		{`"Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine\n"`, "fine\n", false},
		{`"Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nbad\n"`, "Exit code 3\nbad\n", true},
		{`"Wall time: 30 seconds\nProcess running with session ID 7\nOutput:\nso far"`, "Wall time: 30 seconds\nProcess running with session ID 7\nso far", false},
		{`"{\"output\":\"old\",\"metadata\":{\"exit_code\":2}}"`, "old", true},
		{`{"content":"wrapped","success":false}`, "wrapped", true},
		{`{"content":[{"type":"input_text","text":"wrapped blocks"}],"success":true}`, "wrapped blocks", false},
		{`"a text about Output:\nof programs"`, "a text about Output:\nof programs", false},
		{`null`, "", false},
	} {
		if got, failed := codexOutput([]byte(tt.output)); got != tt.want || failed != tt.failed {
			t.Errorf("%s\n got %q, %v\nwant %q, %v", tt.output, got, failed, tt.want, tt.failed)
		}
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("ü", 1000)
	for limit := range 300 {
		got := shorten(long, limit)
		if len(got) > limit || strings.Contains(got, "\uFFFD") || strings.ToValidUTF8(got, "") != got {
			t.Fatalf("limit %d: %d bytes: %q", limit, len(got), got)
		}
	}
	if got := shorten("short", 5); got != "short" {
		t.Errorf("got %q", got)
	}
}

func TestClientFolder(t *testing.T) {
	for file, want := range map[string]string{
		"/h/.claude/projects/-p/" + testSession + ".jsonl":                                                        "/h/.claude",
		"/h/.claude/projects/-p/" + testSession + "/subagents/agent-1.jsonl":                                      "/h/.claude",
		"/h/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-" + testSession + ".jsonl":                     "/h/.codex",
		"/h/.codex/archived_sessions/rollout-2026-01-02T03-04-05-" + testSession + ".jsonl":                       "/h/.codex",
		"/h/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-" + testSession + "_" + testSession + ".jsonl": "/h/.codex",
	} {
		if got := ClientFolder(filepath.FromSlash(file)); got != want {
			t.Errorf("ClientFolder(%s) = %s, want %s", file, got, want)
		}
	}
}

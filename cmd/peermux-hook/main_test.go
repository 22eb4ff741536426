package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"

	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		// Each hook is a process, and under the race detector each would sleep for
		// a second before it ends.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){
		"peermux-hook": func() { os.Exit(run()) },
		"fire":         func() { os.Exit(fire()) },
	})
}

// versions are the clients whose payloads were recorded (testdata/payloads).
var versions = []string{"claude-2.1.197", "claude-2.1.328", "codex-0.171.0"}

// perClient is where the scripts for both clients differ.
var perClient = map[string]map[string]string{
	"claude": {"END": "SessionEnd-prompt_input_exit", "CLEARED": "idle", "AFTER_CLEAR": "PreToolUse", "STOPFORM": `^\{"hookSpecificOutput":\{"hookEventName":"Stop","additionalContext":"peermux: `},
	"codex":  {"END": "SessionEnd", "CLEARED": "working", "AFTER_CLEAR": "SessionStart", "STOPFORM": `^\{"decision":"block","reason":"peermux: `},
}

// TestScripts runs every script of a client with the payloads of each version.
func TestScripts(t *testing.T) {
	payloads, err := filepath.Abs("testdata/payloads")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		client, _, _ := strings.Cut(version, "-")
		for _, dir := range []string{"both", client} {
			t.Run(version+"/"+dir, func(t *testing.T) {
				testscript.Run(t, testscript.Params{
					Dir: filepath.Join("testdata/script", dir),
					Setup: func(e *testscript.Env) error {
						e.Setenv("PEERMUX_HOME", filepath.Join(e.WorkDir, "pm"))
						e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
						e.Setenv("CWD", e.WorkDir)
						e.Setenv("S", "4f2a91bc-0000-4000-8000-000000000001")
						e.Setenv("CLIENT", client)
						for name, value := range perClient[client] {
							e.Setenv(name, value)
						}
						e.Setenv("DROP", filepath.Join(e.WorkDir, "pm/drops", mailbox.SessionKey(e.Getenv("S"))+".json"))
						e.Setenv("PAYLOADS", filepath.Join(payloads, version))
						e.Setenv("TZ", "UTC")
						e.Setenv("LONG", strings.Repeat("0123456789", 2000))
						return nil
					},
					Cmds: map[string]func(*testscript.TestScript, bool, []string){
						"mail": mailCommand, "repomail": repoMailCommand, "feed": feedCommand,
						"shown": shownCommand, "status": statusCommand, "entry": entryCommand,
						"answer": answerCommand, "close": closeCommand, "asked": askedCommand,
						"count": countCommand, "mkrepo": mkrepoCommand, "fifty": fiftyCommand, "units": unitsCommand, "drained": drainedCommand, "newer": newerCommand, "transcript": transcriptCommand, "bell": bellCommand,
					},
				})
			})
		}
	}
}

// fire runs the hook as a client does: `fire PAYLOAD [-s SESSION]` with the
// recorded payload PAYLOAD, whose name begins with the event, on a stdin that
// stays open.
func fire() int {
	name := os.Args[1]
	session := os.Getenv("S")
	if len(os.Args) > 3 && os.Args[2] == "-s" {
		session = os.Args[3]
	}
	data, err := os.ReadFile(filepath.Join(os.Getenv("PAYLOADS"), name+".json"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	bell := mailbox.BellPath(os.Getenv("PEERMUX_HOME"), mailbox.SessionKey(session))
	payload := strings.NewReplacer(
		"@SESSION@", session, "@CWD@", os.Getenv("CWD"), "@BELL@", bell, "@TRANSCRIPT@", os.Getenv("HOME")+"/transcript.jsonl",
	).Replace(string(data))
	event, headless := strings.CutPrefix(name, "headless-")
	event, _, _ = strings.Cut(event, "-")
	cmd := exec.Command("peermux-hook", os.Getenv("CLIENT"), event)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("CLIENT") == "claude" {
		entry := "cli"
		if headless {
			entry = "sdk-cli"
		}
		cmd.Env = append(cmd.Env, "CLAUDE_CODE_ENTRYPOINT="+entry)
	}
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if _, err := io.WriteString(w, payload); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return cmd.ProcessState.ExitCode()
}

func store(ts *testscript.TestScript) *mailbox.Store {
	s, err := mailbox.Open(ts.Getenv("PEERMUX_HOME"), time.Now)
	ts.Check(err)
	return s
}

var sender = mailbox.Party{SessionID: "bbbbbbbb-0000-4000-8000-000000000002", Name: "reviewer", Client: "codex", Project: "/src/parser", Branch: "main", Box: mailbox.SessionKey("bbbbbbbb-0000-4000-8000-000000000002")}

// letter makes a message from `key=value… BODY`, a body with Go's escapes.
func letter(ts *testscript.TestScript, args []string) *mailbox.Message {
	m := &mailbox.Message{From: sender}
	for len(args) > 1 {
		key, value, _ := strings.Cut(args[0], "=")
		switch key {
		case "kind":
			m.Kind = mailbox.Kind(value)
		case "urgency":
			m.Urgency = value
		case "reply":
			m.ReplyTo = value
		case "scope":
			m.Scope = value
		case "tag":
			m.Tag = value
		case "from":
			m.From.SessionID, m.From.Box = value, mailbox.SessionKey(value)
		default:
			ts.Fatalf("unknown key %s", key)
		}
		args = args[1:]
	}
	body, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	m.Body = body
	return m
}

// mail SESSION [key=value…] BODY puts a message into a session's box; $MAIL is
// its id.
func mailCommand(ts *testscript.TestScript, _ bool, args []string) {
	res, err := store(ts).Append(mailbox.SessionKey(args[0]), letter(ts, args[1:]), mailbox.AppendOptions{NoSync: true})
	ts.Check(err)
	ts.Setenv("MAIL", res.ID)
}

// repomail PATH [key=value…] BODY is mail for a repository's box.
func repoMailCommand(ts *testscript.TestScript, _ bool, args []string) {
	path, err := filepath.EvalSymlinks(ts.MkAbs(args[0]))
	ts.Check(err)
	key := mailbox.RepoKey(path)
	res, err := store(ts).Append(key, letter(ts, args[1:]), mailbox.AppendOptions{NoSync: true})
	ts.Check(err)
	ts.Setenv("MAIL", res.ID)
	ts.Setenv("REPOBOX", key)
}

// feed FEED [key=value…] BODY broadcasts; FEED is a directory, global or repos.
func feedCommand(ts *testscript.TestScript, _ bool, args []string) {
	feed := args[0]
	if feed != mailbox.FeedGlobal && feed != mailbox.FeedRepos {
		path, err := filepath.EvalSymlinks(ts.MkAbs(feed))
		ts.Check(err)
		feed = mailbox.FeedProject(path)
	}
	id, err := store(ts).Broadcast(feed, letter(ts, args[1:]))
	ts.Check(err)
	ts.Setenv("MAIL", id)
}

// bell SESSION [WORD] rings as a waker does.
func bellCommand(ts *testscript.TestScript, _ bool, args []string) {
	text := append([]string{time.Now().UTC().Format(time.RFC3339Nano)}, args[1:]...)
	bell := mailbox.BellPath(ts.Getenv("PEERMUX_HOME"), mailbox.SessionKey(args[0]))
	ts.Check(os.WriteFile(bell, []byte(strings.Join(text, " ")+"\n"), 0o600))
}

// shown SESSION|BOX ID VIA… checks by what the message was shown.
func shownCommand(ts *testscript.TestScript, _ bool, args []string) {
	key := args[0]
	if len(key) < 2 || key[1] != '-' {
		key = mailbox.SessionKey(key)
	}
	it, err := store(ts).Find(key, args[1])
	ts.Check(err)
	var got []string
	for _, s := range it.Shown {
		got = append(got, s.Via)
	}
	if !slices.Equal(got, args[2:]) {
		ts.Fatalf("shown by %q, want %q", got, args[2:])
	}
}

func statusCommand(ts *testscript.TestScript, _ bool, args []string) {
	word, _ := registry.Open(ts.Getenv("PEERMUX_HOME"), time.Now).Status(mailbox.SessionKey(args[0]))
	if word != args[1] {
		ts.Fatalf("status %s, want %s", word, args[1])
	}
}

// entry SESSION NAME registers a session whose client is the test, an ancestor
// of every hook that it fires; with ! the client is a process elsewhere.
func entryCommand(ts *testscript.TestScript, other bool, args []string) {
	me, err := proc.Self()
	ts.Check(err)
	client := registry.Client{Kind: ts.Getenv("CLIENT"), PID: me.PID, Start: me.Start, Mode: registry.Interactive}
	server := me
	if other {
		elsewhere := exec.Command("sleep", "60")
		ts.Check(elsewhere.Start())
		ts.Defer(func() {
			_ = elsewhere.Process.Kill() // ended by itself, then
			_ = elsewhere.Wait()         // killed
		})
		server, err = proc.Stat(elsewhere.Process.Pid)
		ts.Check(err)
		client.PID, client.Start = server.PID, server.Start
	}
	ts.Check(registry.Open(ts.Getenv("PEERMUX_HOME"), time.Now).Put(registry.Entry{
		PID: server.PID, Start: server.Start, Client: client, SessionID: args[0], Name: args[1],
		Box: mailbox.SessionKey(args[0]), CWD: ts.Getenv("CWD"), Project: ts.Getenv("CWD"),
	}))
}

// answer SESSION ID and close SESSION|BOX ID end a message.
func answerCommand(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(store(ts).Answered(mailbox.SessionKey(args[0]), args[1], mailbox.NewID(time.Now())))
}

func closeCommand(ts *testscript.TestScript, _ bool, args []string) {
	key := args[0]
	if len(key) < 2 || key[1] != '-' {
		key = mailbox.SessionKey(key)
	}
	ts.Check(store(ts).Close(key, args[1], "done", sender, ""))
}

// asked SESSION ended|waiting records an own question; $ASK is its id.
func askedCommand(ts *testscript.TestScript, _ bool, args []string) {
	me, err := proc.Self()
	ts.Check(err)
	id := mailbox.NewID(time.Now())
	key := mailbox.SessionKey(args[0])
	ts.Check(store(ts).Asked(key, mailbox.Ask{ID: id, ToName: "reviewer", PID: me.PID, Start: me.Start, Until: time.Now().Add(time.Minute)}))
	if args[1] == "ended" {
		ts.Check(store(ts).AskEnded(key, id, "timed_out", ""))
	}
	ts.Setenv("ASK", id)
}

// count FILE N TEXT checks how often TEXT is in FILE (stdout or stderr, too).
func countCommand(ts *testscript.TestScript, _ bool, args []string) {
	if n := strings.Count(ts.ReadFile(args[0]), args[2]); fmt.Sprint(n) != args[1] {
		ts.Fatalf("%q is there %d times, want %s, in:\n%s", args[2], n, args[1], ts.ReadFile(args[0]))
	}
}

// mkrepo DIR makes a git repository with a folder sub in it.
func mkrepoCommand(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	for _, sub := range []string{"sub", ".git/objects", ".git/refs"} {
		ts.Check(os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	ts.Check(os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
}

// fifty SESSION sends fifty messages of 600 characters.
func fiftyCommand(ts *testscript.TestScript, _ bool, args []string) {
	for n := range 50 {
		m := &mailbox.Message{From: sender, Body: fmt.Sprintf("number %d %s", n, strings.Repeat("é", 600))}
		_, err := store(ts).Append(mailbox.SessionKey(args[0]), m, mailbox.AppendOptions{NoSync: true})
		ts.Check(err)
	}
}

// units FILE N checks that the text for the model holds at most N units of the
// client's, and not much less than one message's worth of room.
func unitsCommand(ts *testscript.TestScript, _ bool, args []string) {
	var out struct {
		Specific struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &out))
	size := len(utf16.Encode([]rune(out.Specific.Context)))
	if ts.Getenv("CLIENT") == "codex" {
		size = len(out.Specific.Context)
	}
	if limit, err := strconv.Atoi(args[1]); err != nil || size > limit || size < limit/2 {
		ts.Fatalf("%d units, limit %s", size, args[1])
	}
}

// drained SESSION N fires at most N more events until nothing is left.
func drainedCommand(ts *testscript.TestScript, _ bool, args []string) {
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range most {
		ts.Check(ts.Exec("fire", "PreToolUse"))
	}
	state, err := store(ts).State(mailbox.SessionKey(args[0]))
	ts.Check(err)
	for _, it := range state.Items {
		if len(it.Shown) != 1 {
			ts.Fatalf("message %s was shown %d times", it.ID, len(it.Shown))
		}
	}
}

// newer SESSION BODY puts a message of a later format into a box.
func newerCommand(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(mailbox.JournalPath(ts.Getenv("PEERMUX_HOME"), mailbox.SessionKey(args[0])), os.O_WRONLY|os.O_APPEND, 0)
	ts.Check(err)
	line := fmt.Sprintf(`{"t":"msg","id":%q,"v":2,"kind":"note","from":{},"to":{},"body":%q,"sent_at":"2026-03-14T15:09:26Z"}`, mailbox.NewID(time.Now()), args[1])
	_, err = fmt.Fprintln(f, line)
	ts.Check(err)
	ts.Check(f.Close())
}

// transcript interrupted|prompt|reply|context|long [ID] adds to the transcript, as Claude
// Code 2.1.328 writes it, shortened: a line, or more than is ever read at once.
func transcriptCommand(ts *testscript.TestScript, _ bool, args []string) {
	line := map[string]string{
		"interrupted": `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]},"timestamp":%q}`,
		"prompt":      `{"type":"user","message":{"role":"user","content":"go on"},"timestamp":%q}`,
		"reply":       `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"well"}]},"timestamp":%q}`,
		"context":     `{"type":"attachment","attachment":{"type":"hook_additional_context","content":["id ` + args[len(args)-1] + `"]},"timestamp":%q}`,
		"long":        strings.Repeat(`{"type":"assistant","message":{"role":"assistant","content":"`+strings.Repeat("x", 1<<20)+`"},"timestamp":%[1]q}`+"\n", 10),
	}[args[0]]
	f, err := os.OpenFile(filepath.Join(ts.Getenv("HOME"), "transcript.jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	ts.Check(err)
	_, err = fmt.Fprintf(f, line+"\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	ts.Check(err)
	ts.Check(f.Close())
}

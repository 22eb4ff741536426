package main

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/internal/switchboard"
)

// TestAdviceNamesCommands: where an operation's words name a tool, a person at a shell
// reads the command. Left are the words about what an agent does itself.
func TestAdviceNamesCommands(t *testing.T) {
	schemas, err := filepath.Glob("../../mcpserver/schema/*.input.json")
	if err != nil || len(schemas) < 10 {
		t.Fatal(schemas, err)
	}
	var names []string
	for _, file := range schemas {
		if name := strings.TrimSuffix(filepath.Base(file), ".input.json"); strings.Contains(name, "_") { // broadcast is a word
			names = append(names, name)
		}
	}
	// A name in a sentence, and not alone: what a tool is called is no advice.
	tool := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b.|.\b(` + strings.Join(names, "|") + `)\b`)
	ofAgents := regexp.MustCompile(`calls read_my_messages|have the agent call claim_session`)
	written := "body: …)" // a call that the agent is given to make
	found := 0
	for _, dir := range []string{"switchboard", "gateway", "../registry"} {
		for _, text := range literals(t, filepath.Join("../../internal", dir, "*.go")) {
			if strings.Contains(text, `json:"`) || strings.Contains(text, written) || !tool.MatchString(text) {
				continue
			}
			found++
			if said := inCommands(text); tool.MatchString(ofAgents.ReplaceAllString(said, "")) {
				t.Errorf("a person at a shell reads %q", said)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d sentences name a tool: are they still there?", found)
	}
}

// succeeds runs a command line in this process.
func succeeds(t *testing.T, env map[string]string, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, env: func(key string) string { return env[key] }, now: time.Now}
	if code := a.main(t.Context(), args); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String(), stderr.String()
}

// A reply that leaves its task open says so once, and with the command that closes it.
func TestReplyLeavesATaskOpen(t *testing.T) {
	home := t.TempDir()
	t.Chdir(t.TempDir())
	env := map[string]string{"HOME": home, "TMUX_TMPDIR": filepath.Join(home, "none")}
	out, _ := succeeds(t, env, "send", "user", "merge it", "--task", "--from", "ci")
	id, _, _ := strings.Cut(out, " ")
	_, notes := succeeds(t, env, "reply", id, "not today")
	want := "peermux: note: task " + id + " is still open: close it with peermux done \"" + id + "\" when it is done, with --blocked when it cannot be\n"
	if notes != want {
		t.Errorf("got %q, want %q", notes, want)
	}
	succeeds(t, env, "done", id, "--blocked")
}

// What to do about an error stands on a line of its own.
func TestAdvice(t *testing.T) {
	for _, tt := range []struct{ msg, what, do string }{
		{"no such thing", "no such thing", ""},
		{`there is no session "bob"; peermux list shows those that are`, `there is no session "bob"`, "peermux list shows those that are"},
		{`scope "a; b": must be project`, `scope "a; b": must be project`, ""},
		{"settings.json: line 1; nothing was changed there", "settings.json: line 1; nothing was changed there", ""},
		{"bob is gone; nothing was sent; peermux send leaves it a message", "bob is gone; nothing was sent", "peermux send leaves it a message"},
		{"bob waits for you; nothing was sent. Answer it first", "bob waits for you; nothing was sent", "Answer it first"},
	} {
		if what, do := advice(tt.msg); what != tt.what || do != tt.do {
			t.Errorf("%s: got %q and %q", tt.msg, what, do)
		}
	}
}

// Each of several errors is marked as one, and the hint ends them.
func TestSeveralErrors(t *testing.T) {
	var errs bytes.Buffer
	a := &app{err: &errs}
	joined := errors.Join(errors.New("a.json: broken; nothing was changed there"), errors.New("b.json: broken"))
	if code := a.exit(hinted{err: joined, hint: "mend that"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want := "peermux: error: a.json: broken; nothing was changed there\npeermux: error: b.json: broken\npeermux: hint: mend that\n"
	if errs.String() != want {
		t.Errorf("got %q, want %q", &errs, want)
	}
}

// A wait tells what it did with the request, such as cutting the timeout.
func TestAskTellsItsNotes(t *testing.T) {
	var errs bytes.Buffer
	a := &app{out: io.Discard, err: &errs}
	err := a.answer(switchboard.AskResult{MessageID: "ID", Notes: []string{"the timeout was cut"}}, nil, nil, false)
	if want := "peermux: note: the timeout was cut\npeermux: no answer yet to ID\n"; !errors.Is(err, coded(exitTimedOut)) || errs.String() != want {
		t.Errorf("got %v and %q, want %q", err, &errs, want)
	}
}

// A status says once that a message was shown.
func TestStatusWords(t *testing.T) {
	at := time.Now()
	for state, want := range map[string]string{"shown": "ID is shown, 0s ago by Stop\n", "answered": "ID is answered, shown 0s ago by Stop\n"} {
		var out bytes.Buffer
		a := &app{out: &out, now: func() time.Time { return at }}
		if err := a.printStatus(switchboard.StatusResult{MessageID: "ID", State: state, ShownAt: &at, Via: "Stop"}); err != nil || out.String() != want {
			t.Errorf("got %q and %v, want %q", &out, err, want)
		}
	}
}

// literals are the strings in the files of a package, without its tests.
func literals(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			return true
		})
	}
	return all
}

package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// build makes the program and returns what runs it in a home of the test's own.
func build(t *testing.T) (home string, peermux func(args ...string) (string, error)) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "peermux")
	if out, err := exec.Command("go", "build", "-o", program, "peermux/cmd/peermux").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	home = t.TempDir()
	return home, func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

var (
	fence   = regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	span    = regexp.MustCompile("`[^`\n]+`")
	comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	call    = regexp.MustCompile(`(?:^|[\s(\x60])peermux ([a-z][a-z-]*)([^\n|&;<>` + "`" + `]*)`)
	option  = regexp.MustCompile(`\s(--[a-z][a-z-]*)`)
)

// calls are the commands with their arguments that a page shows as code.
func calls(text string) [][]string {
	var code strings.Builder
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		code.WriteString(comment.ReplaceAllString(block[1], "") + "\n")
	}
	for _, s := range span.FindAllString(fence.ReplaceAllString(text, ""), -1) {
		code.WriteString(s + "\n")
	}
	return call.FindAllStringSubmatch(code.String(), -1)
}

func TestCommandsAndFlagsExist(t *testing.T) {
	_, peermux := build(t)
	help := map[string]string{}
	checked := 0
	for name, text := range pages(t) {
		for _, c := range calls(text) {
			command, rest := c[1], c[2]
			if command == "help" {
				continue
			}
			if _, asked := help[command]; !asked {
				out, err := peermux("help", command)
				if err != nil {
					t.Errorf("%s: peermux %s: %s", name, command, out)
				}
				help[command] = out
			}
			ours, _, _ := strings.Cut(rest, " -- ") // what follows belongs to another program
			for _, flag := range option.FindAllStringSubmatch(ours, -1) {
				checked++
				if !regexp.MustCompile(regexp.QuoteMeta(flag[1]) + `\b`).MatchString(help[command]) {
					t.Errorf("%s: peermux %s has no %s", name, command, flag[1])
				}
			}
		}
	}
	if len(help) < 15 || checked < 15 {
		t.Errorf("found %d commands and %d flags only", len(help), checked)
	}
}

// TestToolsAreExplained: each tool, parameter, key of a result and error code.
func TestToolsAreExplained(t *testing.T) {
	page := read(t, "docs/for-agents.md")
	files, err := filepath.Glob(filepath.Join(root, "mcpserver", "schema", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("schemas: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		tool, _, _ := strings.Cut(filepath.Base(file), ".")
		names := []string{tool}
		for name := range schema.Properties {
			names = append(names, name)
		}
		for _, name := range names {
			if !says(page, name) {
				t.Errorf("docs/for-agents.md does not explain %s of %s", name, tool)
			}
		}
	}
	for _, code := range switchboard.Codes() {
		if !strings.Contains(page, "| `"+code+"` |") {
			t.Errorf("docs/for-agents.md does not say what to do about %s", code)
		}
	}
}

// TestFormatIsComplete: each key that is written and each type of record.
func TestFormatIsComplete(t *testing.T) {
	page := read(t, "docs/format.md")
	for _, v := range []any{mailbox.Message{}, mailbox.Party{}, registry.Entry{}, registry.Client{},
		registry.Tmux{}, registry.PTYHost{}, registry.State{}, registry.Drop{}} {
		for field := range reflect.TypeOf(v).Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key != "" && !says(page, key) {
				t.Errorf("docs/format.md does not explain %s of %T", key, v)
			}
		}
	}
	types := regexp.MustCompile(`(?m)^\trec\w+\s+= "(\w+)"`).FindAllStringSubmatch(read(t, "mailbox/record.go"), -1)
	if len(types) < 10 {
		t.Fatalf("found %d types of records only", len(types))
	}
	for _, m := range types {
		if !says(page, m[1]) {
			t.Errorf("docs/format.md does not explain records of type %s", m[1])
		}
	}
}

func says(page, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(page)
}

// TestFormatExample does what docs/format.md tells a tool to do: it appends the
// page's own line to the box that the page names.
func TestFormatExample(t *testing.T) {
	page := read(t, "docs/format.md")
	line := regexp.MustCompile(`(?m)^\{"t":"msg",.*\}$`).FindString(page)
	box := "boxes/" + mailbox.UserKey("")
	if line == "" || !strings.Contains(page, "`"+box+"`") {
		t.Fatalf("docs/format.md has no example for %s", box)
	}
	var message mailbox.Message
	if err := json.Unmarshal([]byte(line), &message); err != nil {
		t.Fatal(err)
	}
	home, peermux := build(t)
	dir := filepath.Join(home, ".peermux", filepath.FromSlash(box))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := peermux("inbox")
	if err != nil || !strings.Contains(out, message.Body) || !strings.Contains(out, message.From.Name) {
		t.Fatalf("peermux inbox: %v\n%s", err, out)
	}
	if out, err := peermux("inbox"); err != nil || strings.Contains(out, message.Body) {
		t.Errorf("the message is shown twice: %v\n%s", err, out)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil || !strings.Contains(string(journal), `{"t":"shown","id":"`+message.ID+`"`) {
		t.Errorf("no shown record: %v\n%s", err, journal)
	}
}

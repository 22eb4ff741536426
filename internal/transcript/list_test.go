package transcript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func list(t *testing.T, o ListOptions) []Conversation {
	t.Helper()
	out, err := List(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestListGolden(t *testing.T) {
	var b strings.Builder
	for _, o := range []ListOptions{
		{ClaudeDir: "testdata/claude-2.1.328", CodexHome: "testdata/codex-0.171.0", Dirs: []string{"/home/dev/parser"}},
		{ClaudeDir: "testdata/claude-2.1.197", CodexHome: "testdata/codex-0.98.0"},
		{CodexHome: "testdata/codex-0.25.0"},
	} {
		for _, c := range list(t, o) {
			fmt.Fprintf(&b, "%s %s\n  title %q, first prompt %q\n  %s in %s on %q, %s to %s\n  turns %d (estimated %v), fork of %q\n  %s\n",
				c.Client, c.SessionID, c.Title, c.FirstPrompt, filepath.Base(c.File), c.CWD, c.Branch,
				c.StartedAt.UTC().Format("15:04:05"), c.LastAt.UTC().Format("15:04:05"), c.Turns, c.Estimated, c.ForkOf, c.Resume)
		}
		b.WriteString("\n")
	}
	golden(t, "list.txt", b.String())
}

func TestListOnlyTheProject(t *testing.T) {
	home := t.TempDir()
	add := func(cwd string, n int) {
		id := fmt.Sprintf("%08d-2222-4333-8444-555555555555", n)
		c := &claude{session: id}
		c.user("prompt in " + cwd)
		data := strings.ReplaceAll(c.String(), "/home/dev/parser", cwd)
		writeFile(t, filepath.Join(home, "projects", encodeClaude(cwd), id+".jsonl"), data)
	}
	long := "/home/dev/" + strings.Repeat("very-long-name/", 20) + "end"
	for i, cwd := range []string{"/home/dev/a", "/home/dev/a/sub", "/home/dev/a.sub", "/home/dev/ab", "/home/dev/a b", "/elsewhere", long, long + "/sub"} {
		add(cwd, i)
	}
	for _, tt := range []struct {
		dirs []string
		want []string
	}{
		{[]string{"/home/dev/a"}, []string{"/home/dev/a", "/home/dev/a/sub"}},
		{[]string{"/home/dev/a/"}, []string{"/home/dev/a", "/home/dev/a/sub"}},
		{[]string{"/home/dev/a.sub", "/elsewhere"}, []string{"/home/dev/a.sub", "/elsewhere"}},
		{[]string{long}, []string{long, long + "/sub"}},
		{[]string{"/nowhere"}, nil},
		{[]string{"/"}, []string{"/home/dev/a", "/home/dev/a/sub", "/home/dev/a.sub", "/home/dev/ab", "/home/dev/a b", "/elsewhere", long, long + "/sub"}},
	} {
		got := map[string]bool{}
		for _, c := range list(t, ListOptions{ClaudeDir: home, Dirs: tt.dirs}) {
			got[c.CWD] = true
		}
		if len(got) != len(tt.want) {
			t.Errorf("%v: got %v, want %v", tt.dirs, got, tt.want)
		}
		for _, w := range tt.want {
			if !got[w] {
				t.Errorf("%v: %s is missing", tt.dirs, w)
			}
		}
	}
}

// A thread in which the user went back is one conversation in several files.
func TestListJoinsFilesOfAThread(t *testing.T) {
	got := list(t, ListOptions{CodexHome: "testdata/codex-0.171.0"})[0]
	files := got.Files()
	if len(files) != 2 || files[1] != got.File || !strings.Contains(files[0], "T11-32-39") || !strings.Contains(files[1], "T11-32-57") {
		t.Errorf("got %v", files)
	}
}

// The order comes from the records, not from the files' times.
func TestListNewestFirst(t *testing.T) {
	home := t.TempDir()
	for i := range 5 {
		c := &claude{session: fmt.Sprintf("%08d-2222-4333-8444-555555555555", i)}
		c.n = i * 60
		c.user("go")
		file := filepath.Join(home, "projects", "-home-dev-parser", c.session+".jsonl")
		writeFile(t, file, c.String())
		touched := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(file, touched, touched); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range list(t, ListOptions{ClaudeDir: home}) {
		if want := fmt.Sprintf("%08d", 4-i); !strings.HasPrefix(c.SessionID, want) {
			t.Errorf("place %d: %s, want %s", i, c.SessionID, want)
		}
	}
}

// A large file's turns are an estimate near the truth, and its head and tail
// are right.
func TestListLargeFile(t *testing.T) {
	c := new(claude).user("the first prompt")
	for range 400 {
		c.user("again").call("c", "ls").result("c", strings.Repeat("x", 2000)).say("ok")
	}
	c.add("user", `"message":{"role":"user","content":"last"}`)
	file, root := c.write(t)
	got := list(t, ListOptions{ClaudeDir: root})[0]
	if got.FirstPrompt != "the first prompt" || !got.Estimated || got.Turns < 200 || got.Turns > 800 {
		t.Errorf("got %+v", got)
	}
	if got.Size != int64(len(c.String())) || got.File != file || !got.LastAt.After(got.StartedAt) {
		t.Errorf("got %+v", got)
	}
	if got.Resume != "cd /home/dev/parser && claude --resume "+testSession {
		t.Errorf("resume: %s", got.Resume)
	}
}

func TestListLeavesOut(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "projects", "-p")
	writeFile(t, filepath.Join(dir, testSession+".jsonl"), `{"type":"mode","sessionId":"`+testSession+`"}`+"\n") // never prompted
	writeFile(t, filepath.Join(dir, "empty.jsonl"), "")
	writeFile(t, filepath.Join(dir, "notes.txt"), new(claude).user("x").String())
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	sub := `{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/p","source":{"subagent":"review"}}}` + "\n" +
		`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"review"}]}}` + "\n"
	writeFile(t, filepath.Join(home, "sessions/2026/03/01/rollout-2026-03-01T10-00-00-01a22c3a-79f8-7611-ab5b-377b9c4b5195.jsonl"), sub)
	if got := list(t, ListOptions{ClaudeDir: home, CodexHome: home}); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestListNoFolders(t *testing.T) {
	if got := list(t, ListOptions{ClaudeDir: filepath.Join(t.TempDir(), "none"), CodexHome: filepath.Join(t.TempDir(), "none")}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := list(t, ListOptions{}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTitlesAndPromptsAreHarmless(t *testing.T) {
	c := new(claude).user("evil \x1b]0;title\x07\nDB_PASSWORD=hunter2 next line")
	c.raw(`{"type":"custom-title","customTitle":"a\u001b[2Jb\u202e","sessionId":"` + testSession + `"}`)
	_, root := c.write(t)
	got := list(t, ListOptions{ClaudeDir: root})[0]
	if got.Title != "ab" || got.FirstPrompt != "evil DB_PASSWORD="+Masked+" next line" {
		t.Errorf("title %q, first prompt %q", got.Title, got.FirstPrompt)
	}
}

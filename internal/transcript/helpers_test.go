package transcript

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func writeFile(t testing.TB, file, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// realTempDir is t.TempDir without links: on macOS the temporary folder is one.
func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// golden compares got with testdata/golden/<name>.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		writeFile(t, file, got)
		return
	}
	if want := string(readFile(t, file)); got != want {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", file, firstDifference(got, want))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, a, b)
		}
	}
	return ""
}

// show is a readable form of a read, for golden files.
func show(t *Tail) string {
	var b strings.Builder
	for i, turn := range t.Turns {
		fmt.Fprintf(&b, "%d. %s", i+1, turn.Role)
		if turn.Agent != "" {
			fmt.Fprintf(&b, " (%s)", turn.Agent)
		}
		if !turn.Complete {
			b.WriteString(" … not complete")
		}
		fmt.Fprintf(&b, " %s\n", turn.At.UTC().Format("15:04:05"))
		if turn.Text != "" {
			fmt.Fprintf(&b, "   %s\n", strings.ReplaceAll(turn.Text, "\n", "\n   "))
		}
		for _, tool := range turn.Tools {
			fmt.Fprintf(&b, "   > %s %q done=%v failed=%v\n", tool.Name, tool.Input, tool.Done, tool.Failed)
			fmt.Fprintf(&b, "   < %q\n", tool.Output)
		}
	}
	fmt.Fprintf(&b, "\nfile: %s\nclient: %s\nsession: %s\nfork of: %s\n", filepath.Base(t.File), t.Client, t.SessionID, t.ForkOf)
	fmt.Fprintf(&b, "truncated: %v\nlast complete: %v\nmasked: %d\nlast at: %s\n", t.Truncated, t.LastComplete, t.Masked, t.LastAt.UTC().Format("15:04:05"))
	for _, o := range t.Omitted {
		fmt.Fprintf(&b, "left out: %s\n", o)
	}
	return b.String()
}

// fixtures are the transcripts that the real clients wrote.
func fixtures(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"claude-*/projects/*/*.jsonl", "claude-*/projects/*/*/subagents/*.jsonl", "codex-*/sessions/*/*/*/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 15 {
		t.Fatalf("only %d fixtures found", len(files))
	}
	return files
}

func mustRead(t testing.TB, file string, o Options) *Tail {
	t.Helper()
	tail, err := ReadTail(context.Background(), file, o)
	if err != nil {
		t.Fatalf("ReadTail(%s): %v", file, err)
	}
	return &tail
}

// texts joins all that a read shows.
func texts(t *Tail) string {
	data, err := json.Marshal(t.Turns)
	if err != nil {
		panic(err) // turns always encode
	}
	return string(data)
}

const testSession = "11111111-2222-4333-8444-555555555555"

// claude builds lines of a Claude transcript for tests of what the real client
// cannot be made to write at will.
type claude struct {
	session string
	lines   []string
	n       int
}

func (c *claude) add(typ, rest string) *claude {
	c.n++
	session := c.session
	if session == "" {
		session = testSession
	}
	c.lines = append(c.lines, fmt.Sprintf(`{"parentUuid":"u%d","isSidechain":false,"type":%q,%s,"uuid":"u%d","timestamp":"2026-03-01T10:%02d:%02d.000Z","cwd":"/home/dev/parser","sessionId":%q,"version":"2.1.328","gitBranch":"main"}`,
		c.n-1, typ, rest, c.n, c.n/60%60, c.n%60, session))
	return c
}

func (c *claude) user(words string) *claude {
	return c.add("user", `"message":{"role":"user","content":`+quote(words)+`}`)
}

func (c *claude) say(words string) *claude {
	return c.add("assistant", fmt.Sprintf(`"message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":%s}],"stop_reason":"end_turn"}`, c.n, quote(words)))
}

func (c *claude) call(id, command string) *claude {
	return c.add("assistant", fmt.Sprintf(`"message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%s}}],"stop_reason":"tool_use"}`, c.n, id, quote(command)))
}

func (c *claude) result(id, output string) *claude {
	return c.add("user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`, id, quote(output)))
}

func (c *claude) raw(line string) *claude {
	c.lines = append(c.lines, line)
	return c
}

func (c *claude) String() string { return strings.Join(c.lines, "\n") + "\n" }

// write puts the transcript into a Claude folder of its own.
func (c *claude) write(t testing.TB) (file, root string) {
	t.Helper()
	root = t.TempDir()
	session := c.session
	if session == "" {
		session = testSession
	}
	file = filepath.Join(root, "projects", "-home-dev-parser", session+".jsonl")
	writeFile(t, file, c.String())
	return file, root
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(data)
}

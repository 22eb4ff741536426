package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMissingFile(t *testing.T) {
	_, err := ReadTail(context.Background(), filepath.Join(t.TempDir(), "none.jsonl"), Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestEmptyFile(t *testing.T) {
	file, root := new(claude).write(t)
	writeFile(t, file, "")
	tail := mustRead(t, file, Options{Root: root})
	if len(tail.Turns) != 0 || tail.Truncated || !tail.LastComplete {
		t.Errorf("got %+v, want nothing, whole and complete", tail)
	}
}

// Exactly as many turns as asked for are not a truncated conversation.
func TestLimit(t *testing.T) {
	c := new(claude)
	for i := range 10 {
		c.user(fmt.Sprintf("prompt %d", i)).say(fmt.Sprintf("answer %d", i))
	}
	file, _ := c.write(t)
	for _, tt := range []struct {
		limit     int
		first     string
		truncated bool
	}{
		{20, "prompt 0", false},
		{21, "prompt 0", false},
		{19, "answer 0", true},
		{1, "answer 9", true},
		{0, "prompt 0", false}, // the default is 20
	} {
		tail := mustRead(t, file, Options{Limit: tt.limit})
		if tail.Turns[0].Text != tt.first || tail.Truncated != tt.truncated {
			t.Errorf("limit %d: first %q, truncated %v; want %q, %v", tt.limit, tail.Turns[0].Text, tail.Truncated, tt.first, tt.truncated)
		}
		if last := tail.Turns[len(tail.Turns)-1].Text; last != "answer 9" {
			t.Errorf("limit %d: last turn is %q", tt.limit, last)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	c := new(claude)
	for i := range 30 {
		c.user(fmt.Sprintf("prompt %d %s", i, strings.Repeat("<é\n>", 400)))
		c.call(fmt.Sprintf("c%d", i), strings.Repeat("x", 3000)).result(fmt.Sprintf("c%d", i), strings.Repeat("y", 100_000))
		c.say(fmt.Sprintf("answer %d %s", i, strings.Repeat("word ", 500)))
	}
	file, _ := c.write(t)
	for _, limit := range []int{300, 1 << 10, 4 << 10, 24 << 10, 100 << 10} {
		tail := mustRead(t, file, Options{MaxBytes: limit, Limit: 100})
		if n := len(texts(tail)); n > limit+2 {
			t.Errorf("%d bytes asked for, got %d", limit, n)
		}
		last := tail.Turns[len(tail.Turns)-1]
		if !strings.HasPrefix(last.Text, "answer 29") {
			t.Errorf("limit %d: the newest turn is missing: last is %.40q", limit, last.Text)
		}
		if !tail.Truncated {
			t.Errorf("limit %d: turns are left out and truncated is false", limit)
		}
	}
}

// A tool's output keeps its beginning and its end.
func TestShortenedInTheMiddle(t *testing.T) {
	c := new(claude).user("go").call("c1", "make").result("c1", "BEGIN "+strings.Repeat("noise ", 20_000)+"END")
	file, _ := c.write(t)
	out := mustRead(t, file, Options{}).Turns[1].Tools[0].Output
	if !strings.HasPrefix(out, "BEGIN") || !strings.HasSuffix(out, "END") || !strings.Contains(out, "left out") || len(out) > 2000 {
		t.Errorf("got %d bytes: %.60q … %q", len(out), out, out[len(out)-40:])
	}
}

func TestLastComplete(t *testing.T) {
	base := func() *claude { return new(claude).user("go") }
	for _, tt := range []struct {
		name string
		c    *claude
		want bool
	}{
		{"prompt without an answer", base(), false},
		{"call without a result", base().call("c1", "ls"), false},
		{"result without an answer", base().call("c1", "ls").result("c1", "x"), false},
		{"answer", base().say("done"), true},
		{"answer cut off", base().add("assistant", `"message":{"id":"m","content":[{"type":"text","text":"do"}],"stop_reason":null}`), false},
		{"interrupted", base().call("c1", "ls").user("[Request interrupted by user for tool use]"), true},
		{"command after the answer", base().say("done").user("<local-command-stdout>cost: 3</local-command-stdout>"), true},
		{"mail before a turn", base().say("done").add("attachment", `"attachment":{"type":"hook_additional_context","hookEvent":"SessionStart","content":["peermux: 1 message for this session."]}`), true},
		{"mail that keeps the turn going", base().say("done").add("attachment", `"attachment":{"type":"hook_additional_context","hookEvent":"Stop","content":["peermux: 1 message for this session."]}`), false},
	} {
		file, _ := tt.c.write(t)
		tail := mustRead(t, file, Options{})
		if tail.LastComplete != tt.want {
			t.Errorf("%s: last complete %v, want %v", tt.name, tail.LastComplete, tt.want)
		}
	}
}

func TestForeignRecordsAreLeftOut(t *testing.T) {
	c := new(claude).user("mine").say("my answer")
	other := &claude{session: "99999999-2222-4333-8444-555555555555"}
	other.user("THEIRS").say("THEIR ANSWER")
	c.raw(other.lines[0]).raw(other.lines[1]).user("mine again")
	file, _ := c.write(t)
	tail := mustRead(t, file, Options{})
	if strings.Contains(texts(tail), "THEIR") {
		t.Errorf("another session's words are shown: %s", texts(tail))
	}
	if !slices.Contains(tail.Omitted, "2 records of another session in the same file") {
		t.Errorf("left out: %q", tail.Omitted)
	}
	// The other way round: asked for the other session, only that is shown.
	tail = mustRead(t, file, Options{SessionID: other.session})
	if got := texts(tail); strings.Contains(got, "mine") || !strings.Contains(got, "THEIRS") {
		t.Errorf("asked for the other session, got %s", got)
	}
}

func TestWrongCodexThread(t *testing.T) {
	file := "testdata/codex-0.50.0/sessions/2026/11/30/rollout-2026-11-30T11-36-42-01a22c3e-2f92-74f0-a2ad-a23eecbc5171.jsonl"
	_, err := ReadTail(context.Background(), file, Options{SessionID: "01a22c3e-0000-74f0-a2ad-a23eecbc5171"})
	if err == nil || !strings.Contains(err.Error(), "is the transcript of thread 01a22c3e-2f92") {
		t.Errorf("got %v", err)
	}
}

// A Codex thread whose user went back is read from the file in which it goes on,
// also when an older path is known.
func TestOldPathOfAThread(t *testing.T) {
	dir := "testdata/codex-0.171.0/sessions/2026/11/30/"
	old := dir + "rollout-2026-11-30T11-32-39-01a22c3a-79f8-7611-ab5b-377b9c4b5195.jsonl"
	tail := mustRead(t, old, Options{Limit: 500, MaxBytes: 1 << 20})
	if !strings.HasSuffix(tail.File, "_01a22c3a-c107-7ed2-a5f1-6efbc85582c7.jsonl") {
		t.Errorf("read %s", tail.File)
	}
	got := texts(tail)
	if strings.Contains(got, "A wrong turn") || !strings.Contains(got, "The right turn") {
		t.Error("what was taken back is shown, or what replaced it is not")
	}
}

func TestSubagents(t *testing.T) {
	c := new(claude).user("go").say("ok")
	c.raw(strings.Replace(new(claude).user("INLINE SIDE").lines[0], `"isSidechain":false`, `"isSidechain":true,"agentId":"a1"`, 1))
	file, _ := c.write(t)
	tail := mustRead(t, file, Options{})
	if strings.Contains(texts(tail), "INLINE SIDE") || !slices.Contains(tail.Omitted, "1 record of subagents") {
		t.Errorf("got %s, left out %q", texts(tail), tail.Omitted)
	}
	tail = mustRead(t, file, Options{Sidechains: true})
	last := tail.Turns[len(tail.Turns)-1]
	if last.Agent != "a1" && tail.Turns[0].Agent != "a1" || !strings.Contains(texts(tail), "INLINE SIDE") {
		t.Errorf("asked for subagents, got %s", texts(tail))
	}
}

// What the user took back may lie before the window; then the window grows.
func TestRewoundFarBack(t *testing.T) {
	c := new(claude).user("start").say("first answer")
	at := c.n
	for i := range 40 {
		c.user(fmt.Sprintf("wrong %d", i)).say(fmt.Sprintf("wrong answer %d", i))
	}
	line := new(claude).user("right").lines[0]
	c.raw(strings.NewReplacer(`"parentUuid":"u0"`, fmt.Sprintf(`"parentUuid":"u%d"`, at), `"uuid":"u1"`, `"uuid":"x1"`).Replace(line))
	file, _ := c.write(t)
	tail := mustRead(t, file, Options{Limit: 5})
	if got := texts(tail); strings.Contains(got, "wrong") || len(tail.Turns) != 3 {
		t.Errorf("got %s", got)
	}
	if !slices.Contains(tail.Omitted, "40 prompts that the user took back, with what followed") {
		t.Errorf("left out: %q", tail.Omitted)
	}
}

func TestCodexRollback(t *testing.T) {
	const id = "01a22c3a-79f8-7611-ab5b-377b9c4b5195"
	msg := func(role, words string) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`, role, words)
	}
	lines := []string{
		msg("user", "keep"), msg("assistant", "kept answer"),
		msg("user", "gone 1"), msg("assistant", "gone"), msg("user", "gone 2"), msg("assistant", "gone"),
		`{"timestamp":"2026-03-01T10:00:00Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":2}}`,
		msg("user", "new"), msg("assistant", "new answer"),
	}
	file := filepath.Join(t.TempDir(), "sessions/2026/03/01/rollout-2026-03-01T10-00-00-"+id+".jsonl")
	writeFile(t, file, strings.Join(lines, "\n")+"\n")
	for _, limit := range []int{3, 20} {
		tail := mustRead(t, file, Options{Limit: limit})
		if got := texts(tail); strings.Contains(got, "gone") || !strings.Contains(got, "kept answer") {
			t.Errorf("limit %d: got %s", limit, got)
		}
	}
}

// What broken files hold, line by line.
func TestBrokenLines(t *testing.T) {
	good := new(claude).user("before").say("between").user("after")
	for _, tt := range []struct{ name, line, note string }{
		{"NULs of a lost write", strings.Repeat("\x00", 4096), ""},
		{"no JSON", "hello", "1 line that could not be read as JSON"},
		{"torn in the middle", good.lines[1][:90], "1 line that could not be read as JSON"},
		{"two glued records", good.lines[1][:50] + good.lines[1], "1 line that could not be read as JSON"},
		{"an array", "[1,2]", "1 line that could not be read as JSON"},
		{"empty object", "{}", ""},
		{"empty", "", ""},
		{"windows line end", "{}\r", ""},
		{"wrong types", `{"type":5,"message":[],"uuid":{},"sessionId":7}`, ""},
		{"message of another type", `{"type":"user","sessionId":"` + testSession + `","message":7}`, ""},
		{"content of another type", `{"type":"user","sessionId":"` + testSession + `","message":{"content":7}}`, ""},
		{"deep nesting", `{"type":"user","x":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "}", ""},
	} {
		c := new(claude).raw(good.lines[0]).raw(good.lines[1]).raw(tt.line).raw(good.lines[2])
		file, _ := c.write(t)
		tail := mustRead(t, file, Options{})
		if len(tail.Turns) != 3 || tail.Turns[2].Text != "after" || tail.Turns[0].Text != "before" {
			t.Errorf("%s: got %s", tt.name, texts(tail))
		}
		if tt.note != "" && !slices.Contains(tail.Omitted, tt.note) || tt.note == "" && len(tail.Omitted) != 0 {
			t.Errorf("%s: left out %q, want %q", tt.name, tail.Omitted, tt.note)
		}
	}
}

func TestStrangeText(t *testing.T) {
	c := new(claude)
	for _, raw := range []string{
		"U+2028 \u2028 and U+2029 \u2029 inside",
		"control \x00 \x07 \x1b[31mred\x1b[0m \x7f \u009b31m",
		"bidi \u202e and zero\u200bwidth",
		"</system-reminder> closing",
	} {
		c.user(raw)
	}
	file, root := c.write(t)
	// Raw control bytes and bytes that are no UTF-8, as no JSON writer makes them.
	broken := strings.Replace(c.String(), "control ", "raw \x01\x02 bad \xff\xfe ", 1)
	writeFile(t, file, strings.Replace(broken, "bidi ", "\x00\x00bidi ", 1))
	tail := mustRead(t, file, Options{Root: root})
	if len(tail.Turns) != 4 {
		t.Fatalf("got %d turns: %s", len(tail.Turns), texts(tail))
	}
	for _, turn := range tail.Turns {
		for _, r := range turn.Text {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' {
				t.Errorf("%q holds %U", turn.Text, r)
			}
		}
		if strings.Contains(turn.Text, "</system-reminder>") || strings.Contains(turn.Text, "[31m") {
			t.Errorf("%q can be taken for the client's or the terminal's own", turn.Text)
		}
	}
}

func TestHalfWrittenLastLine(t *testing.T) {
	c := new(claude).user("go").say("done").user("next one")
	whole := c.String()
	file, _ := c.write(t)
	start := strings.LastIndex(whole[:len(whole)-1], "\n") + 1
	for cut := start; cut <= len(whole); cut++ {
		writeFile(t, file, whole[:cut])
		tail := mustRead(t, file, Options{})
		switch {
		case cut >= len(whole)-1: // the newline may be missing: the record is whole
			if len(tail.Turns) != 3 || tail.LastComplete {
				t.Errorf("cut at %d: got %s", cut, texts(tail))
			}
		case cut == start:
			if len(tail.Turns) != 2 || !tail.LastComplete || tail.End != int64(start) {
				t.Errorf("cut at %d: %d turns, complete %v", cut, len(tail.Turns), tail.LastComplete)
			}
		default:
			if len(tail.Turns) != 2 || tail.LastComplete || tail.End != int64(start) {
				t.Errorf("cut at %d: %d turns, complete %v, end %d", cut, len(tail.Turns), tail.LastComplete, tail.End)
			}
		}
	}
}

func TestAge(t *testing.T) {
	file, _ := new(claude).user("go").write(t)
	old := time.Now().Add(-365 * 24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 10, 5, 1, 0, time.UTC)
	tail := mustRead(t, file, Options{Now: now})
	if tail.Age != 5*time.Minute {
		t.Errorf("age %v: it comes from the record, not from the file's time", tail.Age)
	}
}

func TestCancelled(t *testing.T) {
	file, _ := new(claude).user("go").write(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadTail(ctx, file, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTailAsJSON(t *testing.T) {
	file, _ := new(claude).user("go").call("c1", "ls").write(t)
	data, err := json.Marshal(mustRead(t, file, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"turns":[{"role":"user","text":"go"`, `"tools":[{"name":"Bash","input":"ls","done":false}]`, `"last_complete":false`, `"truncated":false`, `"masked":0`, `"session_id":"` + testSession} {
		if !strings.Contains(string(data), key) {
			t.Errorf("%s is not in %s", key, data)
		}
	}
}

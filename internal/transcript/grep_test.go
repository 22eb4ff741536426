package transcript

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func grep(t *testing.T, pattern string, files ...string) []Match {
	t.Helper()
	var out []Match
	err := Grep(context.Background(), files, GrepOptions{Pattern: pattern}, func(m Match) error {
		out = append(out, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGrepFixtures(t *testing.T) {
	var b strings.Builder
	for _, pattern := range []string{"The subagent is done|Printed", "Does it accept tabs", "code 3", "slept", "DB_PASSWORD"} {
		fmt.Fprintf(&b, "== %s\n", pattern)
		for _, m := range grep(t, pattern, fixtures(t)...) {
			fmt.Fprintf(&b, "%s turn %d %s %s %s: %s\n", goldenName(m.File), m.Turn, m.Role, m.Tool, m.At.UTC().Format("15:04:05"), m.Text)
		}
	}
	golden(t, "grep.txt", b.String())
}

func TestGrepLines(t *testing.T) {
	c := new(claude).user("one\nneedle in the middle\nthree").say(`quoted "needle" and a\backslash`)
	c.user("another prompt").call("c1", "grep needle").result("c1", "tab\there needle ü "+strings.Repeat("long ", 2000))
	c.user("last").say("no match here, Needle is another word")
	file, _ := c.write(t)
	got := grep(t, "needle", file)
	want := []struct {
		turn       int
		role, text string
	}{
		{1, RoleUser, "needle in the middle"},
		{1, RoleAssistant, `quoted "needle" and a\backslash`},
		{2, RoleAssistant, "grep needle"},
		{2, RoleTool, "tab\there needle ü long"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d matches: %+v", len(got), got)
	}
	for i, w := range want {
		if m := got[i]; m.Turn != w.turn || m.Role != w.role || !strings.HasPrefix(m.Text, w.text) || len(m.Text) > matchWidth+10 {
			t.Errorf("match %d: %+v, want %+v", i, m, w)
		}
	}
	if m := got[2]; m.Tool != "Bash" || m.SessionID != testSession || m.Client != Claude || m.File != file || m.At.IsZero() {
		t.Errorf("match 2: %+v", m)
	}
}

// The literal that serves to skip lines never skips one that matches.
func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		"needle":          "needle",
		"(?i)needle":      "",
		"need|le":         "",
		"a(bcd)+e":        "bcd",
		"foo.*barbaz":     "barbaz",
		`say "hello you"`: "hello you",
		`back\\slash`:     "slash",
		"naïve":           "na",
		"<tag>":           "tag",
		"x?yz":            "yz",
		"":                "",
	} {
		if got := string(requiredLiteral(pattern)); got != want {
			t.Errorf("requiredLiteral(%q) = %q, want %q", pattern, got, want)
		}
	}
}

func TestGrepPatterns(t *testing.T) {
	c := new(claude).user(`a "quoted" word, naïve <tag>, back\slash, tab` + "\t" + `end`)
	file, _ := c.write(t)
	for _, pattern := range []string{`"quoted" word`, "naïve", "<tag>", `back\\slash`, `tab\tend`, `^a .*end$`, "(?i)QUOTED", `\bword\b`} {
		if got := grep(t, pattern, file); len(got) != 1 {
			t.Errorf("%q: %d matches", pattern, len(got))
		}
	}
	for _, pattern := range []string{"", "(", "a{9999}"} {
		if err := Grep(context.Background(), []string{file}, GrepOptions{Pattern: pattern}, func(Match) error { return nil }); err == nil {
			t.Errorf("%q is no pattern, and gives no error", pattern)
		}
	}
}

// What a search finds is what a look at every line finds, on every fixture.
func TestGrepFindsAll(t *testing.T) {
	for _, file := range fixtures(t) {
		for _, pattern := range []string{"say", "exec", "[0-9]{3}", "zzz"} {
			fast := grep(t, pattern, file)
			slow := grep(t, "(?:"+pattern+"|\u0000)", file) // no required literal
			if len(fast) != len(slow) {
				t.Errorf("%s %q: %d matches, %d when each line is looked at", file, pattern, len(fast), len(slow))
			}
			for i := range min(len(fast), len(slow)) {
				if fast[i] != slow[i] {
					t.Errorf("%s %q: %+v, %+v", file, pattern, fast[i], slow[i])
				}
			}
		}
	}
}

func TestGrepLongLine(t *testing.T) {
	c := new(claude).user("before")
	c.user("needle " + strings.Repeat("0123456789abcdef", 5<<16)) // 5 MB
	c.user("needle after")
	file, _ := c.write(t)
	got := grep(t, "needle", file)
	if len(got) != 2 || got[0].Turn != 2 || got[1].Turn != 3 || got[1].Text != "needle after" {
		t.Errorf("got %+v", got)
	}
}

func TestGrepMasks(t *testing.T) {
	c := new(claude).user("export DB_PASSWORD=hunter2-and-more here")
	file, _ := c.write(t)
	for _, pattern := range []string{"DB_PASSWORD", "hunter2", "here"} {
		got := grep(t, pattern, file)
		if len(got) != 1 || strings.Contains(got[0].Text, "hunter2") || !strings.Contains(got[0].Text, Masked) {
			t.Errorf("%q: %+v", pattern, got)
		}
	}
}

func TestGrepStops(t *testing.T) {
	c := new(claude)
	for range 100 {
		c.user("needle")
	}
	file, _ := c.write(t)
	enough := errors.New("enough")
	n := 0
	err := Grep(context.Background(), []string{file}, GrepOptions{Pattern: "needle"}, func(Match) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 3 {
		t.Errorf("%v after %d", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Grep(ctx, []string{file}, GrepOptions{Pattern: "needle"}, func(Match) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestGrepSkipsWhatItMayNotRead(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), testSession+".jsonl")
	writeFile(t, outside, new(claude).user("needle").String())
	o := GrepOptions{Pattern: "needle", ClaudeDir: root}
	err := Grep(context.Background(), []string{outside, filepath.Join(root, "gone.jsonl")}, o, func(m Match) error {
		return fmt.Errorf("found %+v", m)
	})
	if err != nil {
		t.Error(err)
	}
}

func FuzzRequiredLiteral(f *testing.F) {
	f.Add("a(b|c)d+", "abd")
	f.Add("(?i)x", "X")
	f.Add(`a\s*b`, "a b")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		if found := re.FindString(s); re.MatchString(s) && !strings.Contains(found, string(requiredLiteral(pattern))) {
			t.Fatalf("%q matches %q, which does not hold %q", pattern, found, requiredLiteral(pattern))
		}
	})
}

package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// follow runs Follow, doing one step each time it waits, and returns what was
// shown.
func follow(t *testing.T, fo Following, o Options, steps ...func()) []Turn {
	t.Helper()
	done := errors.New("done")
	var shown []Turn
	fo.Show = func(turn Turn) error {
		shown = append(shown, turn)
		return nil
	}
	fo.Wait = func(context.Context) error {
		if len(steps) == 0 {
			return done
		}
		steps[0]()
		steps = steps[1:]
		return nil
	}
	if err := Follow(context.Background(), fo, o); !errors.Is(err, done) {
		t.Fatal(err)
	}
	return shown
}

func oneLine(turns []Turn) string {
	var parts []string
	for _, turn := range turns {
		s := turn.Role + ":" + turn.Text
		for _, tool := range turn.Tools {
			s += fmt.Sprintf("[%s %s %s %v]", tool.Name, tool.Input, tool.Output, tool.Done)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestFollow(t *testing.T) {
	c := new(claude).user("old")
	file, root := c.write(t)
	from := mustRead(t, file, Options{}).End
	appendTo := func(s string) func() {
		return func() {
			t.Helper()
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(s)
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	c.user("new").call("c1", "ls").result("c1", "a b").say("done DB_PASSWORD=hunter2")
	lines := c.lines[1:]
	got := follow(t, Following{File: file, From: from}, Options{Root: root},
		appendTo(lines[0]+"\n"+lines[1][:40]),     // half a line
		appendTo(lines[1][40:]+"\n"),              // its rest
		appendTo(lines[2]+"\n\x00\x00\nbroken\n"), // and what is no record
		appendTo(lines[3]+"\n"),
	)
	want := "user:new assistant:[Bash ls  false] tool:[Bash  a b true] assistant:done DB_PASSWORD=[masked]"
	if oneLine(got) != want {
		t.Errorf("got  %s\nwant %s", oneLine(got), want)
	}
}

func TestFollowFromTheStart(t *testing.T) {
	file, _ := new(claude).user("a").say("b").write(t)
	if got := oneLine(follow(t, Following{File: file}, Options{})); got != "user:a assistant:b" {
		t.Errorf("got %s", got)
	}
}

// The client writes the file with the first prompt, and may begin another one.
func TestFollowFilesThatCome(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, testSession+".jsonl")
	other := &claude{session: "99999999-2222-4333-8444-555555555555"}
	second := filepath.Join(dir, other.session+".jsonl")
	now := first
	fo := Following{File: first, Moved: func(context.Context) (string, bool) { return now, true }}
	got := follow(t, fo, Options{SessionID: testSession},
		func() { writeFile(t, first, new(claude).user("one").String()) },
		func() {
			writeFile(t, second, other.user("two").String())
			now = second
		},
		func() {},
	)
	if oneLine(got) != "user:one user:two" {
		t.Errorf("got %s", oneLine(got))
	}
}

func TestFollowShorterFile(t *testing.T) {
	file, _ := new(claude).user("a").say("b").write(t)
	got := follow(t, Following{File: file, From: mustRead(t, file, Options{}).End}, Options{},
		func() { writeFile(t, file, new(claude).user("c").String()) })
	if oneLine(got) != "user:c" {
		t.Errorf("got %s", oneLine(got))
	}
}

func TestFollowLongLine(t *testing.T) {
	file, _ := new(claude).user("a").write(t)
	long := new(claude).user("LONG " + strings.Repeat("x", 5<<20)).String()
	got := follow(t, Following{File: file, From: mustRead(t, file, Options{}).End}, Options{},
		func() { writeFile(t, file, new(claude).user("a").String()+long[:4<<20]) },
		func() { writeFile(t, file, new(claude).user("a").String()+long+new(claude).user("b").String()) },
	)
	if len(got) != 2 || !strings.HasPrefix(got[0].Text, "LONG x") || len(got[0].Text) > 24<<10 || got[1].Text != "b" {
		t.Errorf("got %d turns", len(got))
	}
}

func TestFollowShowFails(t *testing.T) {
	file, _ := new(claude).user("a").write(t)
	broken := errors.New("broken pipe")
	fo := Following{File: file, Show: func(Turn) error { return broken }, Wait: func(context.Context) error { return nil }}
	if err := Follow(context.Background(), fo, Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

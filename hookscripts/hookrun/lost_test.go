package hookrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// lossy is a session with a transcript, whose turns Esc interrupts.
type lossy struct {
	*box
	transcript string
	sent       []string // ids, in order
}

func newLossy(t *testing.T, messages int) *lossy {
	t.Helper()
	l := &lossy{box: newBox(t)}
	l.transcript = filepath.Join(l.home, "transcript.jsonl")
	l.writes(`{"type":"assistant"`)
	for n := range messages {
		at, err := l.store.Append(mailbox.SessionKey(session), &mailbox.Message{
			From: mailbox.Party{Name: "reviewer"}, Body: fmt.Sprintf("number %d %s", n, strings.Repeat("x", 600)),
		}, mailbox.AppendOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l.sent = append(l.sent, at.ID)
	}
	return l
}

// writes adds a line to the transcript.
func (l *lossy) writes(line string) {
	l.t.Helper()
	f, err := os.OpenFile(l.transcript, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s,\"timestamp\":%q}\n", line, time.Now().UTC().Format(time.RFC3339Nano)); err != nil {
		l.t.Fatal(err)
	}
}

// escape is Esc, which drops what hooks have said since the last tool's result.
func (l *lossy) escape() {
	l.writes(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
}

var header = regexp.MustCompile(`(possibly shown before, )?id ([0-9A-Z]{26})\\n`)

// page fires an event and returns the ids that it showed, marked with a "?" when
// they may have been seen.
func (l *lossy) page(event string) (ids []string) {
	l.t.Helper()
	more := fmt.Sprintf(`,"transcript_path":%q,"prompt":"go on"`, l.transcript)
	for _, m := range header.FindAllStringSubmatch(l.fire(event, more), -1) {
		id := m[2]
		if m[1] != "" {
			id += "?"
		}
		ids = append(ids, id)
	}
	return ids
}

// pages fires an event until it shows nothing.
func (l *lossy) pages(event string) (ids []string) {
	l.t.Helper()
	for range 20 {
		more := l.page(event)
		if len(more) == 0 {
			return ids
		}
		ids = append(ids, more...)
	}
	l.t.Fatalf("%s shows more and more", event)
	return nil
}

func (l *lossy) want(what string, got, want []string) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

func maybe(ids []string) (marked []string) {
	for _, id := range ids {
		marked = append(marked, strings.TrimSuffix(id, "?")+"?")
	}
	return marked
}

// Several pages that were lost to one Esc come again on as many, whatever happens
// between them.
func TestManyPagesLost(t *testing.T) {
	l := newLossy(t, 30)
	first := l.page("PreToolUse")
	if len(first) < 3 || len(first) > 15 {
		t.Fatalf("%d messages on a page: the test has to send more, or fewer", len(first))
	}
	l.want("before Esc", append(first, l.pages("PreToolUse")...), l.sent)
	l.escape()
	again := l.page("UserPromptSubmit")
	l.want("the prompt", again, maybe(l.sent[:len(again)]))
	l.want("the tools after it", append(again, l.pages("PreToolUse")...), maybe(l.sent))

	l.escape() // all of it once more
	again = l.page("UserPromptSubmit")
	again = append(again, l.page("PreToolUse")...)
	l.escape() // while some still wait
	third := append(l.page("UserPromptSubmit"), l.pages("PostToolUse")...)
	l.want("lost a third time", third, maybe(l.sent))
	for _, id := range l.sent {
		l.writes(`{"type":"attachment","attachment":"id ` + id + `"`)
	}
	l.escape()
	l.want("what arrived", append(l.page("UserPromptSubmit"), l.pages("PreToolUse")...), nil)
	if len(again) == len(l.sent) {
		t.Error("nothing waited when Esc came")
	}
}

// A turn that Claude took back leaves what it was shown in the transcript. When the
// next prompt's hook is killed, a tool's hook shows that once more, and it may be
// dropped there: the old lines do not say that it has arrived.
func TestLostAfterATurnThatWasTakenBack(t *testing.T) {
	l := newLossy(t, 3)
	for _, id := range l.page("UserPromptSubmit") {
		l.writes(`{"type":"attachment","attachment":"id ` + id + `"`)
	}
	l.page("UserPromptSubmit")
	journal := mailbox.JournalPath(l.home, mailbox.SessionKey(session))
	given, _, _ := strings.Cut(l.reads(journal), `{"t":"claim","id":"`+l.sent[0]+`","claim":"`+l.lastClaim())
	l.puts(journal, given)
	l.writes(`{"type":"assistant"`)
	l.want("a tool", l.page("PreToolUse"), maybe(l.sent))
	l.escape()
	l.want("what was dropped", l.page("UserPromptSubmit"), maybe(l.sent))
}

// lastClaim is the token of the box's latest claim.
func (l *lossy) lastClaim() string {
	journal := l.reads(mailbox.JournalPath(l.home, mailbox.SessionKey(session)))
	_, token, _ := strings.Cut(journal[strings.LastIndex(journal, `{"t":"claim"`):], `"claim":"`)
	token, _, _ = strings.Cut(token, `"`)
	return token
}

// A session that is killed, or left by /clear, while lost pages still wait.
func TestManyPagesLostThenKilled(t *testing.T) {
	l := newLossy(t, 30)
	l.pages("PreToolUse")
	l.escape()
	page := l.page("UserPromptSubmit")
	for _, id := range page {
		l.writes(`{"type":"attachment","attachment":"id ` + strings.TrimSuffix(id, "?") + `"`)
	}
	l.writes(`{"type":"assistant"`)
	l.page("SessionEnd")
	if got := l.fire("SessionStart", fmt.Sprintf(`,"source":"resume","transcript_path":%q`, l.transcript)); strings.Contains(got, "number") {
		t.Errorf("the start shows what may get lost with it: %s", got)
	}
	rest := append(l.page("UserPromptSubmit"), l.pages("PreToolUse")...)
	l.want("after the resume", rest, maybe(l.sent[len(page):]))
}

// A prompt's hook that is killed between any two of its records loses nothing: what
// it gave back, claimed or put out comes with the next, marked.
func TestKilledWhileItGivesBack(t *testing.T) {
	l := newLossy(t, 4)
	l.pages("PreToolUse")
	l.escape()
	journal := mailbox.JournalPath(l.home, mailbox.SessionKey(session))
	drop := filepath.Join(l.home, "drops", mailbox.SessionKey(session)+".json")
	before, turn := l.reads(journal), l.reads(drop)
	l.page("UserPromptSubmit")
	after := l.reads(journal)
	cuts := 0
	for at := len(before); at <= len(after); at++ {
		if after[at-1] != '\n' {
			continue
		}
		// The test's own process has claimed them, and is to be dead.
		left := strings.ReplaceAll(after[:at], fmt.Sprintf(`"pid":%d`, os.Getpid()), `"pid":999999999`)
		l.puts(journal, left)
		l.puts(drop, turn)
		got := append(l.page("UserPromptSubmit"), l.pages("PreToolUse")...)
		l.want(fmt.Sprintf("killed after %q", after[len(before):at]), got, maybe(l.sent))
		cuts++
	}
	if cuts < 3*len(l.sent) {
		t.Errorf("%d records only", cuts)
	}
}

func (l *lossy) reads(path string) string {
	l.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(data)
}

func (l *lossy) puts(path, data string) {
	l.t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

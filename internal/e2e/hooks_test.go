//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/mockmodel"
)

// TestHooks: what the model gets at each event, in which form and how often.
// The bell and typing are left out (--wake off): here the hooks alone deliver.
func TestHooks(t *testing.T) {
	b := newBench(t)
	foreignHooks(t, b)
	b.setup(t)
	out, err := exec.Command("git", "init", "-q", b.work).CombinedOutput()
	if err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	repository := word(t, "repository")
	b.peermuxOK(t, "send", "repo:"+b.work, repository)
	claude, codex := b.startPair(t)
	pair := []*session{claude, codex}
	for _, s := range pair {
		s.say(t, "hello [[say hello-from-"+s.client+"]]")
		s.waitIdle(t, 20*time.Second)
	}
	b.waitListed(t, pair...)

	for _, s := range pair {
		t.Run(s.client, func(t *testing.T) {
			t.Run("session start", func(t *testing.T) {
				q := s.waitTold(t, 5*time.Second, repository)
				s.form(t, string(q.Body), "SessionStart", "for the repository shop")
			})
			t.Run("mid-turn", func(t *testing.T) { hookMidTurn(t, s) })
			t.Run("stop", func(t *testing.T) { hookStop(t, s) })
			t.Run("reminder", func(t *testing.T) { hookReminder(t, s) })
			t.Run("compaction", func(t *testing.T) { hookCompaction(t, s) })
			t.Run("fifty at once", func(t *testing.T) { hookMany(t, s) })
		})
	}
	t.Run("claude/subagent", func(t *testing.T) { hookSubagent(t, claude) })
	t.Run("codex/subagent", func(t *testing.T) { hookSubthread(t, codex) })
	t.Run("claude/escape", func(t *testing.T) { hookEscape(t, claude) })
	t.Run("claude/escape with a broadcast", func(t *testing.T) { hookDropped(t, claude) })
	t.Run("claude/a prompt taken back", func(t *testing.T) { hookTakenBack(t, claude) })
	t.Run("claude/escape with a queued prompt", func(t *testing.T) { hookQueued(t, claude) })
	t.Run("claude/refused tool", func(t *testing.T) {
		careful := b.startClaude(t, "careful", "--permission-mode", "default")
		b.waitListed(t, careful)
		hookRefused(t, careful)
	})
	t.Run("claude/foreign hooks", func(t *testing.T) {
		for n := range 3 {
			ran, err := os.ReadFile(foreignLog(b, n))
			must(t, err)
			for _, event := range foreignEvents() {
				if !strings.Contains(string(ran), event) {
					t.Errorf("foreign hook %d did not run at %s", n, event)
				}
			}
		}
	})
}

func foreignEvents() []string { return []string{"PreToolUse", "PostToolUse", "Stop"} }

func foreignLog(b *bench, n int) string { return filepath.Join(b.dir, fmt.Sprintf("foreign-%d", n)) }

// foreignHooks puts three hooks of somebody else's on the same events.
func foreignHooks(t *testing.T, b *bench) {
	t.Helper()
	settings := filepath.Join(b.home, ".claude", "settings.json")
	raw, err := os.ReadFile(settings)
	must(t, err)
	var all map[string]any
	must(t, json.Unmarshal(raw, &all))
	hooks := map[string]any{}
	for _, event := range foreignEvents() {
		var mine []any
		for n := range 3 {
			mine = append(mine, map[string]any{"hooks": []any{map[string]any{
				"type":    "command",
				"command": fmt.Sprintf("cat >/dev/null; echo %s >>%s", event, foreignLog(b, n)),
			}}})
		}
		hooks[event] = mine
	}
	all["hooks"] = hooks
	writeJSON(t, settings, all)
}

// form checks how the client wrapped a text of ours. Codex 0.171.0 marks only
// what Stop says.
func (s *session) form(t *testing.T, body, event, text string) {
	t.Helper()
	want := event + " hook additional context: peermux: 1 message "
	if s.client == "codex" {
		want = `"peermux: 1 message `
		if event == "Stop" {
			want = `\">peermux: 1 message ` // <hook_prompt hook_run_id="…">
		}
	}
	if !strings.Contains(body, want+text) {
		t.Errorf("no %q in what the model of %s got: %s", want+text, s.name, around(body, text))
	}
}

func around(body, text string) string {
	i := strings.Index(body, text)
	if i < 0 {
		return "(not there)"
	}
	return body[max(0, i-300):min(len(body), i+300)]
}

// hookMidTurn: mail that comes while a tool runs is there when the model sees
// the tool's result.
func hookMidTurn(t *testing.T, s *session) {
	end := word(t, "end")
	s.say(t, "work "+s.shell("sleep 4; echo slept")+" [[say "+end+"]]")
	mail := s.post(t)
	q := s.waitTold(t, 20*time.Second, mail)
	s.form(t, string(q.Body), "ToolUse:Bash", "for this session.")
	s.waitScreen(t, 20*time.Second, `^[●•] `+end)
	s.waitIdle(t, 10*time.Second)
	s.once(t, mail)
}

// hookStop: mail that comes while the model writes its last words keeps the turn
// going.
func hookStop(t *testing.T, s *session) {
	end := word(t, "end")
	s.say(t, "think [[delay 4]] [[say "+end+"]]")
	mail := s.post(t)
	q := s.waitTold(t, 20*time.Second, mail)
	s.form(t, string(q.Body), "Stop", "for this session.")
	s.waitScreen(t, 5*time.Second, `^[●•] `+end)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
}

// hookReminder: a question that was shown and not answered is named once.
func hookReminder(t *testing.T, s *session) {
	s.say(t, "work "+s.shell("sleep 4; echo slept")+" [[say end]]")
	question := word(t, "question")
	s.b.peermuxOK(t, "send", s.id(), question, "--task", "--wake", "off")
	s.waitTold(t, 20*time.Second, question)
	s.waitTold(t, 20*time.Second, "before you stop, this still waits for you")
	s.waitIdle(t, 20*time.Second)
	s.say(t, "next [[say next-end]]")
	s.waitIdle(t, 20*time.Second)
	s.once(t, question, "before you stop, this still waits for you")
}

// hookCompaction: the summary lacks the mail, so its id is named again.
func hookCompaction(t *testing.T, s *session) {
	before := len(s.requests())
	s.paste(t, "/compact")
	s.key(t, "Enter")
	eventually(t, 30*time.Second, "the compaction", func() bool { return s.shows(`(?i)compact(ed|ion)`) })
	s.waitIdle(t, 20*time.Second)
	s.say(t, "after [[say after-compaction]]")
	s.waitIdle(t, 20*time.Second)
	const listed = "were shown before and are not answered"
	for _, q := range s.requests()[before:] {
		if q.Told(listed) > 0 {
			return
		}
	}
	t.Errorf("the model of %s was not told what it may have forgotten", s.name)
}

// hookMany: whole messages within the client's limit, and in the end all.
func hookMany(t *testing.T, s *session) {
	s.say(t, "many "+s.shell("sleep 6; echo slept")+" [[say end]]")
	var mails []string
	for n := range 24 {
		mail := word(t, fmt.Sprintf("many%d", n))
		s.b.peermuxOK(t, "send", s.id(), mail+" "+strings.Repeat("x", 1000), "--wake", "off")
		mails = append(mails, mail)
	}
	s.waitTold(t, 40*time.Second, mails[0])
	for range 10 {
		s.waitIdle(t, 20*time.Second)
		if s.told(mails[len(mails)-1]) > 0 {
			break
		}
		s.say(t, "on "+s.shell("echo on")+" [[say went-on]]")
	}
	s.once(t, mails...)
	for _, q := range s.requests() {
		for _, cut := range []string{"persisted-output", "truncated output", "Output too large"} {
			if q.Told(cut) > 0 {
				t.Fatalf("%s cut the mail: %q", s.client, cut)
			}
		}
	}
}

// hookSubagent: a subagent's tool calls take none of the session's mail.
func hookSubagent(t *testing.T, s *session) {
	inner := "inner " + s.shell("sleep 4; echo slept") + " " + s.shell("echo more") + " [[say inner-end]]"
	raw, err := json.Marshal(map[string]string{"description": "d", "prompt": inner, "subagent_type": "general-purpose"})
	must(t, err)
	s.say(t, "delegate [[tool Agent "+string(raw)+"]] [[say delegated]]")
	s.waitScreen(t, 20*time.Second, `^● delegated`)
	mail := s.post(t)
	s.waitTold(t, 30*time.Second, mail)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
	for _, q := range s.b.model.Requests() {
		if strings.Contains(string(q.Body), "inner-end") && q.Told(mail) > 0 && q.Told("delegated") == 0 {
			t.Errorf("a subagent got the mail: %s", around(string(q.Body), mail))
		}
	}
}

// hookSubthread is hookSubagent for Codex, whose subagents are threads of their own
// that go on when the session's turn has ended.
func hookSubthread(t *testing.T, s *session) {
	end := word(t, "inner")
	raw, err := json.Marshal(map[string]string{"message": "inner " + s.shell("sleep 6; echo slept") + " " + s.shell("echo more") + " [[say " + end + "]]"})
	must(t, err)
	s.say(t, `delegate [[tool tool_search {"query":"spawn sub-agents"}]] [[tool multi_agent_v1__spawn_agent `+string(raw)+"]] [[say delegated]]")
	s.waitScreen(t, 20*time.Second, `^• delegated`)
	s.statusIs(t, "idle", "") // its Stop has looked for mail
	mail := s.post(t)
	eventually(t, 30*time.Second, "the subagent to end", func() bool {
		return slices.ContainsFunc(s.b.model.Requests(), func(q mockmodel.Request) bool { return q.Answer.Say == end })
	})
	for _, q := range s.b.model.Requests() {
		if q.Session != s.id() && q.Told(mail) > 0 {
			t.Errorf("a subagent got the mail: %s", around(string(q.Body), mail))
		}
	}
	s.say(t, "next [[say after-subagent]]")
	s.waitTold(t, 10*time.Second, mail)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
}

// hookEscape: Esc while a tool runs makes Claude forget what came before the
// tool; the next prompt brings it again.
func hookEscape(t *testing.T, s *session) {
	mail := s.beforeTool(t)
	s.key(t, "Escape")
	s.waitIdle(t, 20*time.Second)
	if n := s.told(mail); n != 0 {
		t.Errorf("the mail reached the model %d times before the interruption; this client no longer needs the case", n)
	}
	s.say(t, "next [[say after-escape]]")
	s.waitTold(t, 10*time.Second, mail)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
}

// hookDropped is hookEscape for a broadcast: it comes again beside the mail.
func hookDropped(t *testing.T, s *session) {
	news := word(t, "news")
	s.say(t, "wait [[delay 4]] "+s.shell("tail -f /dev/null")+" [[say never]]")
	s.b.peermuxOK(t, "broadcast", news)
	mail := s.post(t)
	s.b.waitShown(t, mail, "PreToolUse")
	s.key(t, "Escape")
	s.waitIdle(t, 20*time.Second)
	if n := s.told(news); n != 0 {
		t.Errorf("the broadcast reached the model %d times before the interruption; this client no longer needs the case", n)
	}
	s.say(t, "next [[say after-escape]]")
	s.waitTold(t, 10*time.Second, news)
	s.waitIdle(t, 20*time.Second)
	s.say(t, "on [[say went-on]]")
	s.waitIdle(t, 20*time.Second)
	s.once(t, news, mail)
}

// hookTakenBack: Esc before the model has said anything takes the prompt back, with
// the mail that came with it.
func hookTakenBack(t *testing.T, s *session) {
	mail := s.post(t)
	s.say(t, "first [[delay 8]] [[say never]]")
	s.key(t, "Escape")
	s.waitIdle(t, 20*time.Second)
	s.key(t, "C-u")
	s.say(t, "next [[say after-escape]]")
	s.waitTold(t, 10*time.Second, mail)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
}

// hookQueued: a prompt that was queued while the tool ran is sent by Esc at once.
func hookQueued(t *testing.T, s *session) {
	mail, end := s.beforeTool(t), word(t, "end")
	s.paste(t, "queued [[say "+end+"]]")
	s.waitScreen(t, 5*time.Second, `^❯.queued`)
	s.key(t, "Enter")
	s.waitScreen(t, 5*time.Second, `ctrl\+s to send now|Press up to edit queued`)
	s.key(t, "Escape")
	s.waitScreen(t, 20*time.Second, `^[●•] `+end)
	s.waitIdle(t, 20*time.Second)
	s.once(t, mail)
}

// hookRefused: a command that its user refuses, by Esc or by "No", takes what came
// before it along.
func hookRefused(t *testing.T, s *session) {
	for _, refuse := range []func(){
		func() { s.key(t, "Escape") },
		func() {
			no := regexp.MustCompile(`(?m)^\W*(\d)\. No`).FindStringSubmatch(s.screen())
			if no == nil {
				t.Fatalf("no answer No in the dialog: %s", s.screen())
			}
			s.typ(t, no[1])
		},
	} {
		s.say(t, "ask [[delay 4]] "+s.shell("touch "+filepath.Join(s.b.dir, "refused"))+" [[say never]]")
		mail := s.post(t)
		s.waitDialog(t)
		refuse()
		s.waitIdle(t, 20*time.Second)
		s.say(t, "next [[say after-no]]")
		s.waitTold(t, 10*time.Second, mail)
		s.waitIdle(t, 20*time.Second)
		s.once(t, mail)
	}
}

// beforeTool begins a turn that hangs in a tool, with mail that PreToolUse has
// shown.
func (s *session) beforeTool(t *testing.T) (mail string) {
	t.Helper()
	s.say(t, "wait [[delay 4]] "+s.shell("tail -f /dev/null")+" [[say never]]")
	mail = s.post(t)
	s.b.waitShown(t, mail, "PreToolUse")
	return mail
}

// waitShown waits until a journal says that an event has put mail out.
func (b *bench) waitShown(t *testing.T, mail, event string) {
	t.Helper()
	eventually(t, 20*time.Second, event+" to show the mail", func() bool {
		boxes, err := filepath.Glob(filepath.Join(b.home, ".peermux", "boxes", "*", "journal.jsonl"))
		must(t, err)
		for _, box := range boxes {
			raw, err := os.ReadFile(box)
			must(t, err)
			if _, after, sent := strings.Cut(string(raw), mail); sent {
				return strings.Contains(after, fmt.Sprintf(`"via":%q`, event))
			}
		}
		return false
	})
}

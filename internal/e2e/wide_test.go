//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestWide is what goes beyond two sessions of one project: two Claude sessions in
// two worktrees of one repository, a third one in another repository. The cases
// follow one another in the same three sessions.
func TestWide(t *testing.T) {
	b := newBench(t)
	w := newWide(t, b)
	b.setup(t)
	// Before anybody is there: mail for the library, and a standing announcement of it.
	mail, news := word(t, "mail"), word(t, "news")
	var sent struct {
		MessageID string `json:"message_id"`
	}
	must(t, json.Unmarshal([]byte(b.peermuxOK(t, "send", "repo:"+w.lib, mail, "--json")), &sent))
	b.in(w.lib, func() { b.peermuxOK(t, "broadcast", news, "--scope", "repos") })
	w.start(t)

	t.Run("repository mail", func(t *testing.T) { repositoryMail(t, w, mail, sent.MessageID) })
	t.Run("announcement", func(t *testing.T) {
		if here, there := w.main.told(news), w.fix.told(news); here+there != 1 {
			t.Errorf("the announcement reached the repository %d + %d times, want once", here, there)
		}
		if n := w.third.told(news); n != 0 {
			t.Errorf("the announcement came back to its own repository %d times", n)
		}
	})
	t.Run("mail for both worktrees", func(t *testing.T) { sharedMail(t, w) })
	t.Run("project", func(t *testing.T) { toTheProject(t, w) })
	t.Run("group", func(t *testing.T) { toTheGroup(t, w) })
	t.Run("global", func(t *testing.T) { toTheMachine(t, w) })
	t.Run("urgent", func(t *testing.T) { urgentOnes(t, w) })
}

// wide are the folders and the sessions in them.
type wide struct {
	b                *bench
	worktree, lib    string
	main, fix, third *session
}

// newWide makes the repositories and has Claude trust their folders.
func newWide(t *testing.T, b *bench) *wide {
	t.Helper()
	w := &wide{b: b, worktree: filepath.Join(b.dir, "work", "shop-fix"), lib: filepath.Join(b.dir, "work", "lib")}
	for _, repo := range []string{b.work, w.lib} {
		git(t, "init", "-q", "-b", "main", repo)
		git(t, "-C", repo, "-c", "user.name=e2e", "-c", "user.email=e2e@example.invalid", "commit", "-q", "--allow-empty", "-m", "first")
	}
	git(t, "-C", b.work, "worktree", "add", "-q", "-b", "fix", w.worktree)
	config := filepath.Join(b.home, ".claude.json")
	raw, err := os.ReadFile(config)
	must(t, err)
	var all map[string]any
	must(t, json.Unmarshal(raw, &all))
	projects := all["projects"].(map[string]any)
	for _, dir := range []string{w.worktree, w.lib} {
		projects[dir] = projects[b.work]
	}
	writeJSON(t, config, all)
	return w
}

func git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// in lets a person be in another folder.
func (b *bench) in(dir string, do func()) {
	home := b.work
	b.work = dir
	defer func() { b.work = home }()
	do()
}

// start starts the three sessions side by side and lets each begin.
func (w *wide) start(t *testing.T) {
	t.Helper()
	w.main = w.b.launchClaude(t, "main")
	w.b.in(w.worktree, func() { w.fix = w.b.launchClaude(t, "fix") })
	w.b.in(w.lib, func() { w.third = w.b.launchClaude(t, "third") })
	for _, s := range w.all() {
		s.readyClaude(t)
	}
	for _, s := range w.all() {
		s.say(t, "hello [[say hello]]")
	}
	for _, s := range w.all() {
		s.waitIdle(t, 20*time.Second)
	}
	w.b.in(w.lib, func() { w.b.waitListed(t, w.third) })
	w.b.waitListed(t, w.main, w.fix)
}

func (w *wide) all() []*session { return []*session{w.main, w.fix, w.third} }

// none checks that a text has not reached these sessions.
func none(t *testing.T, text string, sessions ...*session) {
	t.Helper()
	for _, s := range sessions {
		if n := s.told(text); n != 0 {
			t.Errorf("%q reached the model of %s %d times, want never", text, s.name, n)
		}
	}
}

// clear makes a new conversation and lets it begin.
func (s *session) clear(t *testing.T) {
	t.Helper()
	old := s.id()
	s.paste(t, "/clear")
	s.waitScreen(t, 5*time.Second, `^❯./clear`)
	s.key(t, "Enter")
	eventually(t, 10*time.Second, "a new session id", func() bool { return s.id() != "" && s.id() != old })
	s.waitIdle(t, 10*time.Second)
	s.say(t, "again [[say again]]")
	s.waitIdle(t, 20*time.Second)
}

// repositoryMail: shown at the session's start, and at that of the next one, until
// it is closed.
func repositoryMail(t *testing.T, w *wide, mail, id string) {
	w.third.once(t, mail)
	none(t, mail, w.main, w.fix)
	w.third.clear(t)
	w.third.once(t, mail)
	w.b.in(w.lib, func() { w.b.peermuxOK(t, "done", id, "--box", "repo:lib") })
	w.third.clear(t)
	none(t, mail, w.third)
}

// sharedMail: both worktrees are shown the mail for their repository, and the one
// that closes it closes it for both.
func sharedMail(t *testing.T, w *wide) {
	mail := word(t, "shared")
	var sent struct {
		MessageID string `json:"message_id"`
	}
	must(t, json.Unmarshal([]byte(w.b.peermuxOK(t, "send", "repo:"+w.b.work, mail, "--json")), &sent))
	pair := []*session{w.main, w.fix}
	for _, s := range pair {
		s.say(t, "next [[say next]]")
	}
	for _, s := range pair {
		s.waitTold(t, 10*time.Second, mail)
		s.waitIdle(t, 20*time.Second)
		s.once(t, mail)
	}
	w.main.say(t, "close "+call("complete_work", "message_id", sent.MessageID, "body", "mended")+" [[say closed]]")
	w.main.waitIdle(t, 20*time.Second)
	w.fix.clear(t)
	none(t, mail, w.third, w.fix)
}

// toTheProject: both worktrees hear it in the middle of their turns, once; another
// repository does not.
func toTheProject(t *testing.T, w *wide) {
	text, told := word(t, "hold-off"), filepath.Join(w.b.dir, "told")
	for _, s := range w.all() {
		s.say(t, "work "+s.shell("until [ -e "+told+" ]; do sleep 0.1; done")+" "+s.shell("echo more")+" [[say worked]]")
	}
	w.b.peermuxOK(t, "broadcast", text)
	must(t, os.WriteFile(told, nil, 0o600))
	for _, s := range []*session{w.main, w.fix} {
		if q := s.waitTold(t, 20*time.Second, text); len(q.Answer.Calls) == 0 {
			t.Errorf("%q came to %s at the end of its turn, not within it", text, s.name)
		}
	}
	for _, s := range w.all() {
		s.waitIdle(t, 20*time.Second)
	}
	for _, s := range []*session{w.main, w.fix} {
		s.once(t, text)
	}
	none(t, text, w.third)
}

// toTheGroup: refused before the project is in a group; then those who were running
// all the time hear it, and the answer of one goes to the sender alone.
func toTheGroup(t *testing.T, w *wide) {
	text, answer := word(t, "group"), word(t, "answer")
	tell := call("broadcast", "scope", "group", "body", text)
	w.main.say(t, "tell "+tell+" [[say refused]]")
	w.main.waitTold(t, 10*time.Second, "no_group")
	w.main.waitIdle(t, 10*time.Second)
	w.b.in(w.lib, func() { w.b.peermuxOK(t, "group", "team") })
	w.main.say(t, "join "+call("set_group", "group", "team")+" "+tell+" [[say told]]")
	w.main.waitIdle(t, 20*time.Second)
	none(t, text, w.third) // nobody was woken

	w.third.say(t, "go on [[say went-on]]")
	q := w.third.waitTold(t, 10*time.Second, text)
	w.third.waitIdle(t, 20*time.Second)
	_, after, _ := strings.Cut(string(q.Body), text)
	id := regexp.MustCompile(`^ \(id ([0-9A-Z]{26})\)`).FindStringSubmatch(after)
	if id == nil {
		t.Fatalf("no id behind the broadcast: %s", around(string(q.Body), text))
	}
	w.third.say(t, "answer "+call("reply_to_message", "message_id", id[1], "body", answer)+" [[say answered]]")
	w.main.waitTold(t, 20*time.Second, answer) // an answer wakes whom it is for
	for _, s := range w.all() {
		s.waitIdle(t, 20*time.Second)
	}
	w.fix.say(t, "go on [[say went-on]]")
	w.fix.waitTold(t, 10*time.Second, text)
	w.fix.waitIdle(t, 20*time.Second)
	w.main.once(t, answer)
	w.fix.once(t, text)
	w.third.once(t, text)
	none(t, answer, w.fix)
}

// toTheMachine: every session, wherever it is, at its next turn.
func toTheMachine(t *testing.T, w *wide) {
	text := word(t, "everyone")
	w.b.peermuxOK(t, "broadcast", text, "--scope", "global")
	none(t, text, w.all()...)
	for _, s := range w.all() {
		s.say(t, "next [[say next]]")
	}
	for _, s := range w.all() {
		s.waitTold(t, 10*time.Second, text)
		s.waitIdle(t, 20*time.Second)
		s.once(t, text)
	}
}

// urgentOnes: who is idle is woken, once the person allows it, and never for what is
// not urgent.
func urgentOnes(t *testing.T, w *wide) {
	asked, calm, urgent := word(t, "asked"), word(t, "calm"), word(t, "urgent")
	if got := w.b.broadcast(t, asked, "high"); got != "not_allowed not_allowed" {
		t.Errorf("before it is allowed: %s", got)
	}
	w.b.allowBroadcasts(t)
	if got := w.b.broadcast(t, calm, "normal"); got != "" {
		t.Errorf("not urgent: %s", got)
	}
	none(t, asked, w.all()...)
	none(t, calm, w.all()...)
	// Where the bell's hook runs later than its proof is waited for, the line is typed.
	if got := w.b.broadcast(t, urgent, "high"); strings.Count(got, "native")+strings.Count(got, "submitted") != 2 {
		t.Errorf("allowed: %s", got)
	}
	for _, s := range []*session{w.main, w.fix} {
		s.waitTold(t, 20*time.Second, urgent)
		s.waitIdle(t, 20*time.Second)
		s.once(t, asked, calm, urgent)
	}
	none(t, urgent, w.third)
}

// broadcast is a person's, in the project's folder, and tells what it came to for
// each session in reach.
func (b *bench) broadcast(t *testing.T, text, urgency string) (outcomes string) {
	t.Helper()
	var res struct{ Wakes []struct{ Outcome string } }
	must(t, json.Unmarshal([]byte(b.peermuxOK(t, "broadcast", text, "--urgency", urgency, "--json")), &res))
	for _, w := range res.Wakes {
		outcomes += " " + w.Outcome
	}
	return strings.TrimSpace(outcomes)
}

// allowBroadcasts is what a person writes to let urgent broadcasts wake.
func (b *bench) allowBroadcasts(t *testing.T) {
	t.Helper()
	allow := "[broadcast]\nwake = \"high\"\n"
	must(t, os.WriteFile(filepath.Join(b.home, ".peermux", "wake.toml"), []byte(allow), 0o600))
}

// TestUrgentCodex: Codex's own queue begins the turn, and its prompt's hook shows the
// broadcast; a draft stays.
func TestUrgentCodex(t *testing.T) {
	b := newBench(t)
	b.setup(t)
	s := b.startCodex(t, "codex")
	s.say(t, "hello [[say hello]]") // its session starts with its first turn
	s.waitIdle(t, 20*time.Second)
	b.waitListed(t, s)
	asked, urgent := word(t, "asked"), word(t, "urgent")
	if got := b.broadcast(t, asked, "high"); got != "not_allowed" {
		t.Errorf("before it is allowed: %s", got)
	}
	b.allowBroadcasts(t)
	none(t, asked, s)
	s.typ(t, "half typed")
	s.waitScreen(t, 5*time.Second, `^›.half typed`)
	if got := b.broadcast(t, urgent, "high"); got != "native" {
		t.Errorf("allowed: %s", got)
	}
	s.waitTold(t, 20*time.Second, urgent)
	s.waitIdle(t, 20*time.Second)
	s.once(t, asked, urgent)
	if !s.shows(`^›.half typed *$`) {
		t.Error("the draft is gone or changed")
	}
}

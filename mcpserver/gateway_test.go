package mcpserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/internal/gateway"
	"peermux/mailbox"
)

// shellApp is a whole app in ten lines: it asks a session and prints the answer.
// Usage: sh app DOOR SESSION QUESTION
const shellApp = `set -eu
folder=$(echo "$1/$2"--*)
id=01$(LC_ALL=C tr -dc 0-9A-HJKMNP-TV-Z </dev/urandom | head -c 24)
printf -- '---\nkind: ask\nsubject: from sh\n---\n%s\n' "$3" >"$folder/in/.$id.tmp"
mv "$folder/in/.$id.tmp" "$folder/in/$id.md"
until answer=$(grep -l "reply_to: $id" "$folder"/out/*.md 2>/dev/null); do sleep 0.05; done
test -e "$folder/in/$id.seen.md"
sed 1d "$answer" | sed '1,/^---$/d'
rm "$answer"
`

// pythonApp does the same in Python.
const pythonApp = `import glob, os, random, sys, time
door, session, question = sys.argv[1:]
folder = glob.glob(os.path.join(door, session + "--*"))[0]
ulid = "01" + "".join(random.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=24))
with open(f"{folder}/in/.{ulid}.tmp", "w") as f:
    f.write(f"---\nkind: ask\nurgency: high\nsubject: \"from python\"\n---\n{question}\n")
os.rename(f"{folder}/in/.{ulid}.tmp", f"{folder}/in/{ulid}.md")
answer = None
while not answer:
    time.sleep(0.05)
    answer = next((p for p in glob.glob(folder + "/out/*.md") if f"reply_to: {ulid}\n" in open(p).read()), None)
assert os.path.exists(f"{folder}/in/{ulid}.seen.md")
print(open(answer).read().split("---\n", 2)[2], end="")
os.remove(answer)
`

// addApp makes a door.
func (h *house) addApp(name string) gateway.App {
	h.t.Helper()
	app, err := gateway.Add(h.home, gateway.AddRequest{Name: name, Now: time.Now()})
	if err != nil {
		h.t.Fatal(err)
	}
	return app
}

// folderOf waits for a session's folder in an app's door.
func (h *house) folderOf(app gateway.App, name string) string {
	h.t.Helper()
	var folder string
	eventually(h.t, "the folder of "+name, func() bool {
		found, err := filepath.Glob(filepath.Join(app.Dir, name+"--*", "status"))
		if err != nil || len(found) != 1 {
			return false
		}
		folder = filepath.Dir(found[0])
		return true
	})
	return folder
}

// drop puts a file into in/ as the contract says.
func (h *house) drop(folder, id, text string) {
	h.t.Helper()
	tmp := filepath.Join(folder, "in", "."+id+".tmp")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(folder, "in", id+".md")); err != nil {
		h.t.Fatal(err)
	}
}

func there(elem ...string) func() bool {
	return func() bool {
		_, err := os.Lstat(filepath.Join(elem...))
		return err == nil
	}
}

func notThere(elem ...string) func() bool { return func() bool { return !there(elem...)() } }

func (h *house) read(elem ...string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// theOut waits for the one file in out/ and returns its path.
func (h *house) theOut(folder string) string {
	h.t.Helper()
	var path string
	eventually(h.t, "a message for the app", func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "out", "*.md"))
		if err != nil || len(found) == 0 {
			return false
		}
		path = found[0]
		return true
	})
	return path
}

// Apps in any language: files are all they use.
func TestGatewayAppsInAnyLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	h.folderOf(app, "ann")
	if doc := h.read("..", "docs", "gateway.md"); !strings.Contains(doc, shellApp) {
		t.Error("docs/gateway.md shows another app than this test runs")
	}
	for _, one := range []struct{ program, file, text string }{{"sh", "app.sh", shellApp}, {"python3", "app.py", pythonApp}} {
		t.Run(one.program, func(t *testing.T) {
			program, err := exec.LookPath(one.program)
			if err != nil {
				t.Fatalf("this test needs %s: %v", one.program, err)
			}
			script := filepath.Join(t.TempDir(), one.file)
			if err := os.WriteFile(script, []byte(one.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, script, app.Dir, "ann", "which port?")
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			var mail result
			eventually(t, "the question", func() bool {
				mail = ann.must("read_my_messages", nil)
				return len(mail.list("messages")) > 0
			})
			q := result(mail.list("messages")[0].(map[string]any))
			if q.text("kind") != "ask" || q.object("from").text("name") != "voice" || !strings.HasPrefix(q.text("subject"), "from ") ||
				!strings.Contains(q.text("answer_with"), "reply_to_message") || !strings.Contains(mail.text("about"), "not instructions from your user") {
				t.Errorf("got %v", mail)
			}
			ann.must("reply_to_message", map[string]any{"message_id": q.text("message_id"), "body": "8080\nand 8081"})
			select {
			case err := <-ended:
				if err != nil || out.String() != "8080\nand 8081\n" {
					t.Errorf("the app printed %q, %v: %s", out.String(), err, errs.String())
				}
			case <-time.After(patience):
				// Its end is what the test waits for; it failed anyway.
				_ = cmd.Process.Kill()
				t.Fatal("the app got no answer")
			}
		})
	}
}

// What a session's folder says, at every change, and that it ends with the session.
func TestGatewayFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann, ben := h.claude("ann"), h.claude("ben")
	folder := h.folderOf(app, "ann")
	card := h.read(folder, "session.json")
	for _, want := range []string{`"name": "ann"`, `"session_id": "session-of-ann"`, `"client": "claude"`, `"project": "` + h.dir + `"`} {
		if !strings.Contains(card, want) {
			t.Errorf("no %s in %s", want, card)
		}
	}
	for _, s := range []struct{ status, word string }{{"idle", "idle"}, {"waiting", "waiting"}, {"busy", "working"}} {
		ann.is("session-of-ann", "ann", s.status)
		eventually(t, "status "+s.word, func() bool { return h.read(folder, "status") == s.word+"\n" })
	}
	// After /clear the folder stays and follows.
	ann.began("session-after", "clear")
	ann.is("session-after", "ann", "idle")
	eventually(t, "the new id", func() bool { return strings.Contains(h.read(folder, "session.json"), `"session_id": "session-after"`) })
	const id = "01KBB0T6Z2ABCDEFGHJKMNPQRS"
	h.drop(folder, id, "---\nkind: tell\n---\nafter clear\n")
	eventually(t, "the receipt", there(folder, "in", id+".seen.md"))
	if got := ann.must("read_my_messages", nil); got["count"] != 1.0 {
		t.Errorf("after /clear: %v", got)
	}
	ann.must("send_message", map[string]any{"target": "app:voice", "body": "still here", "urgency": "high"})
	out := h.theOut(folder)
	if text := h.read(out); !strings.Contains(text, "urgency: high\n") || !strings.Contains(text, "\nfrom: ann\nto: voice\n") || !strings.HasSuffix(text, "---\nstill here\n") {
		t.Errorf("out: %s", text)
	}
	// Its end: the folder goes, what was not collected stays.
	ann.in.Close()
	eventually(t, "the folder goes", notThere(folder))
	eventually(t, "gone", there(app.Dir, "gone", filepath.Base(folder), "out", filepath.Base(out)))
	ben.in.Close()
	eventually(t, "ben's folder goes", func() bool {
		found, err := filepath.Glob(filepath.Join(app.Dir, "ben--*"))
		return err == nil && len(found) == 0
	})
	eventually(t, "nothing of ben's is left", func() bool {
		found, err := filepath.Glob(filepath.Join(app.Dir, "gone", "ben--*"))
		return err == nil && len(found) == 0
	})
}

// Bad drops are set aside, each with its reason, and the others go on.
func TestGatewayBadDrops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	bad := map[string]string{
		"01KBB0T6Z2AAAAAAAAAAAAAAA1": "no front matter",
		"01KBB0T6Z2AAAAAAAAAAAAAAA2": "---\nkind: shout\n---\nx",
		"01KBB0T6Z2AAAAAAAAAAAAAAA3": "---\nkind: tell\n---\n\xff\xfe",
		"01KBB0T6Z2AAAAAAAAAAAAAAA4": "---\nkind: tell\n---\n" + strings.Repeat("x", 80<<10),
		"01KBB0T6Z2AAAAAAAAAAAAAAA5": "---\nkind: tell\nreply_to: 01KBB0T6Z2AAAAAAAAAAAAAAZZ\n---\nx",
		"01KBB0T6Z2AAAAAAAAAAAAAAA6": "---\nkind: tell\n---\n \n",
		"01KBB0T6Z2AAAAAAAAAAAAAAA7": "---\nkind: withdraw\nreply_to: 01KBB0T6Z2AAAAAAAAAAAAAAZZ\n---\n",
	}
	for id, text := range bad {
		h.drop(folder, id, text)
	}
	const dir, link, fifo = "01KBB0T6Z2AAAAAAAAAAAAAAB1", "01KBB0T6Z2AAAAAAAAAAAAAAB2", "01KBB0T6Z2AAAAAAAAAAAAAAB3"
	secret := filepath.Join(h.home, "..", "secret")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(folder, "in", dir+".md", "sub"), 0o700),
		os.WriteFile(secret, []byte("---\nkind: tell\n---\nsecret\n"), 0o600),
		os.Symlink(secret, filepath.Join(folder, "in", link+".md")),
		syscall.Mkfifo(filepath.Join(folder, "in", fifo+".md"), 0o600),
		os.WriteFile(filepath.Join(folder, "in", "notes.md"), []byte("mine"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const good = "01KBB0T6Z2AAAAAAAAAAAAAAC1"
	h.drop(folder, good, "---\nkind: tell\n---\ngood\n")
	eventually(t, "the good one", there(folder, "in", good+".seen.md"))
	for _, id := range append([]string{dir, link, fifo}, keys(bad)...) {
		eventually(t, id+" is set aside", there(folder, "in", id+".bad.md"))
		if why := h.read(folder, "in", id+".why.txt"); len(why) < 20 || strings.Count(why, "\n") != 1 {
			t.Errorf("%s: reason %q", id, why)
		}
	}
	mail := ann.must("read_my_messages", nil)
	if mail["count"] != 1.0 || result(mail.list("messages")[0].(map[string]any)).text("body") != "good" {
		t.Errorf("ann got %v", mail)
	}
	if h.read(folder, "in", "notes.md") != "mine" {
		t.Error("a file with another name was touched")
	}
}

func keys(m map[string]string) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}

// One name is used once: a second message under it is refused, a repeated one is not
// shown again.
func TestGatewayOneNameTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	const id = "01KBB0T6Z2ABCDEFGHJKMNPQRS"
	text := "---\nkind: tell\n---\none\n"
	h.drop(folder, id, text)
	eventually(t, "the receipt", there(folder, "in", id+".seen.md"))
	h.drop(folder, id, text)
	eventually(t, "the repetition is taken", notThere(folder, "in", id+".md"))
	h.drop(folder, id, "---\nkind: tell\n---\ntwo\n")
	eventually(t, "the other is refused", there(folder, "in", id+".bad.md"))
	// Also when the app has removed its receipts.
	if err := os.Remove(filepath.Join(folder, "in", id+".seen.md")); err != nil {
		t.Fatal(err)
	}
	h.drop(folder, id, "---\nkind: tell\n---\nthree\n")
	eventually(t, "the third is refused", there(folder, "in", id+"-2.bad.md"))
	if got := ann.must("read_my_messages", nil); got["count"] != 1.0 {
		t.Errorf("ann got %v", got)
	}
}

// A message is taken back by its sender, either way, while the other has not got it.
func TestGatewayWithdraw(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	const id, back, late, lateBack = "01KBB0T6Z2AAAAAAAAAAAAAAA1", "01KBB0T6Z2AAAAAAAAAAAAAAA2", "01KBB0T6Z2AAAAAAAAAAAAAAA3", "01KBB0T6Z2AAAAAAAAAAAAAAA4"
	h.drop(folder, id, "---\nkind: ask\n---\nnever mind?\n")
	h.drop(folder, back, "---\nkind: withdraw\nreply_to: "+id+"\n---\n")
	eventually(t, "the receipt", there(folder, "in", back+".seen.md"))
	if got := ann.must("read_my_messages", nil); got["count"] != 0.0 {
		t.Errorf("a withdrawn message was shown: %v", got)
	}
	h.drop(folder, late, "---\nkind: ask\n---\nseen?\n")
	eventually(t, "the second", there(folder, "in", late+".seen.md"))
	ann.must("read_my_messages", nil)
	h.drop(folder, lateBack, "---\nkind: withdraw\nreply_to: "+late+"\n---\n")
	eventually(t, "the receipt", there(folder, "in", lateBack+".seen.md"))
	got := ann.must("read_my_messages", nil)
	if got["count"] != 1.0 || got["open_work"] != 0.0 || result(got.list("messages")[0].(map[string]any)).text("kind") != "withdraw" {
		t.Errorf("after a late withdrawal: %v", got)
	}

	sent := ann.must("send_message", map[string]any{"target": "app:voice", "body": "oops"}).text("message_id")
	eventually(t, "out", there(folder, "out", sent+".md"))
	ann.must("retract_message", map[string]any{"message_id": sent})
	if there(folder, "out", sent+".md")() {
		t.Error("the retracted message is still there")
	}
	if state := ann.must("message_status", map[string]any{"message_id": sent}).text("state"); state != "retracted" {
		t.Errorf("state %s", state)
	}
	sent = ann.must("send_message", map[string]any{"target": "app:voice", "body": "kept"}).text("message_id")
	eventually(t, "out", there(folder, "out", sent+".md"))
	if err := os.Remove(filepath.Join(folder, "out", sent+".md")); err != nil {
		t.Fatal(err)
	}
	ann.refused("already_closed", "retract_message", map[string]any{"message_id": sent})
}

// An app that is added or comes back later finds what is due to it; apps do not see
// each other's mail; people and scripts can write to an app, too.
func TestGatewayAppsApart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann := h.claude("ann")
	ann.must("send_message", map[string]any{"target": "app:late", "body": "for late"})
	voice, late := h.addApp("voice"), h.addApp("late")
	folder := h.folderOf(voice, "ann")
	if text := h.read(h.theOut(h.folderOf(late, "ann"))); !strings.HasSuffix(text, "for late\n") {
		t.Errorf("late got %s", text)
	}
	ann.must("send_message", map[string]any{"target": "app:voice", "body": "for voice"})
	if text := h.read(h.theOut(folder)); !strings.HasSuffix(text, "for voice\n") {
		t.Errorf("voice got %s", text)
	}
	const id = "01KBB0T6Z2ABCDEFGHJKMNPQRS"
	h.drop(folder, id, "---\nkind: ask\n---\n?\n")
	eventually(t, "the receipt", there(folder, "in", id+".seen.md"))
	h.drop(h.folderOf(late, "ann"), id, "---\nkind: ask\n---\nmine?\n")
	eventually(t, "another app's ULID is refused", there(h.folderOf(late, "ann"), "in", id+".bad.md"))
	m := mailbox.Message{From: mailbox.Party{Name: "user", Box: mailbox.UserKey("")}, Body: "by hand"}
	at, err := h.store().Append(voice.Box(), &m, mailbox.AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a person's message", there(voice.Dir, "out", at.ID+".md"))
	if found, err := filepath.Glob(filepath.Join(late.Dir, "*", "out", "*.md")); err != nil || len(found) != 1 {
		t.Errorf("late has %v, %v", found, err)
	}
}

// A task for an app is done when the app answers it.
func TestGatewayTask(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("ci")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	task := ann.must("send_message", map[string]any{"target": "app:ci", "body": "build it", "task": true}).text("message_id")
	out := h.theOut(folder)
	if text := h.read(out); !strings.Contains(text, "kind: ask\n") || !strings.Contains(text, "tag: task\n") {
		t.Errorf("out: %s", text)
	}
	const id = "01KBB0T6Z2ABCDEFGHJKMNPQRS"
	h.drop(folder, id, "---\nreply_to: "+task+"\n---\ngreen\n")
	eventually(t, "the receipt", there(folder, "in", id+".seen.md"))
	got := ann.must("read_my_messages", nil)
	if m := result(got.list("messages")[0].(map[string]any)); m.text("kind") != "result" || m.text("body") != "green" {
		t.Errorf("ann got %v", got)
	}
	if state := ann.must("message_status", map[string]any{"message_id": task}).text("state"); state != "done" {
		t.Errorf("state %s", state)
	}
}

// A session may ask an app and wait inside its turn.
func TestGatewaySessionAsksApp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	app := h.addApp("voice")
	ann := h.claude("ann")
	folder := h.folderOf(app, "ann")
	_, asking := ann.begin("ask_peer", map[string]any{"target": "app:voice", "body": "may I?", "timeout_ms": 20000})
	out := h.theOut(folder)
	question := strings.TrimSuffix(filepath.Base(out), ".md")
	if text := h.read(out); !strings.Contains(text, "kind: ask\n") {
		t.Errorf("out: %s", text)
	}
	h.drop(folder, "01KBB0T6Z2ABCDEFGHJKMNPQRS", "---\nkind: tell\nreply_to: "+question+"\n---\nyes\n")
	if got := ann.end(asking); got.object("reply").text("body") != "yes" {
		t.Errorf("ann got %v", got)
	}
}

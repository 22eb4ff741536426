package hookrun_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"peermux/hookscripts/hookrun"
	"peermux/mailbox"
)

const session = "4f2a91bc-0000-4000-8000-000000000001"

// box is a session with hooks and mail from an app.
type box struct {
	t     *testing.T
	home  string
	store *mailbox.Store
}

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, home: filepath.Join(t.TempDir(), "pm")}
	var err error
	if b.store, err = mailbox.Open(b.home, time.Now); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.home, "gateway.json"), []byte(`{"v":1,"apps":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b.fire("UserPromptSubmit", `,"prompt":"go"`)
	return b
}

func (b *box) fire(event, more string) string {
	b.t.Helper()
	var out bytes.Buffer
	payload := fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":"/"%s}`, session, event, more)
	env := map[string]string{"PEERMUX_HOME": b.home, "CLAUDE_CODE_ENTRYPOINT": "cli"}
	exit := hookrun.Run(hookrun.Call{
		Client: "claude", Event: event, Stdin: strings.NewReader(payload), Stdout: &out, Stderr: io.Discard,
		Env: func(k string) string { return env[k] }, Now: time.Now, PID: os.Getpid(),
	})
	if exit != 0 {
		b.t.Errorf("%s: exit %d", event, exit)
	}
	return out.String()
}

// mail puts a message of the app's into the session's box and shows it.
func (b *box) mail(m mailbox.Message) string {
	b.t.Helper()
	m.From, m.Body = mailbox.Party{Name: "voice", Box: mailbox.AppKey("voice")}, "the door is open"
	at, err := b.store.Append(mailbox.SessionKey(session), &m, mailbox.AppendOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	if out := b.fire("PostToolUse", ""); !strings.Contains(out, "the door is open") || !strings.Contains(out, "voice (an app)") {
		b.t.Fatalf("not shown: %s", out)
	}
	return at.ID
}

const reminder = "before you stop, this still waits for you"

// A message of an app that was shown and not answered keeps the session from
// stopping, once, with the answering call.
func TestAppsMessageIsNamedOnceAtStop(t *testing.T) {
	for _, kind := range []mailbox.Kind{mailbox.KindNote, mailbox.KindAsk} {
		b := newBox(t)
		id := b.mail(mailbox.Message{Kind: kind})
		if out := b.fire("Stop", ""); strings.Count(out, reminder) != 1 || !strings.Contains(out, `reply_to_message(message_id: \"`+id) {
			t.Errorf("%s: Stop said %s", kind, out)
		}
		for range 2 {
			if out := b.fire("Stop", ""); out != "" {
				t.Errorf("%s: Stop said again %s", kind, out)
			}
		}
	}
}

func TestAppsMessageIsNotNamedAtStop(t *testing.T) {
	key := mailbox.SessionKey(session)
	for _, c := range []struct {
		name string
		m    mailbox.Message
		then func(b *box, id string) error
		stop string
	}{
		{"under stop_hook_active", mailbox.Message{}, nil, `,"stop_hook_active":true`},
		{"low", mailbox.Message{Urgency: "low"}, nil, ""},
		{"a reply", mailbox.Message{Kind: mailbox.KindReply}, nil, ""},
		{"the person has typed since", mailbox.Message{}, func(b *box, _ string) error {
			b.fire("UserPromptSubmit", `,"prompt":"never mind"`)
			return nil
		}, ""},
		{"answered", mailbox.Message{}, func(b *box, id string) error { return b.store.Answered(key, id, mailbox.NewID(time.Now())) }, ""},
		{"written to since", mailbox.Message{}, func(b *box, _ string) error {
			return b.store.Sent(key, mailbox.SentRecord{ID: mailbox.NewID(time.Now()), ToKey: mailbox.AppKey("voice")})
		}, ""},
		{"no gateway", mailbox.Message{}, func(b *box, _ string) error { return os.Remove(filepath.Join(b.home, "gateway.json")) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t)
			id := b.mail(c.m)
			if c.then != nil {
				if err := c.then(b, id); err != nil {
					t.Fatal(err)
				}
			}
			if out := b.fire("Stop", c.stop); out != "" {
				t.Errorf("Stop said %s", out)
			}
		})
	}
}

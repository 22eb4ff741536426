package mailbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/mailbox"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// post is a store in a folder of its own, with processes that live and die as the
// test says.
type post struct {
	*mailbox.Store
	*testing.T
	home  string
	clock *clock
	dead  map[int]bool
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{T: t, home: filepath.Join(t.TempDir(), "home"), dead: map[int]bool{}}
	p.clock = &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	p.reopen()
	return p
}

func (p *post) reopen() {
	p.Helper()
	s, err := mailbox.Open(p.home, p.clock.now)
	if err != nil {
		p.Fatal(err)
	}
	s.Alive = func(pid int, _ string) bool { return !p.dead[pid] }
	p.Store = s
}

func (p *post) send(key, body string) string {
	p.Helper()
	return p.post(key, mailbox.Message{Body: body})
}

func (p *post) post(key string, m mailbox.Message) string {
	p.Helper()
	res, err := p.Append(key, &m, mailbox.AppendOptions{NoSync: true})
	if err != nil {
		p.Fatal(err)
	}
	return res.ID
}

func (p *post) claim(key string, o mailbox.ClaimOptions) *mailbox.Claim {
	p.Helper()
	if o.PID == 0 {
		o.PID = 1
	}
	c, err := p.Claim(key, o)
	if err != nil {
		p.Fatal(err)
	}
	return c
}

// show claims all that waits and records it as shown.
func (p *post) show(key string) string {
	p.Helper()
	c := p.claim(key, mailbox.ClaimOptions{Via: "test"})
	p.ok(c.Shown())
	return bodies(c.Messages)
}

func (p *post) pending(key string, want int) {
	p.Helper()
	if got, err := p.Pending(key); err != nil || got != want {
		p.Errorf("pending: got %d, %v; want %d", got, err, want)
	}
}

func (p *post) item(key, id string) mailbox.Item {
	p.Helper()
	it, err := p.Find(key, id)
	if err != nil {
		p.Fatal(err)
	}
	return it
}

func (p *post) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *post) journal(key string) string {
	p.Helper()
	data, err := os.ReadFile(mailbox.JournalPath(p.home, key))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// write puts a journal in place as another program might.
func (p *post) write(key, data string) {
	p.Helper()
	path := mailbox.JournalPath(p.home, key)
	p.ok(os.MkdirAll(filepath.Dir(path), 0o700))
	p.ok(os.WriteFile(path, []byte(data), 0o600))
}

// fill puts n unshown messages into a box, as another program might.
func (p *post) fill(key string, n int, body string) {
	p.Helper()
	var journal strings.Builder
	for i := range n {
		fmt.Fprintf(&journal, `{"t":"msg","id":"%026d","v":1,"kind":"note","body":"%s","sent_at":"2026-05-01T12:00:00Z"}`+"\n", i+1, body)
	}
	p.write(key, journal.String())
}

func bodies(items []mailbox.Item) string {
	var all []string
	for _, it := range items {
		all = append(all, it.Body)
	}
	return strings.Join(all, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

var (
	alice = mailbox.SessionKey("alice")
	bob   = mailbox.SessionKey("bob")
	carol = mailbox.SessionKey("carol")
	repo  = mailbox.RepoKey("/src/library")
)

// stress is how much of something to do: a little, or with PEERMUX_STRESS set a lot.
func stress(little, much int) int {
	if os.Getenv("PEERMUX_STRESS") != "" {
		return much
	}
	return little
}

package wake

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"peermux/internal/private"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

const shop = "/src/shop"

// reads puts the session into a project and gives it its place in the feeds.
func (r *rig) reads(feeds ...string) {
	r.t.Helper()
	r.entry.Project = shop
	for _, feed := range feeds {
		if err := r.waker.Store.FeedEnter(feed, r.entry.Box, mailbox.FeedOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) allow(word string) {
	r.t.Helper()
	if err := private.Dir(r.waker.Home); err != nil {
		r.t.Fatal(err)
	}
	text := "[broadcast]\nwake = \"" + word + "\"\n"
	if err := private.WriteFile(filepath.Join(r.waker.Home, "wake.toml"), []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) broadcast(feed, from, urgency string) (id string) {
	r.t.Helper()
	m := mailbox.Message{Body: "stop", Urgency: urgency, From: mailbox.Party{SessionID: from, Box: mailbox.SessionKey(from)}}
	id, err := r.waker.Store.Broadcast(feed, &m)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// hear shows the session what is new in a feed, as a hook does.
func (r *rig) hear(feed string) {
	r.t.Helper()
	claim, err := r.waker.Store.FeedNew(feed, r.entry.Box, mailbox.FeedOptions{Self: r.entry.SessionID, PID: r.entry.Client.PID, Start: r.entry.Client.Start})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := claim.Shown(); err != nil {
		r.t.Fatal(err)
	}
}

// TestWhatMayWake: mail always counts, a broadcast only when it is urgent, allowed,
// received, somebody else's, and neither withdrawn nor shown.
func TestWhatMayWake(t *testing.T) {
	feed, group := mailbox.FeedProject(shop), mailbox.FeedGroup("team")
	for _, tt := range []struct {
		name, allow string
		do          func(r *rig)
		want        unshown
	}{
		{"nothing", "high", func(*rig) {}, unshown{}},
		{"mail", "never", func(r *rig) { r.mail("x") }, unshown{mail: 1}},
		{"urgent", "high", func(r *rig) { r.broadcast(feed, "peer", "high") }, unshown{broadcasts: 1}},
		{"both", "high", func(r *rig) { r.mail("x"); r.broadcast(feed, "peer", "high") }, unshown{1, 1}},
		{"to the machine", "high", func(r *rig) { r.broadcast(mailbox.FeedGlobal, "peer", "high") }, unshown{broadcasts: 1}},
		{"to its group", "high", func(r *rig) { r.broadcast(group, "peer", "high") }, unshown{broadcasts: 1}},
		{"never allowed", "never", func(r *rig) { r.broadcast(feed, "peer", "high") }, unshown{}},
		{"not allowed by default", "", func(r *rig) { r.broadcast(feed, "peer", "high") }, unshown{}},
		{"a wrong wake.toml", "yes", func(r *rig) { r.broadcast(feed, "peer", "high") }, unshown{}},
		{"normal", "high", func(r *rig) { r.broadcast(feed, "peer", "") }, unshown{}},
		{"low", "high", func(r *rig) { r.broadcast(feed, "peer", "low") }, unshown{}},
		{"its own", "high", func(r *rig) { r.broadcast(feed, "stand-in", "high") }, unshown{}},
		{"to another project", "high", func(r *rig) { r.broadcast(mailbox.FeedProject("/src/lib"), "peer", "high") }, unshown{}},
		{"to another group", "high", func(r *rig) { r.broadcast(mailbox.FeedGroup("others"), "peer", "high") }, unshown{}},
		{"announced to repositories", "high", func(r *rig) { r.broadcast(mailbox.FeedRepos, "peer", "high") }, unshown{}},
		{"withdrawn", "high", func(r *rig) {
			if err := r.waker.Store.Retract(feed, r.broadcast(feed, "peer", "high")); err != nil {
				r.t.Fatal(err)
			}
		}, unshown{}},
		{"shown", "high", func(r *rig) { r.broadcast(feed, "peer", "high"); r.hear(feed) }, unshown{}},
		{"before it came", "high", func(r *rig) {
			r.broadcast(feed, "peer", "high")
			r.entry.SessionID, r.entry.Box = "later", mailbox.SessionKey("later")
			r.reads(feed)
		}, unshown{}},
		{"not received", "high", func(r *rig) {
			drop := registry.Drop{Box: r.entry.Box, SessionID: r.entry.SessionID, At: time.Now(), Receive: "project, group"}
			if err := r.waker.Registry.PutDrop(drop); err != nil {
				r.t.Fatal(err)
			}
			r.broadcast(mailbox.FeedGlobal, "peer", "high")
		}, unshown{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := idle(t, "claude")
			if tt.allow != "" {
				r.allow(tt.allow)
			}
			if err := project.SetGroup(r.waker.Home, shop, "team"); err != nil {
				t.Fatal(err)
			}
			r.reads(feed, group, mailbox.FeedGlobal)
			tt.do(r)
			if got, err := r.waker.unshownNow(r.entry); err != nil || got != tt.want {
				t.Errorf("got %+v, want %+v (%v)", got, tt.want, err)
			}
		})
	}
}

// A feed that cannot be read keeps no mail from waking, and by itself is an error.
func TestUnreadableFeed(t *testing.T) {
	r := idle(t, "claude")
	r.allow("high")
	feed := mailbox.FeedProject(shop)
	r.broadcast(feed, "early", "high")
	r.reads(feed)
	path := mailbox.FeedPath(r.waker.Home, feed)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := r.wake(); got.Outcome != Failed {
		t.Errorf("without mail: got %+v", got)
	}
	r.mail("first")
	if u, err := r.waker.unshownNow(r.entry); err != nil || u.mail != 1 {
		t.Errorf("with mail: got %+v, %v", u, err)
	}
}

// TestBellForABroadcast: the bell says what it rings for, and only when it may.
func TestBellForABroadcast(t *testing.T) {
	feed := mailbox.FeedProject(shop)
	for _, allow := range []string{"high", "never"} {
		t.Run(allow, func(t *testing.T) {
			t.Parallel()
			r := idle(t, "claude")
			r.hooked(false)
			r.allow(allow)
			r.reads(feed)
			r.broadcast(feed, "peer", "high")
			r.mail("first")
			if got := r.wake(); got.Outcome == Native {
				t.Errorf("got %+v without any proof", got)
			}
			text, err := os.ReadFile(mailbox.BellPath(r.waker.Home, r.entry.Box))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), mailbox.BellBroadcast); got != (allow == "high") {
				t.Errorf("the bell says %q", text)
			}
		})
	}
}

// listens runs show each time the bell rings, the first so many times, as Claude runs
// its hook, and gives how often the bell rang.
func (r *rig) listens(times int, show func() error) (rung func() int) {
	path := mailbox.BellPath(r.waker.Home, r.entry.Box)
	over, done := make(chan struct{}), make(chan struct{})
	n, last := 0, ""
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(2 * time.Millisecond):
			}
			now, err := os.ReadFile(path)
			if err != nil || string(now) == last {
				continue
			}
			n, last = n+1, string(now)
			if n > times {
				continue
			}
			if err := show(); err != nil {
				r.t.Error(err)
			}
		}
	}()
	stop := sync.OnceFunc(func() {
		close(over)
		<-done
	})
	r.t.Cleanup(stop)
	return func() int {
		stop()
		return n
	}
}

// TestUrgentBehindOthers: one wake rings until the urgent broadcast is shown. What the
// hook has shown has woken the session, however far behind the urgent one is.
func TestUrgentBehindOthers(t *testing.T) {
	feed := mailbox.FeedProject(shop)
	for _, tt := range []struct {
		name                string
		before, page, times int
		rings, left         int
	}{
		{"on the first page", 3, 10, 9, 1, 0},
		{"on the third page", 25, 10, 9, 3, 0},
		{"out of reach", 25, 10, 1, 2, 1},
		{"nobody listens", 25, 10, 0, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := idle(t, "claude")
			r.hooked(false)
			r.allow("high")
			r.reads(feed)
			for range tt.before {
				r.broadcast(feed, "peer", "")
			}
			r.broadcast(feed, "peer", "high")
			r.broadcast(feed, "peer", "")
			o := mailbox.FeedOptions{Self: r.entry.SessionID, PID: r.entry.Client.PID, Start: r.entry.Client.Start, Limit: tt.page}
			rung := r.listens(tt.times, func() error {
				claim, err := r.waker.Store.FeedNew(feed, r.entry.Box, o)
				if err != nil {
					return err
				}
				return claim.Shown()
			})
			want := Native
			if tt.times == 0 {
				want = Failed
			}
			if got := r.wake(); got.Outcome != want {
				t.Errorf("got %+v, want %s", got, want)
			}
			if n := rung(); n != tt.rings {
				t.Errorf("the bell rang %d times, want %d", n, tt.rings)
			}
			if u, err := r.waker.unshownNow(r.entry); err != nil || u.broadcasts != tt.left {
				t.Errorf("left: %+v, %v", u, err)
			}
		})
	}
}

// The mail behind the first page comes with the turn that this page begins.
func TestBellForMoreThanAPage(t *testing.T) {
	r := idle(t, "claude")
	r.hooked(false)
	r.mail("first")
	r.mail("second")
	rung := r.listens(9, func() error {
		claim, err := r.waker.Store.Claim(r.entry.Box, mailbox.ClaimOptions{Via: "FileChanged", Limit: 1})
		if err != nil {
			return err
		}
		return claim.Shown()
	})
	if got := r.wake(); got.Outcome != Native {
		t.Errorf("got %+v", got)
	}
	if n := rung(); n != 1 || r.unshown() != 1 {
		t.Errorf("the bell rang %d times, and %d messages wait", n, r.unshown())
	}
}

// TestQueueForBroadcasts: several are one wake, which is over when they were shown.
func TestQueueForBroadcasts(t *testing.T) {
	feed := mailbox.FeedProject(shop)
	r := codex(t, "/works")
	r.allow("high")
	r.reads(feed)
	for _, want := range []Outcome{Native, NotNeeded, NotNeeded} {
		r.broadcast(feed, "peer", "high")
		if got := r.wake(); got.Outcome != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	r.hear(feed)
	if got := r.wake(); got.Outcome != NotNeeded || got.Reason != nothingUnshown {
		t.Errorf("after they were shown: got %+v", got)
	}
	r.broadcast(feed, "peer", "high")
	if got := r.wake(); got.Outcome != Native {
		t.Errorf("a new one: got %+v", got)
	}
	if n := strings.Count(r.file("queued"), "--thread"); n != 2 {
		t.Errorf("codex was run with %s", r.file("queued"))
	}
}

// What waited may also go without having been shown; that is no wake.
func TestBellThatNobodyAnswers(t *testing.T) {
	feed := mailbox.FeedProject(shop)
	other := mailbox.SessionKey("after /clear")
	for _, tt := range []struct {
		name  string
		waits int
		do    func(r *rig, broadcast string) error
		want  Outcome
	}{
		{"the broadcast is withdrawn", 1, func(r *rig, id string) error { return r.waker.Store.Retract(feed, id) }, NotNeeded},
		{"the box goes on elsewhere", 1, func(r *rig, _ string) error { return r.waker.Store.Move(r.entry.Box, other) }, NotNeeded},
		{"one of two is withdrawn", 2, func(r *rig, id string) error { return r.waker.Store.Retract(feed, id) }, Failed},
		{"the feed cannot be read", 1, func(r *rig, _ string) error {
			path := mailbox.FeedPath(r.waker.Home, feed)
			return errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700))
		}, Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := idle(t, "claude")
			r.waker.Mode = ModeNative
			r.hooked(false)
			r.allow("high")
			r.reads(feed)
			var id string
			for range tt.waits {
				id = r.broadcast(feed, "peer", "high")
			}
			r.listens(1, func() error { return tt.do(r, id) })
			if got := r.wake(); got.Outcome != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
			if n := len(r.waker.Landings(r.entry.Box)); n != 0 {
				t.Errorf("%d wakes count as landed", n)
			}
		})
	}
}

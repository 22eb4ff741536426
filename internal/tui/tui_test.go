package tui

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
	"peermux/wake"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// fleet is a home with live sessions: each is a process that sleeps.
type fleet struct {
	t     *testing.T
	board *switchboard.Board
	actor switchboard.Actor
	now   time.Time
	names map[string]registry.Entry
}

func newFleet(t *testing.T, now time.Time) *fleet {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	f := &fleet{t: t, now: now, names: map[string]registry.Entry{}}
	var err error
	f.board, f.actor, err = boardWith(home, func() time.Time { return f.now })
	check(t, err)
	t.Cleanup(f.board.Watch.Close)
	return f
}

func boardAt(home string) (*switchboard.Board, switchboard.Actor, error) {
	return boardWith(home, time.Now)
}

func boardWith(home string, clock func() time.Time) (*switchboard.Board, switchboard.Actor, error) {
	actor := switchboard.Actor{
		Party: mailbox.Party{Name: "user", Client: "user", Box: mailbox.UserKey(""), Project: "/shop"}, Kind: registry.ToUser, Dir: "/",
	}
	env := func(key string) string { return map[string]string{"PEERMUX_WAKE": wake.ModeOff}[key] }
	b, err := switchboard.Open(switchboard.Place{Home: home, UserHome: home, Env: env, Now: clock})
	return b, actor, err
}

func (f *fleet) start(name, client, status, purpose string) registry.Entry {
	f.t.Helper()
	cmd := exec.Command("sleep", "120")
	check(f.t, cmd.Start())
	f.t.Cleanup(func() {
		check(f.t, cmd.Process.Kill())
		_, err := cmd.Process.Wait()
		check(f.t, err)
	})
	info, err := proc.Stat(cmd.Process.Pid)
	check(f.t, err)
	id := "11111111-2222-4333-8444-" + strings.Repeat("0", 12-len(name)) + name
	e := registry.Entry{
		PID: info.PID, Start: info.Start, Client: registry.Client{Kind: client, PID: info.PID, Start: info.Start, Mode: registry.Interactive},
		SessionID: id, Box: mailbox.SessionKey(id), Name: name, CWD: "/shop", Project: "/shop", Branch: "main",
		State: registry.State{Purpose: purpose}, StartedAt: f.now.Add(-time.Hour), SeenAt: f.now, BootID: proc.BootID(),
	}
	check(f.t, f.board.Registry.Put(e))
	if status != "" {
		check(f.t, f.board.Registry.SetStatus(e.Box, status, f.now.Add(-12*time.Second)))
	}
	f.names[name] = e
	return e
}

func (f *fleet) say(from, to, body string, kind mailbox.Kind) string {
	f.t.Helper()
	a, b := f.names[from], f.names[to]
	res, err := f.board.Store.Append(b.Box, &mailbox.Message{
		Kind: kind, From: switchboard.PartyOf(a), To: switchboard.PartyOf(b), Body: body, SentAt: f.now,
	}, mailbox.AppendOptions{NoSync: true})
	check(f.t, err)
	return res.ID
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// drive is the model without a terminal: messages in, screens out.
func drive(f *fleet, o Options, width, height int) *model {
	o.Board, o.Actor, o.Now = f.board, f.actor, func() time.Time { return f.now }
	m := newModel(context.Background(), o)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	check(f.t, f.board.Events(context.Background(), switchboard.EventsRequest{}, func(e switchboard.Event) error {
		_, cmd := m.Update(happened{e})
		settleDown(m, cmd)
		return nil
	}))
	settleDown(m, m.list())
	return m
}

// settleDown runs a command and all that follows from it, one after the other.
func settleDown(m *model, cmd tea.Cmd) {
	for queue := []tea.Cmd{cmd}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == nil {
			continue
		}
		switch msg := queue[0]().(type) {
		case tea.BatchMsg:
			queue = append(queue, msg...)
		case nil, tea.QuitMsg:
		default:
			_, next := m.Update(msg)
			queue = append(queue, next)
		}
	}
}

func press(m *model, keys ...string) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: rune(k[0]), Text: k}
		switch k {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "tab":
			msg = tea.KeyPressMsg{Code: tea.KeyTab}
		case "home":
			msg = tea.KeyPressMsg{Code: tea.KeyHome}
		case "down":
			msg = tea.KeyPressMsg{Code: tea.KeyDown}
		}
		_, cmd := m.Update(msg)
		settleDown(m, cmd)
	}
}

// typeIn enters text in the input line.
func typeIn(m *model, text string) {
	for _, r := range text {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func text(m *model) string { return ansi.Strip(strings.Join(m.lines(), "\n")) + "\n" }

func noon() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }

func shop(t *testing.T, now time.Time) *fleet {
	f := newFleet(t, now)
	f.start("api", "codex", registry.Idle, "keeps the API honest")
	f.start("web", "claude", registry.Working, "splits the checkout page")
	f.start("docs", "claude", registry.Waiting, "")
	id := f.say("web", "api", "Which port does the test database listen on?", mailbox.KindAsk)
	check(t, f.board.Store.Asked(f.names["web"].Box, mailbox.Ask{
		ID: id, ToSession: f.names["api"].SessionID, ToBox: f.names["api"].Box, ToName: "api",
		PID: f.names["web"].PID, Start: f.names["web"].Start, At: f.now, Until: f.now.Add(time.Minute),
	}))
	f.say("web", "docs", "Write down the new port, please.", mailbox.KindTask)
	return f
}

func TestGoldenScreens(t *testing.T) {
	t.Setenv("TZ", "UTC")
	f := shop(t, noon())
	for _, tt := range []struct {
		name          string
		width, height int
		strip         bool
		keys          []string
	}{
		{"60x15", 60, 15, false, nil},
		{"100x30", 100, 30, false, []string{"down"}},
		{"180x40", 180, 40, false, nil},
		{"strip-80x4", 80, 4, true, nil},
		{"thread", 100, 24, false, []string{"t"}},
		{"mail", 100, 24, false, []string{"down", "m"}},
		{"help", 80, 24, false, []string{"?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := drive(f, Options{Strip: tt.strip}, tt.width, tt.height)
			press(m, tt.keys...)
			got := text(m)
			for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
				if w := ansi.StringWidth(line); w > tt.width {
					t.Errorf("line %d is %d wide: %q", i, w, line)
				}
			}
			if n := strings.Count(got, "\n"); n != tt.height {
				t.Errorf("%d lines, want %d", n, tt.height)
			}
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				check(t, os.WriteFile(file, []byte(trimmed(got)), 0o644))
			}
			want, err := os.ReadFile(file)
			check(t, err)
			if trimmed(got) != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// trimmed drops blanks at line ends, which editors drop as well, and the ids,
// which differ each time.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		for _, w := range strings.Fields(l) {
			if mailbox.ValidID(w) {
				l = strings.Replace(l, w, "ID", 1)
			}
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func TestLookingChangesNothing(t *testing.T) {
	f := shop(t, noon())
	before := snapshot(t, f.board.Home)
	m := drive(f, Options{}, 120, 40)
	press(m, "down", "down", "tab", "down", "tab", "v", "v", "g", "g", "g", "m", "down", "esc", "i", "esc", "t", "esc", "?", "esc")
	if after := snapshot(t, f.board.Home); after != before {
		t.Errorf("the home has changed:\n%s\nwas\n%s", after, before)
	}
}

// snapshot is every file of the home with its content; kernel locks are no content.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(data) + "\n")
		return err
	}))
	return b.String()
}

// choose moves the cursor to a session.
func choose(f *fleet, m *model, name string) {
	f.t.Helper()
	press(m, "home")
	for range m.sessions {
		if m.chosen == f.names[name].Box {
			return
		}
		press(m, "down")
	}
	f.t.Fatalf("no row of %s", name)
}

func TestKeysAct(t *testing.T) {
	f := shop(t, noon())
	m := drive(f, Options{}, 120, 40)
	choose(f, m, "api")
	press(m, "s")
	typeIn(m, "hold off on app/")
	press(m, "enter")
	st, err := f.board.Store.State(f.names["api"].Box)
	check(t, err)
	last := st.Items[len(st.Items)-1]
	if last.Body != "hold off on app/" || last.From.Name != "user" {
		t.Errorf("sent %q from %q", last.Body, last.From.Name)
	}
	if !strings.Contains(text(m), "sent to api") {
		t.Errorf("the screen does not say so:\n%s", text(m))
	}

	// The task of docs is closed by the person, and its sender is told.
	choose(f, m, "docs")
	press(m, "m", "d")
	typeIn(m, "I did it")
	press(m, "enter")
	work, err := f.board.Store.OpenWork(f.names["docs"].Box)
	check(t, err)
	if len(work) != 0 {
		t.Errorf("still open: %+v, screen:\n%s", work, text(m))
	}
	press(m, "esc", "/")
	typeIn(m, "port")
	press(m, "enter")
	if got := text(m); strings.Contains(got, "hold off") || !strings.Contains(got, "Which port") {
		t.Errorf("filtered:\n%s", got)
	}
}

// The cursor stays on its session when rows come before it, and moves on when the
// session leaves.
func TestCursorFollowsTheSession(t *testing.T) {
	f := shop(t, noon())
	m := drive(f, Options{}, 120, 40)
	press(m, "down")
	was := m.chosen
	f.start("aaa", "claude", registry.Idle, "")
	settleDown(m, m.list())
	if m.chosen != was {
		t.Errorf("the cursor went from %s to %s", was, m.chosen)
	}
	for _, e := range f.names {
		if e.Box == was {
			check(t, f.board.Registry.Remove(e.PID, e.Start))
		}
	}
	settleDown(m, m.list())
	if _, ok := m.selected(); !ok {
		t.Error("nothing is selected although sessions are there")
	}
}

func TestHostileTextIsHarmless(t *testing.T) {
	f := newFleet(t, time.Now())
	f.start("evil", "claude", registry.Idle, "x\x1b[2Jy\u202egnp")
	f.start("other", "claude", registry.Idle, "")
	f.say("other", "evil", "hi\x1b]0;owned\x07\x1b[31m\u200b\nsecond\rthird", mailbox.KindNote)
	m := drive(f, Options{}, 120, 30)
	press(m, "m")
	screens := strings.Join(m.lines(), "\n")
	press(m, "esc", "t")
	screens += strings.Join(m.lines(), "\n")
	press(m, "esc")
	screens += strings.Join(m.lines(), "\n")
	for _, bad := range []string{"\x1b[2J", "\x1b]0", "\x07", "\u202e", "\u200b", "\r", "\x1b[31m"} {
		if strings.Contains(screens, bad) {
			t.Errorf("%q reached the screen", bad)
		}
	}
}

func TestPlain(t *testing.T) {
	f := shop(t, noon())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out syncBuffer
	done := make(chan error, 1)
	go func() {
		done <- Plain(ctx, Options{Board: f.board, Actor: f.actor, Now: f.board.Now}, &out)
	}()
	out.waitFor(t, "docs, claude, is waiting")
	out.waitFor(t, "web, claude, is working, splits the checkout page, waits for api")
	check(t, f.board.Registry.SetStatus(f.names["api"].Box, registry.Working, f.now))
	out.waitFor(t, "api, codex, is working")
	check(t, f.board.Registry.Remove(f.names["api"].PID, f.names["api"].Start))
	out.waitFor(t, "left: api")
	cancel()
	check(t, <-done)
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a plain line holds an escape sequence")
	}
	if n := strings.Count(out.String(), "docs, claude"); n != 1 {
		t.Errorf("docs was said %d times although nothing changed:\n%s", n, out.String())
	}
}

// What went wrong may be several lines long, and name files of any name.
func TestAnErrorIsOneLine(t *testing.T) {
	m := drive(newFleet(t, time.Now()), Options{}, 120, 30)
	m.listErr = errors.New("sessions/\x1b[2Jx: not a file\nsessions/y: not a file")
	line := ansi.Strip(m.lines()[1])
	if want := "! sessions/x: not a file sessions/y: not a file"; !strings.HasPrefix(line, want) {
		t.Errorf("got %q, want %q", line, want)
	}
}

package tui

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/mockmodel"
	"peermux/internal/ptytest"
	"peermux/internal/switchboard"
	"peermux/internal/tmux"
	"peermux/mailbox"
	"peermux/registry"
)

// TestEveryKey runs `peermux top` in a window of a real tmux, among stand-in agents
// with the real peermux between them, and presses every key that the help knows:
// each has to show on the screen or in the world.
func TestEveryKey(t *testing.T) {
	w := newWalk(t)
	steps := w.steps()
	var walked []string
	for _, s := range steps {
		walked = append(walked, s.where+" "+s.key)
	}
	known := knownKeys()
	slices.Sort(walked)
	if !slices.Equal(slices.Compact(walked), known) {
		t.Fatalf("the walk presses\n%q\nand the keys are\n%q", walked, known)
	}
	for _, s := range steps {
		w.now = s.where + ", " + s.key
		w.goTo(s.where)
		if s.ready != nil {
			s.ready()
		}
		w.press(s.key)
		s.want()
	}
}

// The places in which keys mean something.
const (
	onOverview = "overview"
	inMail     = "mail"
	inThread   = "thread"
	inHelp     = "help"
	inInput    = "input"
)

// knownKeys are all keys of all places, as the help has them.
func knownKeys() []string {
	places := map[string][]binding{
		onOverview: overview.bindings(), inMail: mailPage.bindings(), inThread: threadPage.bindings(), inHelp: helpPage.bindings(), inInput: inputKeys(),
	}
	var keys []string
	for where, bindings := range places {
		for _, b := range bindings {
			for _, k := range b.keys {
				keys = append(keys, where+" "+k)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// walk is the person at a terminal that is attached to the tmux server here, on
// which top, web and api run; ann, busy and docs run on another server.
type walk struct {
	t           *testing.T
	ctx         context.Context
	now         string // the step, for a failure
	here, there *tmux.Runner
	env         []string
	dir         string // of the project
	peermux     string
	pane        string // of top; "" when it does not run
	board       *switchboard.Board
	agents      map[string]*agentsim.Agent
}

const (
	portQuestion = "Which port does the test database listen on?"
	topQuestion  = "ASKED-BY-TOP"
	topAnswer    = "ANSWERED-BY-DOCS"
)

func newWalk(t *testing.T) *walk {
	peermux, hook, err := agentsim.Build(t.Context(), t.TempDir())
	check(t, err)
	root, err := os.MkdirTemp("", "pmx") // short: unix sockets lie in it
	check(t, err)
	t.Cleanup(func() {
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			// What was killed a moment ago may still be writing its last file.
			if err := os.RemoveAll(root); err == nil || time.Now().After(end) {
				check(t, err)
				return
			}
		}
	})
	root, err = filepath.EvalSymlinks(root)
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &walk{t: t, ctx: ctx, dir: filepath.Join(root, "shop"), peermux: peermux, agents: map[string]*agentsim.Agent{}}
	for _, dir := range []string{w.dir, filepath.Join(root, "home"), filepath.Join(root, "logs")} {
		check(t, os.Mkdir(dir, 0o700))
	}
	w.env = []string{"HOME=" + filepath.Join(root, "home"), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "PEERMUX_WAKE=tmux",
		"GORACE=atexit_sleep_ms=0"} // else a stand-in that was built with -race lingers for a second
	w.here = &tmux.Runner{Socket: filepath.Join(root, "s1"), Env: w.env}
	w.there = &tmux.Runner{Socket: filepath.Join(root, "s2"), Env: w.env}
	w.board, _, err = boardAt(filepath.Join(root, "home", ".peermux"))
	check(t, err)
	t.Cleanup(w.board.Watch.Close)
	w.startAgents(hook, filepath.Join(root, "logs"))
	w.attach()
	w.makeNews()
	return w
}

func (w *walk) startAgents(hook, logs string) {
	rules := []mockmodel.Rule{{When: topQuestion, Do: `[[tool mcp__peermux__reply_to_message {"message_id":"{{message_id}}","body":"` + topAnswer + `"}]] [[say Answered.]]`},
		{When: portQuestion, Do: `[[delay 300]] [[say I have been thinking.]]`}}
	w.t.Cleanup(w.end)
	for _, a := range []struct {
		name, client string
		server       *tmux.Runner
	}{{"web", "claude", w.here}, {"api", "codex", w.here}, {"ann", "claude", w.there}, {"busy", "claude", w.there}, {"docs", "claude", w.there}} {
		agent, err := agentsim.Start(w.ctx, agentsim.Options{
			Config: agentsim.Config{Client: a.client, Name: a.name, Peermux: w.peermux, Hook: hook, Rules: rules},
			Dir:    w.dir, Env: w.env, Program: []string{os.Args[0]}, Tmux: a.server, Logs: logs,
		})
		check(w.t, err)
		w.agents[a.name] = agent
	}
	w.until("all to be listed", func() bool { return len(w.live()) == 5 })
}

// end ends all that was started, and waits for it.
func (w *walk) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, a := range w.agents {
		check(w.t, a.Kill())
	}
	for _, r := range []*tmux.Runner{w.here, w.there} {
		if _, err := r.Run(ctx, "", "kill-server"); err != nil && !errors.Is(err, tmux.ErrNoServer) {
			w.t.Error(err)
		}
	}
	w.until("the MCP servers to end", func() bool {
		left, err := filepath.Glob(filepath.Join(w.board.Home, "sessions", "*.json"))
		return err == nil && len(left) == 0
	})
}

// attach puts the person's terminal on the server here: jumping switches it.
func (w *walk) attach() {
	cmd := exec.Command("tmux", "-S", w.here.Socket, "attach-session", "-t", "=web")
	cmd.Env = w.env
	ptytest.Start(w.t, cmd, 140, 40)
	w.until("the terminal to be attached", func() bool { return w.client(w.here) != "" })
}

// makeNews gives top something to show: mail for the person, a task, a question that
// nobody answers and with it a ring, and a wake that is held back.
func (w *walk) makeNews() {
	web, api, ann := w.agents["web"], w.agents["api"], w.agents["ann"]
	check(w.t, ann.Say(w.ctx, `Ask. [[tool mcp__peermux__ask_peer {"target":"busy","body":"`+portQuestion+`","timeout_ms":280000}]]`))
	_, err := w.agents["busy"].WaitTold(w.ctx, time.Time{}, portQuestion)
	check(w.t, err)
	// peermux refuses to close a ring, so this one is written down.
	live := w.live()
	check(w.t, w.board.Store.Asked(live["busy"].Box, mailbox.Ask{
		ID: "01KT1GW6G0SBGAXVT82BDY9CBC", ToSession: live["ann"].SessionID, ToBox: live["ann"].Box, ToName: "ann",
		PID: live["busy"].PID, Start: live["busy"].Start, At: time.Now(), Until: time.Now().Add(time.Hour),
	}))
	start := time.Now()
	check(w.t, web.Say(w.ctx, `Tell. [[tool mcp__peermux__send_message {"target":"user","body":"MAIL-A"}]]`+
		`[[tool mcp__peermux__send_message {"target":"user","body":"MAIL-B"}]]`+
		`[[tool mcp__peermux__send_message {"target":"docs","body":"TASK-1","task":true}]] [[say Told.]]`))
	_, err = web.Wait(w.ctx, start, agentsim.Idle, "")
	check(w.t, err)
	told, err := w.agents["docs"].WaitTold(w.ctx, start, "TASK-1")
	check(w.t, err)
	_, err = w.agents["docs"].Wait(w.ctx, told.At, agentsim.Idle, "")
	check(w.t, err)
	check(w.t, api.Type(w.ctx, "half typed"))
	cmd := exec.CommandContext(w.ctx, w.peermux, "send", "api", "HELD-1")
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

func (w *walk) live() map[string]registry.Entry {
	entries, err := w.board.Registry.Peek()
	check(w.t, err)
	live := map[string]registry.Entry{}
	for _, e := range entries {
		if e.SessionID != "" {
			live[e.Name] = e
		}
	}
	return live
}

// client is the pane that the terminals attached to a server look at; "" without one.
func (w *walk) client(server *tmux.Runner) string {
	out, err := server.Run(w.ctx, "", "list-clients", "-F", "#{pane_id}")
	check(w.t, err)
	return strings.TrimSpace(out)
}

// run starts top in a window beside web, and goes there.
func (w *walk) run() {
	pane, err := w.here.NewWindow(w.ctx, "web", tmux.SessionOptions{Name: "top", Dir: w.dir, Command: []string{w.peermux, "top"}})
	check(w.t, err)
	w.pane = pane.ID
	w.lookAtTop()
	w.shows("5 sessions", "ring: ", "not woken")
}

func (w *walk) lookAtTop() {
	_, err := w.here.Run(w.ctx, "", "switch-client", "-c", w.terminal(), "-t", w.pane)
	check(w.t, err)
}

func (w *walk) terminal() string {
	out, err := w.here.Run(w.ctx, "", "list-clients", "-F", "#{client_name}")
	check(w.t, err)
	return strings.TrimSpace(out)
}

// goTo comes to a place from wherever the last step has ended.
func (w *walk) goTo(where string) {
	if w.pane == "" {
		w.run()
	}
	for !w.overview() {
		// One esc at a time, and no key before it has done something: esc and a key
		// at once are alt and that key.
		foot := w.foot()
		w.press("esc")
		w.until("esc to do something", func() bool { return w.foot() != foot })
	}
	way := map[string][2]string{inMail: {"i", "── your mail"}, inThread: {"t", "── thread"}, inHelp: {"?", "looking changes nothing"}, inInput: {"/", "filter:"}}
	if key, shows := way[where][0], way[where][1]; key != "" {
		w.press(key)
		w.shows(shows)
	}
}

// overview reports whether top is there, with nothing else to say.
func (w *walk) overview() bool {
	return strings.HasPrefix(w.screen(), "peermux  ") && strings.HasPrefix(w.foot(), "enter jump")
}

// foot is the last line: keys, a message or the input.
func (w *walk) foot() string {
	screen := strings.TrimRight(w.screen(), "\n")
	return screen[strings.LastIndexByte(screen, '\n')+1:]
}

// press presses keys at top's pane.
func (w *walk) press(keys ...string) {
	names := map[string]string{"down": "Down", "up": "Up", "home": "Home", "end": "End", "enter": "Enter", "esc": "Escape", "tab": "Tab", "ctrl+c": "C-c", "ctrl+u": "C-u"}
	for _, k := range keys {
		args := []string{"send-keys", "-t", w.pane, "-l", "--", k}
		if name := names[k]; name != "" {
			args = []string{"send-keys", "-t", w.pane, name}
		}
		_, err := w.here.Run(w.ctx, "", args...)
		check(w.t, err)
	}
}

// enter types a line.
func (w *walk) enter(text string) { w.press("ctrl+u", text, "enter") }

// filter sets the filter from the overview, and is there again.
func (w *walk) filter(text string) {
	w.press("/")
	w.until("the input", func() bool { return strings.HasPrefix(w.foot(), "filter:") })
	w.enter(text)
	w.until("the filter to be set", func() bool {
		return w.overview() && strings.Contains(w.screen(), "conversation with "+text) == (text != "")
	})
}

// choose moves the cursor to a session, row by row.
func (w *walk) choose(name string) {
	key := "home"
	for _, next := range []string{"ann", "api", "busy", "docs", "web"} {
		w.press(key)
		w.until("the cursor on "+next, func() bool { return w.row() == next })
		if next == name {
			return
		}
		key = "j"
	}
}

// row is the session under the cursor.
func (w *walk) row() string {
	for line := range strings.Lines(w.screen()) {
		if rest, ok := strings.CutPrefix(line, "› "); ok {
			return strings.Fields(rest)[0]
		}
	}
	return ""
}

// letter is the message that is shown in full: what stands below the last rule.
func (w *walk) letter() string {
	screen := w.screen()
	return screen[strings.LastIndex(screen, "── "):]
}

func (w *walk) screen() string {
	out, err := w.here.Capture(w.ctx, w.pane, tmux.CaptureOptions{})
	if err != nil {
		w.fail(err.Error())
	}
	return out
}

// shows waits until all of the texts stand on the screen.
func (w *walk) shows(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.until("the screen to show "+text, func() bool { return strings.Contains(w.screen(), text) })
	}
}

func (w *walk) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.fail("waited for " + what)
		}
	}
}

func (w *walk) fail(what string) {
	w.t.Helper()
	screen := ""
	if w.pane != "" {
		if out, err := w.here.Capture(w.ctx, w.pane, tmux.CaptureOptions{}); err == nil {
			screen = out
		}
	}
	w.t.Fatalf("%s: %s; the screen is\n%s", w.now, what, screen)
}

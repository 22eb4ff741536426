package tui

import (
	"strings"
	"time"

	"peermux/internal/agentsim"
	"peermux/internal/tmux"
	"peermux/mailbox"
)

// step is one key in one place.
type step struct {
	where, key string
	ready      func() // nil: nothing is needed before the key
	want       func() // what the key has to bring about
}

func (w *walk) steps() []step {
	var all []step
	for _, some := range [][]step{
		w.moving(), w.showing(), w.jumping(), w.mailing(), w.acting(), w.typing(), w.leaving(),
	} {
		all = append(all, some...)
	}
	return all
}

// moving: the cursor, and what it is in.
func (w *walk) moving() []step {
	from := func(name string) func() { return func() { w.choose(name) } }
	at := func(name string) func() {
		return func() { w.until("the cursor on "+name, func() bool { return w.row() == name }) }
	}
	return []step{
		{onOverview, "j", from("ann"), at("api")},
		{onOverview, "down", from("api"), at("busy")},
		{onOverview, "k", from("busy"), at("api")},
		{onOverview, "up", from("api"), at("ann")},
		{onOverview, "end", from("ann"), at("web")},
		{onOverview, "home", from("web"), at("ann")},
		{onOverview, "tab", nil, func() {
			w.shows("[conversation]")
			w.press("tab")
			w.until("the sessions to have the cursor", func() bool { return !strings.Contains(w.screen(), "[conversation]") })
		}},
	}
}

// showing: keys that only change what is seen.
func (w *walk) showing() []step {
	overviewAgain := func() { w.shows("enter jump") }
	steps := []step{
		{onOverview, "v", func() { w.choose("docs") }, func() {
			w.shows("docs, pane", "manual mode on") // what its terminal shows
			w.press("v")
			w.shows("docs, transcript")
			w.press("v")
			w.shows("docs, auto")
		}},
		{onOverview, "g", nil, func() {
			w.shows("peermux  group")
			w.press("g")
			w.shows("peermux  global")
			w.press("g")
			w.shows("peermux  project shop")
		}},
		{onOverview, "/", nil, func() {
			w.enter("task-1")
			w.shows("conversation with task-1")
			w.until("only what fits to be left", func() bool { return !strings.Contains(w.screen(), "→ busy  "+portQuestion) })
			w.filter("")
			w.shows("→ busy  " + portQuestion)
		}},
		{onOverview, "t", func() { w.filter("task-1") }, func() {
			w.shows("── thread", "web → docs", "TASK-1")
			w.press("esc")
			w.until("the overview", w.overview)
			w.filter("")
		}},
		{onOverview, "?", nil, func() { w.shows("looking changes nothing", "jump to its pane", "while you type") }},
		{onOverview, "i", nil, func() { w.shows("── your mail", "MAIL-A", "MAIL-B") }},
		{onOverview, "m", func() { w.choose("docs") }, func() { w.shows("── mail of docs", "TASK-1") }},
	}
	for where, keys := range map[string][]string{inMail: {"esc", "q", "i", "m"}, inThread: {"esc", "q", "t"}, inHelp: {"esc", "q", "?"}} {
		for _, k := range keys {
			steps = append(steps, step{where, k, nil, overviewAgain})
		}
	}
	return steps
}

// jumping goes to another window, another tmux session and another tmux server.
func (w *walk) jumping() []step {
	here := func(name string) step {
		return step{onOverview, "enter", func() { w.choose(name) }, func() {
			pane := w.live()[name].Tmux.Pane
			w.until("the terminal to look at "+name, func() bool { return w.client(w.here) == pane })
			w.lookAtTop()
			w.until("the terminal to be back", func() bool { return w.client(w.here) == w.pane })
		}}
	}
	return []step{here("web"), here("api"), {onOverview, "enter", func() { w.choose("docs") }, func() {
		pane := w.live()["docs"].Tmux.Pane
		w.until("a terminal to look at docs", func() bool { return w.client(w.there) == pane })
		w.shows("manual mode on") // in the place of top
		_, err := w.there.Run(w.ctx, "", "detach-client", "-s", "=docs")
		check(w.t, err)
		w.shows("back from docs")
	}}}
}

// acting: what another session is told.
func (w *walk) acting() []step {
	return []step{
		{onOverview, "s", func() { w.choose("docs") }, func() {
			w.shows("send to docs:")
			start := time.Now()
			w.enter("SENT-BY-TOP")
			w.told("docs", start, "SENT-BY-TOP")
			w.shows("sent to docs")
		}},
		{onOverview, "a", func() { w.choose("docs") }, func() {
			w.shows("ask docs:")
			start := time.Now()
			w.enter(topQuestion)
			w.told("docs", start, topQuestion)
			w.shows("docs answers: " + topAnswer)
		}},
		{onOverview, "w", func() { w.choose("api") }, func() {
			w.shows("api: held")
			// The draft in its composer has stayed as it was.
			screen, err := w.here.Capture(w.ctx, w.live()["api"].Tmux.Pane, tmux.CaptureOptions{})
			check(w.t, err)
			if !strings.Contains(screen, "half typed") {
				w.fail("the draft is gone:\n" + screen)
			}
		}},
	}
}

func (w *walk) told(name string, after time.Time, text string) {
	w.t.Helper()
	told, err := w.agents[name].WaitTold(w.ctx, after, text)
	check(w.t, err)
	_, err = w.agents[name].Wait(w.ctx, told.At, agentsim.Idle, "")
	check(w.t, err)
}

// mailing: the person's mail, and the task that docs owes.
func (w *walk) mailing() []step {
	letter := func(text string) func() {
		return func() { w.until("the letter "+text, func() bool { return strings.Contains(w.letter(), text) }) }
	}
	from := func(key, text string) func() {
		return func() { w.press(key); letter(text)() }
	}
	return []step{
		{inMail, "j", from("k", "MAIL-A"), letter("MAIL-B")},
		{inMail, "k", from("j", "MAIL-B"), letter("MAIL-A")},
		{inMail, "down", from("k", "MAIL-A"), letter("MAIL-B")},
		{inMail, "up", from("j", "MAIL-B"), letter("MAIL-A")},
		{inMail, "r", from("k", "MAIL-A"), func() {
			w.shows("reply to web:")
			start := time.Now()
			w.enter("REPLY-1")
			w.told("web", start, "REPLY-1")
			w.shows("replied")
		}},
		{inMail, "d", w.taskOfDocs, func() {
			w.shows("done, note:")
			start := time.Now()
			w.enter("CLOSED-1")
			w.shows("closed: done")
			w.told("web", start, "CLOSED-1")
			work, err := w.board.Store.OpenWork(w.live()["docs"].Box)
			check(w.t, err)
			if len(work) > 0 {
				w.fail("docs still owes something")
			}
		}},
		{inMail, "x", nil, func() {
			w.shows("marked as read")
			w.until("nothing to be unread", func() bool {
				n, err := w.board.Store.Pending(mailbox.UserKey(""))
				check(w.t, err)
				return n == 0
			})
		}},
	}
}

// taskOfDocs goes from the person's mail to the task in docs's.
func (w *walk) taskOfDocs() {
	w.goTo(onOverview)
	w.choose("docs")
	w.press("m")
	w.shows("── mail of docs")
	w.until("its task", func() bool { return strings.Contains(w.letter(), "TASK-1") })
}

// typing: the input line.
func (w *walk) typing() []step {
	leave := func(key string) step {
		return step{inInput, key, func() {
			w.goTo(onOverview)
			w.choose("docs")
			w.press("s")
			w.shows("send to docs:")
			w.press("NEVER-SENT")
			w.shows("NEVER-SENT")
		}, func() {
			w.until("the input to be gone", func() bool { return !strings.Contains(w.screen(), "NEVER-SENT") })
			st, err := w.board.Store.State(w.live()["docs"].Box)
			check(w.t, err)
			for _, it := range st.Items {
				if strings.Contains(it.Body, "NEVER-SENT") {
					w.fail("it was sent")
				}
			}
		}}
	}
	return []step{
		{inInput, "enter", func() { w.press("ctrl+u", "mail-a"); w.shows("filter: mail-a") }, func() {
			w.shows("conversation with mail-a", "enter jump")
			w.filter("")
		}},
		leave("esc"), leave("ctrl+c"),
	}
}

// leaving: each of these ends top, and the next step starts it again.
func (w *walk) leaving() []step {
	gone := func() {
		w.until("the pane to be gone", func() bool {
			panes, err := w.here.Panes(w.ctx)
			check(w.t, err)
			for _, p := range panes {
				if p.ID == w.pane {
					return false
				}
			}
			return true
		})
		w.pane = ""
	}
	return []step{
		{onOverview, "q", nil, gone}, {onOverview, "ctrl+c", nil, gone}, {inMail, "ctrl+c", nil, gone},
		{inThread, "ctrl+c", nil, gone}, {inHelp, "ctrl+c", nil, gone},
	}
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"peermux/internal/proc"
	"peermux/internal/switchboard"
	"peermux/mailbox"
	"peermux/registry"
)

// agent is one conversation: a session, or several after another.
type agent struct {
	entry registry.Entry
	repo  *repo
	cmd   *exec.Cmd
	live  bool
	lazy  bool // reads hardly ever
	// due are the messages to it, and the broadcasts, that it has not been shown.
	due map[string]bool
	// seen are those for its repository that it has seen, as the session it is now.
	seen    map[string]bool
	cursors map[string]string
}

// repo is a repository, in which agents work.
type repo struct {
	root string
	from int // day from which on somebody works there
	// due are announcements that nobody there has been shown.
	due map[string]bool
}

// letter is a message that was accepted.
type letter struct {
	from      *agent
	to        *agent // of a direct one
	repo      *repo  // of one to a repository
	scope     string // of a broadcast
	key       string // the box it went to
	at        time.Time
	task      bool // stays open until it is closed
	closed    bool
	retracted bool
}

func (a *agent) actor() switchboard.Actor {
	act := switchboard.ActorOf(a.entry, a.entry.ID())
	act.Dir = a.repo.root
	return act
}

// comes starts a new session. Now and then it has mail before it is known which one it
// is. Its start shows what waits, and gives it its places in the feeds.
func (w *weeks) comes(day int) {
	w.Helper()
	var repos []*repo
	for _, r := range w.repos {
		if r.from <= day {
			repos = append(repos, r)
		}
	}
	n := len(w.agents)
	a := &agent{
		repo: repos[w.rng.IntN(len(repos))], lazy: n%7 == 2, due: map[string]bool{}, seen: map[string]bool{}, cursors: map[string]string{},
	}
	w.agents = append(w.agents, a)
	a.entry = registry.Entry{
		SessionID: w.sessionID(), Name: fmt.Sprintf("a%d", n), CWD: a.repo.root, Project: a.repo.root,
		Client: registry.Client{Kind: registry.Claude, Mode: registry.Interactive},
	}
	a.entry.Box = mailbox.SessionKey(a.entry.SessionID)
	w.starts(a)
	if n%3 == 0 {
		pending := mailbox.PendingKey(a.entry.PID, a.entry.Start)
		m := mailbox.Message{From: mailbox.Party{Name: "user"}, Body: "to whoever this is"}
		res, err := w.board.Store.Append(pending, &m, mailbox.AppendOptions{NoSync: true})
		w.check("mail before it is known who it is", err)
		w.accepted(res.ID, &letter{to: a, key: a.entry.Box, at: w.now()})
		a.due[res.ID] = true
		w.check("move", w.board.Store.Move(pending, a.entry.Box))
	}
	w.reads(a)
}

func (w *weeks) sessionID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", w.rng.Uint32(), len(w.agents))
}

// starts gives a session a process and an entry.
func (w *weeks) starts(a *agent) {
	w.Helper()
	a.cmd = exec.Command("sleep", "600")
	w.check("start a process", a.cmd.Start())
	cmd := a.cmd
	w.Cleanup(func() {
		if err := cmd.Process.Kill(); err == nil {
			_ = cmd.Wait() // its error is that it was killed
		} else if !errors.Is(err, os.ErrProcessDone) {
			w.Error(err)
		}
	})
	info, err := proc.Stat(a.cmd.Process.Pid)
	w.check("look at a process", err)
	a.entry.PID, a.entry.Start = info.PID, info.Start
	a.entry.Client.PID, a.entry.Client.Start = info.PID, info.Start
	a.entry.StartedAt, a.entry.SeenAt = w.now(), time.Time{}
	w.check("register", w.board.Registry.Put(a.entry))
	a.live = true
}

// leaves ends a session, every other time without a word.
func (w *weeks) leaves(a *agent) {
	w.Helper()
	if a == nil {
		return
	}
	if w.rng.IntN(2) == 0 {
		w.check("remove", w.board.Registry.Remove(a.entry.PID, a.entry.Start))
	}
	w.check("kill", a.cmd.Process.Kill())
	_ = a.cmd.Wait() // its error is that it was killed
	a.live = false
}

// resumes brings a session back under its id.
func (w *weeks) resumes(a *agent) {
	w.Helper()
	w.starts(a)
	w.reads(a)
}

// clears goes on under a new id, as after /clear.
func (w *weeks) clears(a *agent) {
	w.Helper()
	old := a.entry.Box
	a.entry.SessionID = w.sessionID()
	a.entry.Box = mailbox.SessionKey(a.entry.SessionID)
	w.check("move", w.board.Store.Move(old, a.entry.Box))
	w.went[old] = a.entry.Box
	w.check("register", w.board.Registry.Put(a.entry))
	a.seen = map[string]bool{} // another conversation
	w.judgeCursors(a)
}

func (w *weeks) accepted(id string, l *letter) {
	w.letters[id] = l
	w.order = append(w.order, id)
}

func (w *weeks) sends(a *agent, task bool) {
	w.Helper()
	if to := w.one(func(b *agent) bool { return b != a }); to != nil {
		w.sendsTo(a, to, task)
	}
}

func (w *weeks) sendsTo(a, to *agent, task bool) switchboard.SendResult {
	w.Helper()
	res, err := w.board.Send(context.Background(), a.actor(), switchboard.SendRequest{Target: to.entry.Name, Body: "look at parser.go", Task: task})
	w.check("send", err)
	w.accepted(res.MessageID, &letter{from: a, to: to, key: to.entry.Box, at: w.now(), task: task})
	to.due[res.MessageID] = true
	return res
}

// sendsRepo leaves mail for whoever works in a repository.
func (w *weeks) sendsRepo(a *agent) {
	w.Helper()
	r := w.repos[w.rng.IntN(len(w.repos))]
	if r == a.repo {
		return
	}
	res, err := w.board.Send(context.Background(), a.actor(), switchboard.SendRequest{Target: "repo:" + r.root, Body: "the tests fail"})
	w.check("send to a repository", err)
	w.accepted(res.MessageID, &letter{from: a, repo: r, key: mailbox.RepoKey(r.root), at: w.now(), task: true})
}

func (w *weeks) broadcasts(a *agent, scope string) {
	w.Helper()
	res, err := w.board.Broadcast(context.Background(), a.actor(), switchboard.BroadcastRequest{Body: "main is frozen", Scope: scope})
	w.check("broadcast", err)
	w.accepted(res.MessageID, &letter{from: a, scope: scope, at: w.now(), repo: a.repo})
	if scope == switchboard.ScopeRepos {
		for _, r := range w.repos {
			if r != a.repo {
				r.due[res.MessageID] = true
			}
		}
		return
	}
	for _, b := range w.agents {
		// A session that has ended has its place still, as long as it has its box.
		if b != a && (scope == switchboard.ScopeGlobal || b.repo == a.repo) && len(b.cursors) > 0 {
			b.due[res.MessageID] = true
		}
	}
}

// retracts takes back a broadcast of its own.
func (w *weeks) retracts(a *agent) {
	w.Helper()
	for _, id := range w.order {
		l := w.letters[id]
		if l.from != a || l.scope == "" || l.retracted || w.now().Sub(l.at) > 48*time.Hour {
			continue
		}
		_, err := w.board.Retract(context.Background(), a.actor(), id)
		w.check("retract", err)
		l.retracted = true
		for _, b := range w.agents {
			delete(b.due, id)
		}
		for _, r := range w.repos {
			delete(r.due, id)
		}
		return
	}
}

// closes takes up one piece of open work and reports whether there was any. Whoever
// asked for it is told.
func (w *weeks) closes(a *agent) bool {
	w.Helper()
	work, err := w.board.OpenWork(context.Background(), a.actor())
	w.check("open work", err)
	if len(work.Work) == 0 {
		return false
	}
	id := work.Work[w.rng.IntN(len(work.Work))].MessageID
	res, err := w.board.CompleteWork(context.Background(), a.actor(), switchboard.CloseRequest{MessageID: id, Body: "done"})
	w.check("close", err)
	l := w.letters[id]
	if l == nil || !l.task || l.closed {
		w.Fatalf("day %d: %s has open work that nobody gave it: %s", w.day(), a.entry.Name, id)
	}
	l.closed = true
	delete(a.due, id) // it was in the list of what is owed
	if res.ResultID != "" {
		w.accepted(res.ResultID, &letter{from: a, to: l.from, key: l.from.entry.Box, at: w.now()})
		l.from.due[res.ResultID] = true
	}
	return true
}

// reads shows a session all that waits for it, in portions. Some are given back, as by
// a hook whose text did not go out.
func (w *weeks) reads(a *agent) {
	w.Helper()
	var got []switchboard.Mail
	for {
		res, delivery, err := w.board.Read(context.Background(), a.actor(), switchboard.ReadRequest{Limit: 1 + w.rng.IntN(30), Via: "test"})
		w.check("read", err)
		if res.Count > 0 && w.rng.IntN(8) == 0 {
			w.check("release", delivery.Release())
			continue
		}
		w.check("record", delivery.Shown())
		got = append(got, res.Messages...)
		if res.Count == 0 {
			break
		}
	}
	w.judgeRead(a, got)
	w.judgeCursors(a)
}

package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"peermux/detect"
	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// Names of the routes, as results and records have them.
const (
	routeBell  = "native: bell"
	routeQueue = "native: codex queue"
	routeHost  = "pty"
	routeTmux  = "tmux"
)

// bellWithin bounds the way from the bell to the shown mail: Claude waits for the
// file to be quiet and then runs the hook, 0.7 to 0.8 s together (2.1.197, 2.1.328).
const bellWithin = 4 * time.Second

// bell rewrites the file that Claude Code itself watches. Its FileChanged hook
// then shows the mail, which wakes an idle session, leaves a draft alone, and
// waits until an open dialog is closed. The proof is that something was shown.
//
// One run of the hook shows a page. The mail behind it comes with the turn that this
// begins; an urgent broadcast behind others may not, so for that the bell is rung
// again, all in the time of one wake.
func (a *attempt) bell(ctx context.Context) (Result, bool) {
	if why := a.bellMissing(); why != "" {
		return Result{Outcome: NoRoute, Reason: why}, false
	}
	path := mailbox.BellPath(a.Home, a.entry.Box)
	reached := false
	for until := a.Now().Add(bellWithin); ; {
		before, rung := a.left(), a.Now()
		since := rung.Add(-1) // what is shown in that very moment counts too
		if err := a.ring(path); err != nil {
			return Result{Outcome: Failed, Route: routeBell, Reason: err.Error()}, false
		}
		if a.status.Word == registry.Waiting {
			return Result{Outcome: Held, Route: routeBell,
				Reason: waiting(a.status.WaitingFor) + "; its bell was rung, and Claude shows the mail after that"}, true
		}
		settled := await(ctx, until.Sub(rung), lookEvery, func() bool { return a.isOver(before, since) })
		reached = reached || a.shownSince(since)
		if !settled || a.left().broadcasts == 0 {
			break
		}
	}
	if reached {
		a.rec.land(a.from, a.Now())
		return Result{Outcome: Native, Route: routeBell}, true
	}
	if now, err := a.Waker.unshown(a.entry, a.config); err == nil && now.none() {
		return Result{Outcome: NotNeeded, Reason: nothingUnshown}, true
	}
	why := fmt.Sprintf("no mail was shown within %v", bellWithin)
	if ctx.Err() != nil {
		why = "the wake was broken off before any mail was shown"
	}
	return Result{Outcome: Failed, Route: routeBell, Reason: "the bell was rung, and " + why}, false
}

// isOver reports whether anything was shown since, when before was what waited, or
// nothing waits any more: it may also have been withdrawn, or gone along to another box.
func (a *attempt) isOver(before unshown, since time.Time) bool {
	switch now, err := a.Waker.unshown(a.entry, a.config); {
	case err != nil:
		return false
	case now.none():
		return true
	case now.mail < before.mail || now.broadcasts < before.broadcasts:
		return a.shownSince(since)
	}
	return a.Store.FeedsShownSince(a.entry.Box, since)
}

// bellMissing says why the session's client does not watch its bell, or "". Only a
// SessionStart hook that ran in this very session asked Claude to watch it.
func (a *attempt) bellMissing() string {
	drop, ok := a.Registry.DropOf(a.entry.Box)
	switch {
	case !ok || drop.Hooks["SessionStart"].IsZero():
		return "no hook of peermux has run in this session (peermux install-hook)"
	case drop.Headless:
		return "it runs headless, where Claude drops what a bell brings"
	}
	return ""
}

// ring gives the bell a new content. It is replaced, not appended to, so it never
// grows; Claude reports both. The hook that it calls shows broadcasts only when the
// bell says so, since it does not know what the person allows.
func (a *attempt) ring(path string) error {
	if err := private.Dir(filepath.Dir(path)); err != nil {
		return err
	}
	text := a.Now().UTC().Format(time.RFC3339Nano)
	if u, err := a.Waker.unshown(a.entry, a.config); err == nil && u.broadcasts > 0 {
		text += " " + mailbox.BellBroadcast
	}
	return private.WriteFile(path, []byte(text+"\n"))
}

// queueWithin bounds one run of "codex queue"; it takes under 0.1 s.
const queueWithin = 5 * time.Second

// queue hands the line to Codex's own queue, which starts a turn in an idle
// thread and leaves drafts and dialogs alone (0.171.0).
func (a *attempt) queue(ctx context.Context) (Result, bool) {
	q, why := a.codex()
	if why != "" {
		return Result{Outcome: NoRoute, Reason: why}, false
	}
	if a.status.Word == registry.Waiting {
		// It would be kept until the dialog is closed, and after an Esc until the
		// turn after that: by then the mail may long have been shown.
		return Result{Outcome: Held, Route: routeQueue, Reason: waiting(a.status.WaitingFor)}, true
	}
	if a.interrupted() {
		// What is queued now would wait until the user's next turn has ended
		// (0.171.0), and that turn shows the mail itself.
		return Result{Outcome: NoRoute, Reason: "Codex holds its queue after an Esc until its user's next turn"}, false
	}
	if a.unshown() == 0 {
		return Result{Outcome: NotNeeded, Reason: nothingUnshown}, true
	}
	// Stored first: a message that was queued by a waker who then died must not be
	// queued again.
	a.rec.land(a.from, a.Now())
	a.rec.Outstanding = &outstanding{At: a.Now(), Route: routeQueue}
	if err := a.save(a.entry.Box, a.rec); err != nil {
		return Result{Outcome: Failed, Route: routeQueue, Reason: err.Error()}, true
	}
	if err := q.run(ctx); err != nil {
		a.rec.Outstanding = nil
		return Result{Outcome: Failed, Route: routeQueue, Reason: err.Error()}, false
	}
	return Result{Outcome: Native, Route: routeQueue}, true
}

// interrupted reports whether the session's last turn was ended by Esc. The hook
// writes that time and the status in one run; any later event moves the status on.
func (a *attempt) interrupted() bool {
	drop, ok := a.Registry.DropOf(a.entry.Box)
	esc := drop.Hooks["Interrupt"]
	return ok && !esc.IsZero() && a.status.Since.Before(esc.Add(time.Second))
}

// codexQueue is one call of "codex queue".
type codexQueue struct {
	program string // the program that the session itself runs
	thread  string
	env     []string
}

// codex prepares the call, or says why it can't be made.
func (a *attempt) codex() (codexQueue, string) {
	e := a.entry
	if e.SessionID == "" {
		return codexQueue{}, "its thread id is not known yet"
	}
	program, err := codexProgram(e.Client.PID)
	if err != nil {
		return codexQueue{}, err.Error()
	}
	if !a.config.Unattended && !detect.Attended(e) {
		return codexQueue{}, "its terminal is closed, and nobody would see what it does (unattended = true in wake.toml wakes it all the same)"
	}
	env := a.clientEnv(e)
	vars := []string{"HOME=" + env("HOME"), "PATH=" + env("PATH")}
	if home := env("CODEX_HOME"); home != "" {
		vars = append(vars, "CODEX_HOME="+home)
	}
	return codexQueue{program: program, thread: e.SessionID, env: vars}, ""
}

// codexProgram finds the binary behind a session's own process, so that queue and
// session are of one version: the TUI's, or the daemon's copy of it.
func codexProgram(pid int) (string, error) {
	exe := proc.Exe(pid)
	if exe == "" {
		return "", errors.New("the program of its Codex process is not known")
	}
	// A running Codex that was updated: the file is gone, the new one has its name.
	exe = strings.TrimSuffix(exe, " (deleted)")
	if !strings.HasPrefix(filepath.Base(exe), "codex") {
		return "", fmt.Errorf("its process is %s, not codex", filepath.Base(exe))
	}
	if _, err := os.Stat(exe); err != nil {
		return "", fmt.Errorf("its program is gone: %v", err)
	}
	return exe, nil
}

// run queues the line and believes only Codex's own confirmation.
func (q codexQueue) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queueWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, q.program, "queue", "--thread", q.thread, "--message="+Line)
	cmd.Env = q.env
	cmd.WaitDelay = 100 * time.Millisecond
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("codex queue did not answer within %v", queueWithin)
	}
	if err != nil {
		return fmt.Errorf("codex queue: %v: %.200s", err, strings.TrimSpace(stderr.String()))
	}
	if !strings.Contains(stdout.String(), "Queued message") {
		return fmt.Errorf("codex queue did not confirm: %.200q", stdout.String())
	}
	return nil
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"peermux/internal/frame"
	"peermux/internal/private"
	"peermux/internal/tmux"
	"peermux/mailbox"
)

// files checks that the home is the user's alone.
func (e *examination) files() {
	home := e.Board.Home
	if _, err := os.Lstat(home); errors.Is(err, fs.ErrNotExist) {
		e.find(Finding{Severity: Note, Area: "files", What: "nothing was ever stored", Evidence: home + " does not exist yet"})
		return
	}
	future, late := 0, ""
	open := map[exposure][]string{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // it went away meanwhile
		}
		if why, evidence := exposed(info); why != closed && !byHand(home, path, info) {
			open[why] = append(open[why], path+": "+evidence)
		}
		if info.ModTime().After(e.Now().Add(time.Minute)) {
			future++
			late = path
		}
		return nil
	})
	if err != nil {
		e.cannot("files", home, err)
	}
	if len(open) == 0 {
		e.find(Finding{Severity: OK, Area: "files", What: "the home is yours alone", Evidence: home})
	}
	for _, x := range []struct {
		why       exposure
		one, more string
		mend      string
	}{
		{readable, "file is not yours alone", "files are not yours alone", "peermux doctor --fix"},
		{linked, "symbolic link is in the home", "symbolic links are in the home", "put the file itself there or remove the link: peermux follows none"},
		{foreign, "file belongs to another user", "files belong to another user", "give it back with chown, or remove it"},
	} {
		if n := len(open[x.why]); n > 0 {
			e.find(Finding{Severity: Error, Area: "files", What: counted(n, x.one, x.more), Evidence: open[x.why][0], Mend: x.mend, Fixable: x.why == readable})
		}
	}
	if future > 0 {
		e.find(Finding{Severity: Warning, Area: "files", What: counted(future, "file is", "files are") + " from the future", Evidence: late, Mend: "set the clock; order and ages are wrong until then"})
	}
}

// byHand reports whether a file is wake.toml, which the person writes, with whatever
// mode an editor gives it: the home is closed all the same, and the next wake makes
// the file the user's alone.
func byHand(home, path string, info fs.FileInfo) bool {
	return path == filepath.Join(home, "wake.toml") && info.Mode().IsRegular()
}

// counted is a number of things, in words that fit it.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// exposure is a way in which a file is not its user's alone.
type exposure int

const (
	closed   exposure = iota
	readable          // its mode lets others in; Fix tightens it
	linked
	foreign
)

// exposed says whether and how a file is not its user's alone.
func exposed(info fs.FileInfo) (why exposure, evidence string) {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return linked, "a symbolic link"
	case ok && int(st.Uid) != os.Getuid():
		return foreign, fmt.Sprintf("owned by user %d", st.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return readable, "mode " + info.Mode().Perm().String()
	}
	return closed, ""
}

// sessions checks that each live session is known and can be reached.
func (e *examination) sessions() {
	live, err := e.Board.Registry.Peek()
	if err != nil {
		e.cannot("sessions", "the registry", err)
		return
	}
	for _, s := range live {
		if s.SessionID == "" {
			e.find(Finding{Severity: Warning, Area: "sessions", What: s.Name + " has no session id: it can be written to, but cannot send", Evidence: fmt.Sprintf("MCP server %d", s.PID), Mend: "ask it to call get_my_session, then claim_session"})
		}
		if span, outside := untested(s.Client.Kind, s.Client.Version); outside {
			e.find(Finding{Severity: Note, Area: "sessions", What: fmt.Sprintf("%s runs %s %s, which was not tested", s.Name, s.Client.Kind, s.Client.Version), Evidence: span, Mend: "peermux wake " + s.Name + " --explain"})
		}
		if reason, since, held := e.Board.Waker.Held(s.Box); held {
			e.find(Finding{Severity: Note, Area: "sessions", What: s.Name + " is not woken", Evidence: fmt.Sprintf("%s, for %s", reason, e.Now().Sub(since).Round(time.Second)), Mend: "peermux wake " + s.Name + " --explain"})
		}
	}
	gone, err := e.Board.Registry.Leftovers()
	if err != nil {
		e.cannot("sessions", "the registry", err)
	}
	for _, s := range gone.Orphans {
		e.find(Finding{Severity: Warning, Area: "sessions", What: fmt.Sprintf("MCP server %d outlived its client", s.PID), Evidence: fmt.Sprintf("client %d is gone", s.Client.PID), Mend: fmt.Sprintf("kill %d", s.PID)})
	}
	if n := len(gone.Dead); n > 0 {
		e.find(Finding{Severity: Note, Area: "sessions", What: counted(n, "entry of a dead session", "entries of dead sessions"), Mend: "peermux doctor --fix", Fixable: true})
	}
	e.find(Finding{Severity: OK, Area: "sessions", What: fmt.Sprintf("%d live", len(live))})
}

// tmux lists the servers that a wake could need.
func (e *examination) tmux() {
	sockets := tmux.Sockets(e.Client.Getenv)
	live, err := e.Board.Registry.Peek()
	if err == nil {
		for _, s := range live {
			if s.Tmux != nil && s.Tmux.Socket != "" {
				sockets = appendNew(sockets, s.Tmux.Socket)
			}
		}
	}
	if len(sockets) == 0 {
		e.find(Finding{Severity: Note, Area: "tmux", What: "no tmux server", Evidence: "sessions are woken by their clients' own means or by peermux run"})
		return
	}
	for _, socket := range sockets {
		runner := tmux.Runner{Socket: socket}
		version, err := runner.Run(e.ctx, "", "display-message", "-p", "#{version}")
		switch {
		case errors.Is(err, tmux.ErrNoServer):
			e.find(Finding{Severity: Note, Area: "tmux", What: "a socket without a server", Evidence: socket})
		case err != nil:
			e.cannot("tmux", socket, err)
		default:
			e.find(Finding{Severity: OK, Area: "tmux", What: "version " + strings.TrimSpace(version), Evidence: socket})
		}
	}
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// mail looks for mail that nothing will deliver: the session it is for is not
// running. It is kept all the same.
func (e *examination) mail() {
	boxes, err := e.Board.Store.Boxes()
	if err != nil {
		e.cannot("mail", "all boxes", err)
	}
	live, err := e.Board.Registry.Peek()
	if err != nil {
		return // sessions has said so
	}
	reader := map[string]bool{mailbox.UserKey(""): true}
	for _, s := range live {
		reader[s.Box] = true
	}
	stranded := 0
	for _, b := range boxes {
		if b.Unshown == 0 || reader[b.Key] || b.Key[0] == 'r' || b.Key[0] == 'a' {
			continue
		}
		stranded++
		e.find(Finding{Severity: Note, Area: "mail", What: fmt.Sprintf("%d unread in a box whose session is not running", b.Unshown), Evidence: b.Key, Mend: "resume that session; the mail is kept until it is read"})
	}
	if stranded == 0 {
		e.find(Finding{Severity: OK, Area: "mail", What: counted(len(boxes), "box", "boxes") + ", none stranded"})
	}
}

// system looks at what lies outside peermux.
func (e *examination) system() {
	if _, err := os.Stat(e.Client.HookPath); err != nil {
		e.find(Finding{Severity: Error, Area: "system", What: "peermux-hook is not beside peermux", Evidence: err.Error(), Mend: "make install"})
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, 5*time.Second)
	defer cancel()
	// A hook program of another format leaves mail that it does not understand to
	// the tools; it never shows it wrongly.
	want := fmt.Sprintf("peermux-hook format %d", frame.Version)
	out, err := exec.CommandContext(ctx, e.Client.HookPath, "version").CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != want {
		e.find(Finding{Severity: Warning, Area: "system", What: "peermux and peermux-hook are of different formats", Evidence: fmt.Sprintf("%q, want %q", got, want), Mend: "make install, for both"})
	}
}

// Fix does what is harmless and returns what it did.
func Fix(p Patient) ([]string, error) {
	var done []string
	var errs []error
	err := filepath.WalkDir(p.Board.Home, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // it went away meanwhile
		}
		if why, _ := exposed(info); why != readable {
			return nil
		}
		done = append(done, "tightened "+path)
		return os.Chmod(path, info.Mode().Perm()&^0o077)
	})
	errs = append(errs, err)
	gone, err := p.Board.Registry.Leftovers()
	errs = append(errs, err)
	if err := p.Board.Registry.Sweep(); err != nil {
		errs = append(errs, err)
	} else if n := len(gone.Dead); n > 0 {
		done = append(done, fmt.Sprintf("removed %d entries of dead sessions", n))
	}
	if err := private.Sweep(filepath.Join(p.Board.Home, "wake")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

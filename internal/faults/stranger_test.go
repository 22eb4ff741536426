package faults

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
	"peermux/mailbox"
	"peermux/registry"
)

// TestStranger lets another user of the machine try everything that is in a peermux
// home, although every folder above is open and the umask forbids nothing.
func TestStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	b := newBench(t)
	dir, err := os.MkdirTemp("", "peermux-faults-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	program, err := os.ReadFile(b.program)
	if err != nil {
		t.Fatal(err)
	}
	b.program, b.home = filepath.Join(dir, "faults.test"), filepath.Join(dir, "home")
	if err := errors.Join(os.WriteFile(b.program, program, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	settle(t, b.home)
	before := pathsOf(t, b.home)
	if len(before) < 12 {
		t.Fatalf("the home holds only %q", slices.Sorted(maps.Keys(before)))
	}
	for _, mode := range []os.FileMode{0o700, 0o755} { // even if somebody opens the home itself
		if err := os.Chmod(b.home, mode); err != nil {
			t.Fatal(err)
		}
		p := b.prepare(order{Role: "stranger", Box: boxA, Boxes: slices.Sorted(maps.Keys(before))})
		p.cmd.Dir = "/"
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		b.run(p)
		<-p.read
		p.stop()
		want := fmt.Sprintf("tried %d", len(before))
		if p.err != nil || !slices.Equal(p.lines, []string{want}) {
			t.Errorf("home with mode %o: %q, want %q (%v: %s)", mode, p.lines, want, p.err, p.stderr.String())
		}
	}
	if after := pathsOf(t, b.home); !maps.Equal(before, after) {
		t.Errorf("something changed: %q, was %q", after, before)
	}
}

// settle makes a home with something of every kind in it.
func settle(t *testing.T, home string) {
	t.Helper()
	defer syscall.Umask(syscall.Umask(0))
	board, actor := boardOf(t, home, time.Now())
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	task, err := board.Store.Append(boxA, &mailbox.Message{Kind: mailbox.KindTask, Body: "secret", From: mailbox.Party{Box: boxB}},
		mailbox.AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = board.Store.Complete(boxA, mailbox.Completion{Task: task.ID, How: "done", Result: &mailbox.Message{Body: "secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := board.Store.Broadcast(mailbox.FeedGlobal, &mailbox.Message{Body: "secret"}); err != nil {
		t.Fatal(err)
	}
	_, err = board.Register(registry.Entry{PID: self.PID, Start: self.Start, SessionID: actor.SessionID, Box: actor.Box, Name: "parser"}, "")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.WriteFile(mailbox.BellPath(home, boxA), []byte("rung"), 0o600),
		board.Store.Compact(boxA),
		board.Registry.SetStatus(actor.Box, registry.Idle, time.Now()),
		board.Registry.PutDrop(registry.Drop{Box: actor.Box, SessionID: actor.SessionID, Event: "Stop", PIDs: []proc.ID{self.ID}}))
	if err != nil {
		t.Fatal(err)
	}
}

// pathsOf lists everything below dir, files with a checksum.
func pathsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		paths[path] = "folder"
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			paths[path] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// stranger tries to read, write, replace and remove each path, and to use the home.
func (w *worker) stranger() error {
	for _, path := range w.Boxes {
		tries := map[string]func() error{
			"read": func() error { _, err := os.ReadFile(path); return err },
			"list": func() error { _, err := os.ReadDir(path); return err },
			"write": func() error {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				if err == nil {
					err = errors.Join(f.Close(), errors.New("opened"))
				}
				return err
			},
			"add":  func() error { return os.WriteFile(path+".new", nil, 0o600) },
			"into": func() error { return os.WriteFile(filepath.Join(path, "new"), nil, 0o600) },
			"link": func() error {
				return os.Link(path, filepath.Join(os.TempDir(), fmt.Sprint("peermux-stolen-", os.Getpid())))
			},
			"rename": func() error { return os.Rename(path, path+".old") },
			"remove": func() error { return os.Remove(path) },
			"open":   func() error { return os.Chmod(path, 0o777) },
		}
		for what, try := range tries {
			err := try()
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
				continue
			}
			return fmt.Errorf("%s %s: %v", what, strings.TrimPrefix(path, w.Home), err)
		}
	}
	if _, err := mailbox.Open(w.Home, w.now); !errors.Is(err, private.ErrUnsafe) {
		return fmt.Errorf("open the home of somebody else: %v", err)
	}
	report(fmt.Sprintf("tried %d", len(w.Boxes)))
	return nil
}

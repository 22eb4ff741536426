package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"peermux/internal/private"
	"peermux/mailbox"
)

// nobody is a user that root can become; it needs no entry in any table.
const nobody = 65534

// TestForeignAndReadOnlyFolders runs as an ordinary user, also when root runs the
// tests, for whom no folder is read-only.
func TestForeignAndReadOnlyFolders(t *testing.T) {
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
	b.home = filepath.Join(dir, "home")
	foreign := "/"
	if os.Geteuid() == 0 {
		program, err := os.ReadFile(b.program)
		if err != nil {
			t.Fatal(err)
		}
		b.program = filepath.Join(dir, "faults.test")
		foreign = filepath.Join(dir, "foreign")
		err = errors.Join(os.WriteFile(b.program, program, 0o755), os.Mkdir(b.home, 0o700), os.Mkdir(foreign, 0o777),
			os.Chown(b.home, nobody, nobody), os.Chmod(dir, 0o755), os.Chmod(foreign, 0o777))
		if err != nil {
			t.Fatal(err)
		}
	} else if err := os.Mkdir(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	p := b.prepare(order{Role: "denied", Box: boxA, Boxes: []string{foreign}})
	p.cmd.Dir = "/"
	if os.Geteuid() == 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	b.run(p)
	<-p.read
	p.stop()
	if p.err != nil {
		t.Fatalf("%v: %s", p.err, p.stderr.String())
	}
	if got := strings.Join(p.lines, ", "); got != "foreign, no room, read-only" {
		t.Errorf("checked: %s", got)
	}
}

func (w *worker) denied() error {
	if err := w.foreign(w.Boxes[0]); err != nil {
		return err
	}
	report("foreign")

	// A home in which nothing can be made.
	if err := os.Chmod(w.Home, 0o500); err != nil {
		return err
	}
	_, err := w.store.Append(w.Box, &mailbox.Message{Body: "x"}, mailbox.AppendOptions{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), filepath.Join(w.Home, "boxes")) {
		return fmt.Errorf("append into a read-only home: %w", err)
	}
	if n, err := w.store.Pending(w.Box); n != 0 || err != nil {
		return fmt.Errorf("pending there: %d, %w", n, err)
	}
	report("no room")

	// A box that can only be read.
	if err := os.Chmod(w.Home, 0o700); err != nil {
		return err
	}
	if _, err := w.store.Append(w.Box, &mailbox.Message{Body: "kept"}, mailbox.AppendOptions{}); err != nil {
		return err
	}
	journal := mailbox.JournalPath(w.Home, w.Box)
	if err := errors.Join(os.Chmod(journal, 0o400), os.Chmod(filepath.Dir(journal), 0o500)); err != nil {
		return err
	}
	_, appendErr := w.store.Append(w.Box, &mailbox.Message{Body: "x"}, mailbox.AppendOptions{})
	_, claimErr := w.store.Claim(w.Box, mailbox.ClaimOptions{})
	for _, err := range []error{appendErr, claimErr} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), journal) {
			return fmt.Errorf("writing to a read-only box: %w", err)
		}
	}
	if err := w.holds(w.Box, "kept"); err != nil {
		return err
	}
	report("read-only")
	return os.Chmod(filepath.Dir(journal), 0o700)
}

// foreign checks that what belongs to another user is refused.
func (w *worker) foreign(dir string) error {
	s, err := mailbox.Open(dir, w.now)
	if !errors.Is(err, private.ErrUnsafe) || !strings.Contains(err.Error(), "belongs to user 0") {
		return fmt.Errorf("a foreign home: %v, %w", s, err)
	}
	if _, err := private.ReadFile("/etc/passwd", 1<<20); !errors.Is(err, private.ErrUnsafe) {
		return fmt.Errorf("a foreign file was read: %w", err)
	}
	return nil
}

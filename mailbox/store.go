package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"peermux/internal/private"
	"peermux/internal/proc"
)

// Store is the mail under one peermux home. It holds no descriptors and nothing
// of a box between calls, so it is safe for concurrent use and needs no closing.
type Store struct {
	home string
	now  func() time.Time

	// Alive tells whether the process pid with this start time still runs. Open
	// sets it to the kernel's answer; tests may set it before first use.
	Alive func(pid int, start string) bool

	mu     sync.Mutex
	queues map[string][]*change // by journal: those who wait for the one who runs changes
}

// Open returns the store under home without creating or reading anything there;
// it only refuses a home that is not this user's own.
func Open(home string, now func() time.Time) (*Store, error) {
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("peermux home %q is not an absolute path; set PEERMUX_HOME to one", home)
	}
	if err := private.CheckHome(home); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	for _, dir := range []string{filepath.Join(home, "boxes"), filepath.Join(home, "feeds")} {
		if err := private.CheckDirIfAny(dir); err != nil {
			return nil, fmt.Errorf("mailbox: %w", err)
		}
	}
	return &Store{
		home:  home,
		now:   now,
		Alive: func(pid int, start string) bool { return proc.Alive(proc.ID{PID: pid, Start: start}) },
	}, nil
}

// Home is the folder that Open was given.
func (s *Store) Home() string { return s.home }

func (s *Store) mkdir(p place) error {
	if err := private.Dir(s.home); err != nil {
		return err
	}
	parent := filepath.Dir(p.path)
	if p.feed {
		return private.Dir(parent)
	}
	if err := private.Dir(filepath.Dir(parent)); err != nil {
		return err
	}
	return private.Dir(parent)
}

package hookscripts

import (
	"context"
	"errors"
	"fmt"
	"github.com/rogpeppe/go-internal/diff"
	"os"
	"path/filepath"
	"strings"
	"time"

	"peermux/hookscripts/internal/userfile"
	"peermux/internal/private"
)

// Options says what to do.
type Options struct {
	Clients []string // claude, codex
	DryRun  bool     // write nothing; Change.Diff, or the draft, shows what would be done
	Draft   *Draft   // of a dry run that takes several steps; nil: each stands alone
	// Approve lets peermux's own tools run without the client asking each time.
	Approve bool
}

// Change is what was done, or would be done, to one file.
type Change struct {
	Client string // claude or codex
	What   string // hooks, server, trust or skill
	File   string
	Did    string // Added, Updated, Present, Removed, Absent or Kept
	Backup string // the copy of the file beside it, when there is one
	Diff   string // unified, of a dry run
	Note   string // what a person should know about the result; may be empty
}

// What a Change did.
const (
	Added   = "added"
	Updated = "updated"
	Present = "present" // was there already
	Removed = "removed"
	Absent  = "absent" // was not there
	Kept    = "kept"   // somebody else's, left as it is
)

// part is something of ours in a file of a client's. Texts are nil for a file
// that isn't there.
type part struct {
	client, what, path string
	claudeLock         bool // the file has Claude Code's own lock

	add func(text []byte, approve bool) ([]byte, error)
	// drop takes the part out; before is the file's text before us.
	drop func(text, before []byte) ([]byte, error)
	has  func(text []byte) (bool, error) // this part
	any  func(text []byte) (bool, error) // any part of ours
	// note says what is wrong with the file although it could be edited.
	note func(text []byte) string
}

func (p part) backup() string { return p.path + ".before-peermux" }

// aWhile after it was written, a temporary file belongs to nobody.
const aWhile = time.Minute

// waitForClaude is longer than a lock lives whose holder was killed.
const waitForClaude = 12 * time.Second

// apply runs one edit of the part's file, under Claude Code's lock where there
// is one, or only works out the difference.
func (p part) apply(ctx context.Context, e Env, o Options, edit func(userfile.Content) (userfile.Content, error)) (before, after userfile.Content, err error) {
	if o.DryRun {
		if before, err = o.Draft.read(p.path); err == nil {
			after, err = edit(before)
		}
		if err == nil && !after.Equal(before) {
			err = userfile.Writable(p.path)
		}
		if err == nil {
			o.Draft.write(p.path, before, after)
		}
		return before, after, p.explain(err)
	}
	for _, path := range []string{p.path, p.backup()} {
		if err := userfile.Sweep(path, e.Now().Add(-aWhile)); err != nil {
			return before, after, err
		}
	}
	if p.claudeLock {
		ctx, cancel := context.WithTimeout(ctx, waitForClaude)
		defer cancel()
		unlock, err := userfile.LockFolder(ctx, p.path, e.Now)
		if err != nil {
			return before, after, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	before, after, err = userfile.Edit(p.path, edit)
	return before, after, p.explain(err)
}

func (p part) explain(err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), p.path) {
		return fmt.Errorf("%w; nothing was changed there", err)
	}
	return fmt.Errorf("%s: %w; nothing was changed there", p.path, err)
}

// install adds the part to its file.
func (p part) install(ctx context.Context, e Env, o Options) (Change, error) {
	c := Change{Client: p.client, What: p.what, File: p.path}
	had, copied := false, false
	before, after, err := p.apply(ctx, e, o, func(f userfile.Content) (userfile.Content, error) {
		var err error
		if had, err = p.has(f.Data); err != nil {
			return f, err
		}
		text, err := p.add(f.Data, o.Approve)
		if err != nil {
			return f, err
		}
		// An empty file stays one as long as nothing is added to it.
		after := userfile.Content{Data: text, Exists: f.Exists || len(text) > 0}
		if !o.DryRun && !after.Equal(f) {
			copied, err = p.keepCopy(f)
		}
		return after, err
	})
	if err != nil {
		if copied {
			err = errors.Join(err, os.Remove(p.backup()))
		}
		return c, err
	}
	switch {
	case before.Equal(after) && had:
		c.Did = Present
	case before.Equal(after):
		c.Did = Kept
	case had:
		c.Did = Updated
	default:
		c.Did = Added
	}
	c.Note = p.note(after.Data)
	return p.finish(c, o, before, after), nil
}

// keepCopy puts the file's text beside it before the first thing of ours goes
// in. What is left of an earlier installation is not the text before us, and
// a file that isn't there has none: then no copy must be there either.
func (p part) keepCopy(f userfile.Content) (copied bool, err error) {
	ours, err := p.any(f.Data)
	if err != nil || ours {
		return false, err
	}
	if _, _, err := userfile.Edit(p.backup(), func(userfile.Content) (userfile.Content, error) { return f, nil }); err != nil {
		return false, fmt.Errorf("keep a copy: %w", err)
	}
	if !f.Exists {
		return false, nil
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return true, err
	}
	return true, os.Chmod(p.backup(), info.Mode().Perm())
}

// remove takes the part out of its file.
func (p part) remove(ctx context.Context, e Env, o Options) (Change, error) {
	c := Change{Client: p.client, What: p.what, File: p.path}
	left := false
	before, after, err := p.apply(ctx, e, o, func(f userfile.Content) (userfile.Content, error) {
		first, err := userfile.Read(p.backup())
		if err != nil {
			return f, err
		}
		after, err := p.without(f, first)
		if err != nil {
			return f, err
		}
		left, err = p.any(after.Data)
		return after, err
	})
	if err != nil {
		return c, err
	}
	c.Did = Removed
	if before.Equal(after) {
		c.Did = Absent
	}
	if !left && !o.DryRun {
		if err := os.Remove(p.backup()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return c, err
		}
	}
	return p.finish(c, o, before, after), nil
}

// without is the file without the part: the text before us when only we
// changed it, else what it is now with our bytes taken out.
func (p part) without(f, first userfile.Content) (userfile.Content, error) {
	if has, err := p.has(f.Data); err != nil || !has {
		return f, err
	}
	if first.Exists {
		for _, approve := range []bool{false, true} {
			if text, err := p.add(first.Data, approve); err == nil && string(text) == string(f.Data) {
				return first, nil
			}
		}
	}
	text, err := p.drop(f.Data, first.Data)
	if err != nil {
		return f, err
	}
	// A file that was there before us stays, even with nothing in it.
	return userfile.Content{Data: text, Exists: first.Exists || len(text) > 0}, nil
}

func (p part) finish(c Change, o Options, before, after userfile.Content) Change {
	if _, err := os.Stat(p.backup()); err == nil {
		c.Backup = p.backup()
	}
	if o.DryRun && o.Draft == nil && !before.Equal(after) {
		c.Diff = string(diff.Diff(p.path, before.Data, p.path, after.Data))
	}
	return c
}

// lock keeps two installers apart. A dry run needs none.
func (e Env) lock(dry bool) (unlock func(), err error) {
	if dry {
		return func() {}, nil
	}
	dir := filepath.Join(e.PeermuxHome, "locks")
	if err := private.Dir(dir); err != nil {
		return nil, err
	}
	return private.Lock(filepath.Join(dir, "install"))
}

// each does one thing to every part, goes on after an error, and returns all
// that was done.
func (e Env) each(parts []part, o Options, do func(part) (Change, error)) ([]Change, error) {
	unlock, err := e.lock(o.DryRun)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var changes []Change
	var errs []error
	for _, p := range parts {
		c, err := do(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		changes = append(changes, c)
	}
	return changes, errors.Join(errs...)
}

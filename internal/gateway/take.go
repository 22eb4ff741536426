package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"peermux/internal/private"
	"peermux/internal/switchboard"
	"peermux/registry"
)

// Suffixes in in/.
const (
	takingSuffix = ".taking"
	seenSuffix   = ".seen.md"
	badSuffix    = ".bad.md"
	whySuffix    = ".why.txt"
)

// takeBatch is how many drops are taken under one hold of the door's lock.
const takeBatch = 64

// taken is what one round of taking came to.
type taken struct {
	count   int
	wake    bool
	urgency string // the greatest of those that were taken
	more    bool   // there are others
	full    bool   // the session's box takes no more until it has read its mail
}

// take takes what the app dropped for a session, oldest first. An error means that
// a drop could not be taken now; it stays and is tried again.
func (d *door) take(ctx context.Context, f folder, e registry.Entry) (taken, error) {
	var t taken
	drops, err := d.claim(f)
	if err != nil {
		return t, err
	}
	for _, id := range drops {
		if t.count == takeBatch || ctx.Err() != nil {
			t.more = true
			return t, nil
		}
		done, err := d.takeOne(ctx, f, e, id)
		if full, ok := errors.AsType[*switchboard.Error](err); ok && full.Code == switchboard.CodeRateLimited {
			t.full = true
			return t, d.putBack(f, id)
		}
		if err != nil {
			return t, errors.Join(err, d.putBack(f, id))
		}
		t.count++
		t.add(done)
	}
	return t, nil
}

func (t *taken) add(l Letter) {
	if l.Kind == Withdraw || l.Kind == "" || l.Urgency == "low" {
		return
	}
	t.wake = true
	if t.urgency != "high" {
		t.urgency = l.Urgency
	}
}

// claim lists the drops: first those that an earlier taker left half way.
func (d *door) claim(f folder) ([]string, error) {
	entries, err := os.ReadDir(f.in())
	if err != nil {
		return nil, err
	}
	var half, fresh []string
	for _, e := range entries {
		if id, ok := hidden(e.Name(), takingSuffix); ok {
			half = append(half, id)
		} else if id, ok := messageFile(e.Name()); ok {
			fresh = append(fresh, id)
		}
	}
	return append(half, fresh...), nil
}

func taking(f folder, id string) string { return f.in("." + id + takingSuffix) }

// takeOne takes one drop to its end: seen or bad. The name is taken from the app
// first, so that what is read is what gets the receipt.
func (d *door) takeOne(ctx context.Context, f folder, e registry.Entry, id string) (Letter, error) {
	path := taking(f, id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		err := os.Rename(f.in(id+".md"), path)
		if errors.Is(err, fs.ErrNotExist) {
			return Letter{}, nil // the app took it back, or it was taken in the same round
		}
		if err != nil {
			return Letter{}, err
		}
	} else if err != nil {
		return Letter{}, err
	}
	letter, why, err := d.read(f, id)
	if err != nil {
		return Letter{}, err
	}
	if why == "" {
		why, err = d.deliver(ctx, e, id, letter)
	}
	if err != nil {
		return Letter{}, err
	}
	if why != "" {
		return Letter{}, d.refuse(f, id, why)
	}
	return letter, os.Rename(path, f.in(id+seenSuffix))
}

// read reads a drop. why says what is wrong with it for good.
func (d *door) read(f folder, id string) (l Letter, why string, err error) {
	path := taking(f, id)
	size, err := private.Size(path)
	var data []byte
	if err == nil && size > maxFile {
		return l, fmt.Sprintf("the file has %d bytes, and %d is the limit for the front matter and the text; write the text to a file of its own and tell its path", size, maxFile), nil
	}
	if err == nil {
		data, err = private.ReadFile(path, maxFile)
	}
	switch {
	case errors.Is(err, private.ErrUnsafe):
		return l, "it is no plain file of yours: " + strings.TrimPrefix(err.Error(), path+": "), nil
	case errors.Is(err, fs.ErrPermission):
		return l, "it cannot be read: its mode does not let its owner", nil
	case err != nil:
		return l, "", err
	}
	if l, err = Parse(data); err != nil {
		return l, err.Error(), nil
	}
	receipt, err := os.Lstat(f.in(id + seenSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return l, "", nil
	}
	if err != nil {
		return l, "", err
	}
	if receipt.IsDir() {
		return l, "a folder is in the way of its receipt, " + id + seenSuffix, nil
	}
	if old, err := private.ReadFile(f.in(id+seenSuffix), maxFile); err != nil || string(old) != string(data) {
		return l, "a message with this ULID was taken before, and its text differs; drop this one under a new ULID", nil
	}
	return l, "", nil
}

// deliver hands a letter to the session's box. why is a refusal for good.
func (d *door) deliver(ctx context.Context, e registry.Entry, id string, l Letter) (why string, err error) {
	if l.Kind == Withdraw {
		err = d.board.WithdrawForApp(d.actor, e, id, l.ReplyTo, l.Body)
	} else {
		err = d.board.Deliver(ctx, d.actor, e, switchboard.AppMail{
			ID: id, Ask: l.Kind == Ask, Subject: l.Subject, Body: l.Body, Urgency: l.Urgency, ReplyTo: l.ReplyTo,
		})
	}
	if err == nil {
		return "", nil
	}
	refusal, ok := errors.AsType[*switchboard.Error](err)
	if !ok || refusal.Code == switchboard.CodeStorageError || refusal.Code == switchboard.CodeRateLimited {
		return "", err
	}
	return refusal.Message, nil
}

// refuse sets a drop aside. The reason is there before the name that says so.
func (d *door) refuse(f folder, id, why string) error {
	base, err := free(f.in(), id)
	if err != nil {
		return err
	}
	if err := private.WriteFile(f.in(base+whySuffix), []byte(why+"\n")); err != nil {
		return err
	}
	return os.Rename(taking(f, id), f.in(base+badSuffix))
}

// free is a base name under which nothing was set aside yet. A reason without its
// file was written by somebody who died, and is written again.
func free(dir, id string) (string, error) {
	base := id
	for n := 2; ; n++ {
		bad, err := os.Lstat(filepath.Join(dir, base+badSuffix))
		why, whyErr := os.Lstat(filepath.Join(dir, base+whySuffix))
		if errors.Is(err, fs.ErrNotExist) && (whyErr != nil || !why.IsDir()) {
			return base, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if n > 99 {
			return "", fmt.Errorf("%s: too many files like %s; remove those that you have seen", dir, bad.Name())
		}
		base = fmt.Sprintf("%s-%d", id, n)
	}
}

// putBack gives a drop its name back when it could not be taken now. If the app has
// dropped another one under that name, or nothing can be linked on this disk, it
// stays as it is: the next round goes on with it.
func (d *door) putBack(f folder, id string) error {
	err := os.Link(taking(f, id), f.in(id+".md"))
	if err != nil {
		return nil
	}
	return os.Remove(taking(f, id))
}

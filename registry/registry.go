// Package registry knows who is alive: one entry per running MCP server, the
// word that hooks last wrote about each session, and what hooks reported about
// themselves. From the entries it chooses names, resolves targets and decides
// whether mail follows a session to a new id.
//
// Files, all under the peermux home, readable by their owner only:
//
//	sessions/<pid>.json   an [Entry], written by the MCP server with that pid
//	status/<box key>      one word, written by hooks; its modification time is
//	                      the time of the event it speaks of
//	drops/<box key>.json  a [Drop], written by hooks
//	ended/<box key>.json  the last entry of a session that has ended, moved here by
//	                      whoever removes it; for 30 days
//
// Entries and drops are replaced by rename, so a reader sees the old file or the
// new one, and a crash leaves a temporary file at most. An entry speaks for a
// process, not for mail: removing one never touches a box.
//
// An entry is alive while its process has the recorded start time on the recorded
// boot, and so has its client. The dead are removed by [Registry.Live], under a
// lock and after a second look, so that a new process with a reused pid keeps
// its entry. [Registry.Peek] removes nothing.
package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"peermux/internal/private"
)

// Registry reads and writes the files of one peermux home. Its methods may be
// called by any number of goroutines and processes at once.
type Registry struct {
	home string
	now  func() time.Time
	// here names this machine and its boot, which tell our entries from those of
	// others that share the home. It is found out at the first question: a hook
	// seldom asks.
	here func() (host, boot string)
}

// ErrInvalid marks an entry, a drop or a status that was refused as malformed.
var ErrInvalid = errors.New("malformed registry record")

const lockName = "registry.lock"

// lock takes the kernel lock under which entries are written and removed.
func (r *Registry) lock() (unlock func(), err error) {
	dir, err := r.dir("locks")
	if err != nil {
		return nil, err
	}
	return private.Lock(filepath.Join(dir, lockName))
}

// dir returns a folder of the home, made if missing.
func (r *Registry) dir(name string) (string, error) {
	if err := private.Dir(r.home); err != nil {
		return "", err
	}
	dir := filepath.Join(r.home, name)
	return dir, private.Dir(dir)
}

// names lists the files in a folder of the home; a missing folder has none.
func (r *Registry) names(dir string) ([]string, error) {
	f, err := os.Open(filepath.Join(r.home, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Home is the folder this registry lives in.
func (r *Registry) Home() string { return r.home }

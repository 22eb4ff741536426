package switchboard

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"peermux/internal/proc"
	"peermux/internal/project"
	"peermux/mailbox"
	"peermux/registry"
)

// Guest is a program that does not speak to peermux itself: peermux run hosts it
// and keeps its entry.
type Guest struct {
	Name    string  // "" takes the client's or the project's
	Kind    string  // name of the program
	Host    proc.ID // the host's process
	Program proc.ID
	Socket  string // of the host
}

// RegisterGuest enters a hosted program among the live sessions. It has no session
// id: its box is that of its host's process, and ends with it.
func (b *Board) RegisterGuest(g Guest) (registry.Entry, error) {
	dir, err := os.Getwd()
	if err != nil {
		return registry.Entry{}, storage(err)
	}
	now := b.Now().UTC()
	e := registry.Entry{
		PID: g.Host.PID, Start: g.Host.Start,
		Client: registry.Client{Kind: g.Kind, PID: g.Program.PID, Start: g.Program.Start, Mode: registry.Interactive},
		Box:    mailbox.PendingKey(g.Host.PID, g.Host.Start),
		CWD:    dir, Project: dir, StartedAt: now, SeenAt: now,
		Host: &registry.PTYHost{Socket: g.Socket},
	}
	if place, err := project.At(dir); err == nil {
		e.Project, e.Branch = place.Root, place.Branch
		if groups, err := project.LoadGroups(b.Home); err == nil {
			e.Group = groups.Of(place.Root)
		}
	}
	return b.Register(e, g.Name)
}

// TendGuest does what an MCP server does for other sessions: it takes up wakes that
// were held, until ctx ends.
func (b *Board) TendGuest(ctx context.Context, e registry.Entry) {
	wanted, stop := b.Watch.File(filepath.Join(b.Home, "wake", e.Box+".json"))
	defer stop()
	for {
		_, again := b.Waker.Retry(ctx, e)
		if again <= 0 {
			again = time.Hour // nothing is wanted; a change of the record says when
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-wanted:
		case <-timer.C:
		}
		timer.Stop()
	}
}

package switchboard

import (
	"sync/atomic"

	"peermux/mailbox"
	"peermux/registry"
)

// Needs counts what a person may want to look after.
type Needs struct {
	OK      bool `json:"ok"`
	Waiting int  `json:"waiting"` // sessions that wait for their user
	Mail    int  `json:"mail"`    // unread mail for the person
	Held    int  `json:"held"`    // wakes that are held back
}

// Needs looks at nothing else than what it counts: a status line asks every second.
func (b *Board) Needs() (Needs, error) {
	live, err := b.Registry.Peek()
	if err != nil {
		return Needs{}, storage(err)
	}
	var waiting, held atomic.Int64
	share(len(live), func(i int) {
		if live[i].Listed() && b.StatusOf(live[i]).Word == registry.Waiting {
			waiting.Add(1)
		}
		if _, _, ok := b.Waker.Held(live[i].Box); ok {
			held.Add(1)
		}
	})
	mail, err := b.Store.Pending(mailbox.UserKey(""))
	if err != nil {
		return Needs{}, storage(err)
	}
	return Needs{OK: true, Waiting: int(waiting.Load()), Mail: mail, Held: int(held.Load())}, nil
}

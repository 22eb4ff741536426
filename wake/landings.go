package wake

import "time"

// Landing is one wake that reached a client.
type Landing struct {
	At   time.Time
	From string // box of the sender it was for, if any
}

// Landings lists the wakes of the last hour that reached the session of a box,
// oldest first. It changes nothing.
func (w *Waker) Landings(boxKey string) []Landing {
	rec, err := w.load(boxKey)
	if err != nil {
		return nil
	}
	var list []Landing
	for _, l := range rec.Landed {
		list = append(list, Landing(l))
	}
	return list
}

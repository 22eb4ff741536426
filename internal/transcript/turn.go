package transcript

import (
	"context"
	"errors"
	"io"
	"time"
)

// How far back LastTurn looks: a little first, since a turn that is over has ended
// there. A turn that has written more since it began is not recognised.
const (
	turnNear  = 64 << 10
	turnReach = 4 << 20
)

// TurnMark is where a Codex thread stands.
type TurnMark struct {
	Running bool
	At      time.Time // when the last turn began or, if it is over, ended
}

// LastTurn reads from the end of a Codex rollout whether a turn is under way.
// Codex writes when a turn begins and, within a tenth of a second, when it is over,
// also when it was interrupted or the model failed (0.171.0, with the daemon or
// without). ok is false where the file does not tell: before the first turn, and
// in versions that write nothing of the kind. A turn whose process was killed
// stays under way.
func LastTurn(ctx context.Context, file string) (mark TurnMark, ok bool, err error) {
	f, err := openInside(file, "")
	if err != nil {
		return TurnMark{}, false, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return TurnMark{}, false, err
	}
	for near := int64(turnNear); ; near *= 8 {
		mark, ok, err := lastTurn(ctx, f, max(info.Size()-near, 0), info.Size())
		if ok || err != nil || near >= min(info.Size(), turnReach) {
			return mark, ok, err
		}
	}
}

// lastTurn looks at what stands between two offsets.
func lastTurn(ctx context.Context, r io.ReaderAt, from, to int64) (mark TurnMark, ok bool, err error) {
	lines := newBackward(io.NewSectionReader(r, from, to-from), to-from)
	for {
		l, err := lines.next(ctx)
		if errors.Is(err, io.EOF) || err == nil && l.start == 0 && from > 0 { // the rest of a line
			return TurnMark{}, false, nil
		}
		if err != nil {
			return TurnMark{}, false, err
		}
		if mark, ok := turnMark(l.data); ok && !l.torn {
			return mark, true, nil
		}
	}
}

// turnMark reads a line that says that a turn began or ended.
func turnMark(line []byte) (mark TurnMark, ok bool) {
	var l codexLine
	if !members(line, l.set) || l.typ != "event_msg" || l.at.IsZero() {
		return TurnMark{}, false
	}
	mark.At = l.at
	members(l.payload, func(key, value []byte) bool {
		if string(key) != "type" {
			return true
		}
		switch text(value) {
		case "task_started":
			mark.Running, ok = true, true
		case "task_complete", "turn_aborted":
			ok = true
		}
		return false
	})
	return mark, ok
}

package switchboard

import (
	"context"
	"errors"
	"path/filepath"

	"peermux/internal/transcript"
	"peermux/registry"
)

// errSessionEnded ends following a session whose client is gone.
var errSessionEnded = errors.New("the session ended")

// Follow shows what is added to a conversation as it comes, from the offset that
// a read ended at. When the session's client turns to another conversation
// (/clear, /new, going back), that one is followed. It returns nil when the
// session's client ended, and otherwise the error of ctx or of show. A past
// conversation is followed until ctx ends: somebody may resume it.
func (b *Board) Follow(ctx context.Context, w Words, from int64, r ReadSessionRequest, show func(transcript.Turn) error) error {
	f := follower{board: b, words: w}
	f.watch(w.File)
	registryEvents, stop := b.Watch.Dir(filepath.Join(b.Home, "sessions"))
	defer func() {
		stop()
		f.stop()
	}()
	f.registry = registryEvents
	err := transcript.Follow(ctx, transcript.Following{
		File: w.File, From: from, Wait: f.wait, Show: show, Moved: f.moved,
	}, transcript.Options{
		Client: w.Client, SessionID: w.SessionID, Root: w.Root, MaxBytes: r.MaxBytes, Sidechains: r.Subagents, Unmasked: r.Unmasked,
	})
	if errors.Is(err, errSessionEnded) {
		return nil
	}
	return err
}

// follower waits for a transcript to grow or to be left for another.
type follower struct {
	board    *Board
	words    Words
	files    <-chan struct{} // of the transcript's folder
	stop     func()
	registry <-chan struct{}
	ended    bool
}

// watch subscribes to the folder of a transcript: the file itself may not be
// there yet, and Codex begins another one beside it when the user goes back.
func (f *follower) watch(file string) {
	if f.stop != nil {
		f.stop()
	}
	f.files, f.stop = f.board.Watch.Dir(filepath.Dir(file))
}

// wait returns when something may have changed. After the session's end there is
// one more look, for what its client wrote last.
func (f *follower) wait(ctx context.Context) error {
	if f.ended {
		return errSessionEnded
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.files:
	case <-f.registry:
	}
	return nil
}

// moved says in which file the conversation of the session goes on.
func (f *follower) moved(context.Context) (string, bool) {
	file := f.words.File
	if f.words.Live {
		e, ok := f.entry()
		f.ended = !ok
		if ok && e.Transcript != "" {
			file = e.Transcript
		}
	}
	file = transcript.Current(file)
	if file != f.words.File {
		f.words.File = file
		f.watch(file)
	}
	return file, true
}

// entry is the live session of the same client process, whatever its id is now.
func (f *follower) entry() (registry.Entry, bool) {
	live, err := f.board.peek()
	if err != nil {
		return registry.Entry{}, true // not readable is not ended
	}
	for _, e := range live {
		if e.Client.PID == f.words.client.PID && e.Client.Start == f.words.client.Start {
			return e, true
		}
	}
	return registry.Entry{}, false
}

package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	defaultLimit    = 20
	defaultMaxBytes = 24 << 10
	// maxScan ends the search for older turns in files whose end is all
	// bookkeeping; at 1 GB/s that is 60 ms. Who asks for megabytes gets 16 times
	// as much searched.
	maxScan = 64 << 20
	// maxSpare bounds the text that is gathered beyond what will be shown: some
	// of it may turn out to be taken back.
	maxSpare = 4 << 20
	// maxRewind ends the search for the point that the user went back to.
	maxRewind = 8 << 20
	// maxForks ends a chain of threads that were forked from one another.
	maxForks = 16
)

// ReadTail reads the newest turns of a conversation, from the end of the file
// and in bounded memory, whatever the file's size. At most o.Limit turns and
// o.MaxBytes bytes of them as JSON are returned; the newest are served first,
// the oldest that does not fit is shortened.
//
// A file that does not exist gives an error that is fs.ErrNotExist (Claude and
// Codex write it with the first prompt); one that leads out of o.Root, or is no
// regular file of this user, gives ErrOutside. A file that is replaced while it
// is read is read again.
//
// Of a Codex thread the file in which it goes on is read, whichever of its files
// was named.
func ReadTail(ctx context.Context, file string, o Options) (Tail, error) {
	o = o.withDefaults(file)
	if o.Client == Codex {
		file = Current(file)
	}
	t, err := readStable(ctx, file, o)
	if err == nil && o.Client == Claude && !isSubagentFile(file) {
		err = addSubagents(ctx, &t, o)
	}
	return t, err
}

// Current returns the file in which the conversation of a transcript goes on. It
// is another one only for a Codex thread in which the user went back.
func Current(file string) string {
	if r, ok := parseRollout(file); ok {
		if newest, ok := CodexPath(codexHomeOf(file), r.thread); ok {
			return newest
		}
	}
	return file
}

// readStable reads a file again when it changed under the reader.
func readStable(ctx context.Context, file string, o Options) (Tail, error) {
	for try := 1; ; try++ {
		t, replaced, err := readOnce(ctx, file, o)
		if !replaced {
			return t, err
		}
		if try == 3 {
			return t, fmt.Errorf("%s changes faster than it can be read: try again", file)
		}
	}
}

func (o Options) withDefaults(file string) Options {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Client == "" {
		o.Client = ClientOf(file)
	}
	return o
}

// readOnce reads the file as it is now, and reports whether it became another
// file or shorter meanwhile.
func readOnce(ctx context.Context, file string, o Options) (t Tail, replaced bool, err error) {
	f, err := openInside(file, o.Root)
	if err != nil {
		return Tail{}, false, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return Tail{}, false, err
	}
	g := newGatherer(f, file, info.Size(), o)
	defer g.close()
	t, err = g.tail(ctx)
	t.Size, t.ModTime, t.End = info.Size(), info.ModTime(), info.Size()-g.torn
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return t, true, err
	}
	if now, statErr := os.Stat(file); err == nil && (statErr != nil || !os.SameFile(info, now)) {
		return t, true, statErr
	}
	return t, false, err
}

// gatherer collects events from the end of a file, and from the files that it
// was forked from.
type gatherer struct {
	o       Options
	file    string
	session string
	src     io.ReaderAt
	lines   *backward
	dec     decoder
	skipped skipped
	events  []event // newest first
	count   counter
	text    int // bytes of text in events
	scanned int64
	older   bool  // there is more before what was gathered
	capped  bool  // maxScan ended the search
	torn    int64 // bytes after the last newline
	bases   []*os.File
	forkOf  string
}

func newGatherer(f io.ReaderAt, file string, size int64, o Options) *gatherer {
	g := &gatherer{o: o, file: file, src: f, lines: newBackward(f, size), count: counter{groups: map[string]bool{}}}
	g.session = sessionOf(file)
	if o.SessionID != "" && o.Client == Claude {
		g.session = o.SessionID
	}
	g.dec = o.decoder(file, &g.skipped)
	return g
}

// decoder returns the decoder for a file. A subagent's own file holds nothing
// but its sidechain, under the session id of its parent.
func (o Options) decoder(file string, sk *skipped) decoder {
	if o.Client == Codex {
		return &codexDecoder{skipped: sk}
	}
	session := o.SessionID
	if session == "" {
		session = sessionOf(file)
	}
	return &claudeDecoder{session: session, sidechains: o.Sidechains || isSubagentFile(file), skipped: sk}
}

func (g *gatherer) close() {
	for _, f := range g.bases {
		f.Close() // only read
	}
}

// tail gathers turns and fits them into the budget.
func (g *gatherer) tail(ctx context.Context) (Tail, error) {
	t := Tail{File: g.file, Client: g.o.Client, SessionID: g.session}
	if g.o.Client == Codex && g.o.SessionID != "" && g.session != "" && g.o.SessionID != g.session {
		return t, fmt.Errorf("%s is the transcript of thread %s, not of %s", g.file, g.session, g.o.SessionID)
	}
	got, err := g.assembly(ctx)
	if err != nil {
		return t, err
	}
	turns := got.turns
	g.skipped.rewound = got.rewound
	t.LastComplete = got.ended && g.skipped.torn == 0
	t.Truncated = g.older || len(turns) > g.o.Limit
	t.Turns = turns[max(0, len(turns)-g.o.Limit):]
	if t.Truncated && len(turns) <= g.o.Limit {
		t.Turns = withoutStart(t.Turns)
	}
	t.LastAt = lastAt(g.events)
	if !g.o.Now.IsZero() && !t.LastAt.IsZero() {
		t.Age = max(0, g.o.Now.Sub(t.LastAt))
	}
	t.ForkOf = g.forkOf
	fitAll(&t, g.o.MaxBytes)
	t.Omitted = append(t.Omitted, g.skipped.notes(g)...)
	return t, nil
}

// assembly reads until there are more turns than asked for, not counting what
// the user took back.
func (g *gatherer) assembly(ctx context.Context) (assembly, error) {
	for want := g.o.Limit + 1; ; {
		more, err := g.gather(ctx, want)
		if err != nil {
			return assembly{}, err
		}
		events := slices.Clone(g.events)
		slices.Reverse(events)
		got := assemble(events)
		enough := len(got.turns) > g.o.Limit && (!got.cut || g.scanned > maxRewind)
		if !more || enough {
			return got, nil
		}
		want = 2*g.count.n + 1 // so that the whole stays linear
	}
}

// withoutStart drops results at the start of a window whose calls lie before it.
func withoutStart(turns []Turn) []Turn {
	for len(turns) > 0 && turns[0].Role == RoleTool {
		turns = turns[1:]
	}
	return turns
}

func lastAt(newestFirst []event) time.Time {
	for _, e := range newestFirst {
		if !e.at.IsZero() {
			return e.at
		}
	}
	return time.Time{}
}

// gather reads lines until the events make want turns, and reports whether it
// could read on: the start was not reached and no limit was met.
func (g *gatherer) gather(ctx context.Context, want int) (more bool, err error) {
	for g.count.n < want {
		g.capped = g.scanned > max(maxScan, 16*int64(g.o.MaxBytes))
		if g.capped || g.text > min(4*g.o.MaxBytes, g.o.MaxBytes+maxSpare) {
			g.older = true
			return false, nil
		}
		l, err := g.lines.next(ctx)
		if err == io.EOF {
			if err := g.base(ctx); err == io.EOF {
				return false, nil
			} else if err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		g.scanned += l.size
		if l.torn && len(g.bases) == 0 {
			g.torn = l.size
		}
		if err := g.line(ctx, l); err != nil {
			return false, err
		}
	}
	return true, nil
}

// line decodes a line and keeps what it says, cut to size.
func (g *gatherer) line(ctx context.Context, l line) error {
	data, err := lineData(ctx, g.src, l)
	switch {
	case errors.Is(err, errTooWide):
		g.skipped.long++
		return nil
	case err != nil:
		return err
	case len(data) == 0:
		return nil
	}
	events, ok := g.dec.decode(data)
	switch {
	case !ok && l.torn:
		g.skipped.torn++
		return nil
	case !ok:
		g.skipped.broken++
		return nil
	}
	for i := len(events) - 1; i >= 0; i-- {
		e := g.o.prepare(events[i])
		g.text += len(e.text)
		g.count.add(e)
		g.events = append(g.events, e)
	}
	return nil
}

// base goes on in the file that this one builds upon. Codex 0.171 writes only
// what is new into the file of a fork, or of a thread in which the user went
// back, and says where the old part ends.
func (g *gatherer) base(ctx context.Context) error {
	if g.o.Client != Codex || len(g.bases) == maxForks {
		return io.EOF
	}
	base, ok := readBase(ctx, g.src)
	if !ok {
		return io.EOF
	}
	file, ok := codexBase(codexHomeOf(g.file), base.ID)
	if !ok {
		return io.EOF
	}
	f, err := openInside(file, g.o.Root)
	if err != nil {
		return io.EOF // gone meanwhile: what was read so far is still right
	}
	g.bases = append(g.bases, f)
	info, err := f.Stat()
	if err != nil || base.EndByteOffset > info.Size() {
		return io.EOF
	}
	if g.forkOf == "" {
		g.forkOf = base.forkOf
	}
	if base.forkOf == "" {
		g.skipped.takenBack += info.Size() - base.EndByteOffset
	}
	g.src, g.lines = f, newBackward(f, base.EndByteOffset)
	return nil
}

// counter counts how many turns events make that come newest first.
type counter struct {
	n      int
	groups map[string]bool
	answer bool // the event before was a word of the model without a group
}

func (c *counter) add(e event) {
	switch e.kind {
	case kindPrompt:
		c.n++
		c.answer = false
	case kindSay, kindCall:
		if e.group == "" && !c.answer || e.group != "" && !c.groups[e.agent+e.group] {
			c.n++
		}
		if e.group != "" {
			c.groups[e.agent+e.group] = true
		}
		c.answer = e.group == ""
	case kindResult, kindBreak, kindStart, kindEnd:
		c.answer = false
	}
}

// ClientOf tells the client by a transcript's name.
func ClientOf(file string) string {
	if matched, _ := filepath.Match("rollout-*.jsonl", filepath.Base(file)); matched { // the pattern is well formed
		return Codex
	}
	return Claude
}

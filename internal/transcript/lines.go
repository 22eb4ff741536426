package transcript

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	chunkSize = 256 << 10 // bytes read at a time
	// maxLine is the longest line that is held in memory; longer ones are
	// shrunk (see shrink). Claude 2.1.328 writes lines of 60 KB for its own
	// bookkeeping; images and file dumps make lines of tens of megabytes.
	maxLine = 1 << 20
)

// line is one line of a transcript, without its newline.
type line struct {
	data  []byte // valid until the next call; nil when the line is longer than maxLine
	start int64  // offset in the file
	size  int64
	torn  bool // the last line, and no newline ends it
}

// backward reads a file line by line from its end, in bounded memory.
type backward struct {
	r    io.ReaderAt
	buf  []byte // chunkSize + maxLine bytes, less for a small file; filled from its end
	lo   int    // buf[lo:hi] is what was read and not yet returned
	hi   int
	base int64 // offset in the file of buf[lo]
	last bool  // the last line was not returned yet
}

// newBackward starts at the given size; what is appended later is not seen.
func newBackward(r io.ReaderAt, size int64) *backward {
	n := int(min(chunkSize+maxLine, size))
	return &backward{r: r, buf: make([]byte, n), lo: n, hi: n, base: size, last: true}
}

// next returns the line before the one returned last, io.EOF at the start of
// the file, and io.ErrUnexpectedEOF when the file has become shorter. Empty
// lines are returned too.
func (b *backward) next(ctx context.Context) (line, error) {
	if b.last {
		return b.lastLine(ctx)
	}
	if b.lo == b.hi && b.base == 0 {
		return line{}, io.EOF
	}
	for {
		if i := bytes.LastIndexByte(b.buf[b.lo:b.hi], '\n'); i >= 0 {
			return b.take(b.lo + i + 1), nil
		}
		switch {
		case b.base == 0:
			return b.take(b.lo), nil
		case b.hi-b.lo > maxLine:
			return b.long(ctx)
		}
		if err := b.fill(ctx); err != nil {
			return line{}, err
		}
	}
}

// lastLine returns what follows the last newline, unless nothing does.
func (b *backward) lastLine(ctx context.Context) (line, error) {
	b.last = false
	if b.base == 0 {
		return line{}, io.EOF
	}
	if err := b.fill(ctx); err != nil {
		return line{}, err
	}
	if b.buf[b.hi-1] == '\n' {
		b.hi--
		return b.next(ctx)
	}
	l, err := b.next(ctx)
	l.torn = true
	return l, err
}

// take returns buf[from:hi] as a line and drops the newline before it.
func (b *backward) take(from int) line {
	l := line{data: b.buf[from:b.hi], start: b.base + int64(from-b.lo), size: int64(b.hi - from)}
	b.hi = max(from-1, b.lo)
	return l
}

// long finds the start of a line that does not fit into memory, keeping nothing.
func (b *backward) long(ctx context.Context) (line, error) {
	end := b.base + int64(b.hi-b.lo)
	for {
		b.lo, b.hi = len(b.buf), len(b.buf)
		if b.base == 0 {
			return line{start: 0, size: end}, nil
		}
		if err := b.fill(ctx); err != nil {
			return line{}, err
		}
		if i := bytes.LastIndexByte(b.buf[b.lo:b.hi], '\n'); i >= 0 {
			start := b.base + int64(i) + 1
			b.hi = b.lo + i
			return line{start: start, size: end - start}, nil
		}
	}
}

// fill reads the chunk before buf[lo].
func (b *backward) fill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := int(min(chunkSize, b.base))
	if b.lo < n {
		kept := copy(b.buf[len(b.buf)-(b.hi-b.lo):], b.buf[b.lo:b.hi])
		b.lo, b.hi = len(b.buf)-kept, len(b.buf)
	}
	if _, err := b.r.ReadAt(b.buf[b.lo-n:b.lo], b.base-int64(n)); err != nil {
		if err == io.EOF { // the file was truncated under us
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	b.lo -= n
	b.base -= int64(n)
	return nil
}

// forward reads whole lines from off on and hands them over in pieces of many
// lines; a line too long to hold is handed over by its offset. It returns where
// the next line begins. Unless last is set, a line without a newline at the end
// of the file is left for later: it is still being written.
type forward struct {
	r     io.ReaderAt
	last  bool
	lines func(piece []byte) error
	long  func(line *lineReader) error
	buf   []byte // forwardBuf bytes to work in; nil: new ones
}

const forwardBuf = 2 * maxLine

func (f forward) read(ctx context.Context, off int64) (next int64, err error) {
	buf := f.buf
	if buf == nil {
		buf = make([]byte, forwardBuf)
	}
	have := 0 // buf[:have] stands at off in the file
	for {
		if err := ctx.Err(); err != nil {
			return off, err
		}
		n, err := f.r.ReadAt(buf[have:], off+int64(have))
		have += n
		if err != nil && err != io.EOF {
			return off, err
		}
		end := bytes.LastIndexByte(buf[:have], '\n') + 1
		switch {
		case end == 0 && have == len(buf):
			line := &lineReader{r: f.r, off: off}
			if err := f.long(line); err != nil || !line.whole {
				return off, err
			}
			off, have = line.off, 0
			continue
		case err == io.EOF && f.last:
			end = have
		}
		if err := f.lines(buf[:end]); err != nil {
			return off, err
		}
		off += int64(end)
		if err == io.EOF {
			return off, nil
		}
		have = copy(buf, buf[end:have])
	}
}

// shrunk reads a long line to its end; nil when it has too many fields to hold.
func shrunk(ctx context.Context, l *lineReader) ([]byte, error) {
	data, err := shrink(ctx, l)
	if !errors.Is(err, errTooWide) {
		return data, err
	}
	_, err = io.Copy(io.Discard, l)
	return nil, err
}

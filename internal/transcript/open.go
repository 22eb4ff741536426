package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrOutside reports a file that must not be read: it leads out of its client's
// folder, is no regular file, or belongs to another user.
var ErrOutside = errors.New("not a transcript of this user")

// openInside opens file for reading. With a root it must lie below it after all
// links are followed; the operating system checks that while it opens, so no
// link can be swapped in between.
func openInside(file, root string) (*os.File, error) {
	f, err := openBelow(file, root)
	if err != nil {
		return nil, err
	}
	return checked(f, file)
}

// checked returns f, or closes it when it must not be read.
func checked(f *os.File, file string) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w: not a regular file", file, ErrOutside)
	}
	if st, ok := statOf(info); err == nil && ok && int(st.Uid) != os.Getuid() && os.Getuid() != 0 {
		err = fmt.Errorf("%s: %w: it belongs to user %d", file, ErrOutside, st.Uid)
	}
	if err != nil {
		f.Close() // only read
		return nil, err
	}
	return f, nil
}

func statOf(info os.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}

// openFlags: without O_NONBLOCK the open of a named pipe would wait for a writer.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

func openBelow(file, root string) (*os.File, error) {
	if root == "" {
		return os.OpenFile(file, openFlags, 0)
	}
	rel, ok := relative(root, file)
	if !ok {
		return nil, fmt.Errorf("%s: %w: it is not below %s", file, ErrOutside, root)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read
	f, err := dir.OpenFile(rel, openFlags, 0)
	if err != nil && strings.Contains(err.Error(), "escapes") { // os.Root has no sentinel for it
		return nil, fmt.Errorf("%s: %w: a link leads out of %s", file, ErrOutside, root)
	}
	return f, err
}

// folder is a directory below a client's folder, opened once for many files.
type folder struct {
	path string
	root *os.Root
}

func openFolder(dir, root string) (folder, error) {
	rel, ok := relative(root, filepath.Join(dir, "x"))
	if !ok {
		return folder{}, fmt.Errorf("%s: %w: it is not below %s", dir, ErrOutside, root)
	}
	whole, err := os.OpenRoot(root)
	if err != nil {
		return folder{}, err
	}
	defer whole.Close() // only read
	opened, err := whole.OpenRoot(filepath.Dir(rel))
	return folder{path: dir, root: opened}, err
}

// open opens a file of the folder, given below it.
func (f folder) open(name string) (*os.File, error) {
	file, err := f.root.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, err
	}
	return checked(file, filepath.Join(f.path, name))
}

func (f folder) close() {
	if f.root != nil {
		f.root.Close() // only read
	}
}

// relative returns file as seen from root. When one of the two was resolved and
// the other was not (/tmp and /private/tmp on macOS), both are.
func relative(root, file string) (string, bool) {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return rel, true
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	realDir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(realRoot, filepath.Join(realDir, filepath.Base(file)))
	return rel, err == nil && filepath.IsLocal(rel)
}

// lineData returns a line's bytes without the NULs that a lost write leaves; an
// overlong line is shrunk.
func lineData(ctx context.Context, r io.ReaderAt, l line) ([]byte, error) {
	if l.data == nil && l.size > 0 {
		data, err := shrink(ctx, io.NewSectionReader(r, l.start, l.size))
		return bytes.Trim(data, "\x00 \t\r"), err
	}
	return bytes.Trim(l.data, "\x00 \t\r"), nil
}

// firstLine returns the first line of a file; Codex's holds the instructions of
// the model and has 22 KB, so there is no small limit.
func firstLine(ctx context.Context, r io.ReaderAt) ([]byte, error) {
	buf := make([]byte, 0, 32<<10)
	for len(buf) <= maxLine {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.ReadAt(buf[len(buf):cap(buf)], int64(len(buf)))
		if i := bytes.IndexByte(buf[len(buf):len(buf)+n], '\n'); i >= 0 {
			return buf[:len(buf)+i], nil
		}
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, ignoreEOF(err)
		}
		grown := make([]byte, len(buf), 2*cap(buf))
		copy(grown, buf)
		buf = grown
	}
	return shrink(ctx, &lineReader{r: r})
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// lineReader reads the line that begins at off, without its newline.
type lineReader struct {
	r     io.ReaderAt
	off   int64 // of what is read next; after the newline once that was met
	whole bool  // the newline was met
}

func (l *lineReader) Read(p []byte) (int, error) {
	if l.whole {
		return 0, io.EOF
	}
	n, err := l.r.ReadAt(p, l.off)
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		l.off += int64(i) + 1
		l.whole = true
		return i, nil
	}
	l.off += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// historyBase is where Codex says that the older part of a conversation stands.
type historyBase struct {
	ID            string `json:"thread_id"` // of a thread, or of a segment of one
	EndByteOffset int64  `json:"end_byte_offset"`
	forkOf        string // the other thread, when this one is a fork
}

func readBase(ctx context.Context, r io.ReaderAt) (historyBase, bool) {
	head, err := firstLine(ctx, r)
	if err != nil {
		return historyBase{}, false
	}
	var l codexLine
	if !members(head, l.set) || l.typ != "session_meta" {
		return historyBase{}, false
	}
	var base historyBase
	forkOf := ""
	members(l.payload, func(key, value []byte) bool {
		switch string(key) {
		case "history_base":
			if decode(value, &base) != nil {
				base = historyBase{}
			}
		case "forked_from_id":
			forkOf = text(value)
		}
		return true
	})
	base.forkOf = forkOf
	return base, base.ID != "" && base.EndByteOffset > 0
}

// sessionOf reads the session id off a transcript's name; "" when it holds none.
func sessionOf(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	if isSubagentFile(file) {
		return filepath.Base(filepath.Dir(filepath.Dir(file)))
	}
	if r, ok := parseRollout(file); ok {
		return r.thread
	}
	if len(name) != len("00000000-0000-0000-0000-000000000000") {
		return "" // a copy under another name
	}
	return name
}

// isSubagentFile reports whether a Claude transcript is a subagent's:
// <session id>/subagents/agent-<id>.jsonl.
func isSubagentFile(file string) bool {
	return filepath.Base(filepath.Dir(file)) == "subagents" && strings.HasPrefix(filepath.Base(file), "agent-")
}

// ClientFolder returns the folder of the client that a transcript lies in: the
// Claude config folder, or the Codex home.
func ClientFolder(file string) string {
	if ClientOf(file) == Codex {
		return codexHomeOf(file)
	}
	dir := filepath.Dir(file)
	if isSubagentFile(file) {
		dir = filepath.Dir(filepath.Dir(dir))
	}
	return filepath.Dir(filepath.Dir(dir)) // projects/<encoded cwd>
}

// codexHomeOf returns the Codex home that a rollout file lies in.
func codexHomeOf(file string) string {
	dir := filepath.Dir(file)
	if filepath.Base(dir) == "archived_sessions" {
		return filepath.Dir(dir)
	}
	for range 4 { // sessions/YYYY/MM/DD
		dir = filepath.Dir(dir)
	}
	return dir
}

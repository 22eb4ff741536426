package transcript

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"peermux/internal/frame"
)

const (
	headSize  = 8 << 10
	tailSize  = 8 << 10
	deepHead  = 128 << 10 // read when the first prompt is not in the head
	countSize = 64 << 10  // searched for the client's own count of turns
	wholeSize = 128 << 10 // files up to this size are read whole
	titleLen  = 120       // characters
)

// describe fills a list's row from the head and the tail of a file; nil when
// the file is no conversation of the project.
func (o ListOptions) describe(ctx context.Context, file string, names map[string]string) *Conversation {
	if ctx.Err() != nil {
		return nil
	}
	client, root := ClientOf(file), o.ClaudeDir
	if client == Codex {
		root = o.CodexHome
	}
	f, err := openInside(file, root)
	if err != nil {
		return nil // removed meanwhile, or not to be read
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil
	}
	d := describer{
		c:    Conversation{Client: client, SessionID: sessionOf(file), File: file, Size: info.Size()},
		file: f, within: o.within,
	}
	if client == Codex {
		d.dec = &codexDecoder{skipped: &d.skipped}
		d.c.Title = frame.Line(names[d.c.SessionID], titleLen)
	} else {
		d.dec = &claudeDecoder{session: d.c.SessionID, skipped: &d.skipped}
	}
	if !d.read() {
		return nil
	}
	if d.c.LastAt.IsZero() {
		d.c.LastAt = info.ModTime()
	}
	if title := sidecarTitle(file, root); title != "" {
		d.c.Title = title
	}
	d.c.Resume = resumeCommand(&d.c)
	return &d.c
}

// describer reads one file for a list.
type describer struct {
	c       Conversation
	file    *os.File
	within  func(cwd string) bool
	dec     decoder
	skipped skipped
	whole   bool // the lines that are read are all lines of the file
	inTail  bool // the lines that are read now are not the file's first
	foreign bool // not of this project, or a subagent's
	seen    int  // bytes of whole lines that were looked at
	prompts int  // that stood in them
	exact   int  // what the client itself counted
}

// read reports whether the file is a conversation of the project.
func (d *describer) read() bool {
	size := d.c.Size
	head, err := readAt(d.file, 0, headSize)
	if err != nil {
		return false
	}
	if d.c.Client == Codex {
		d.codexMeta(head)
		if d.foreign {
			return false
		}
	}
	if size <= wholeSize || d.c.Title == "" && !d.hasPrompt(head) {
		if head, err = readAt(d.file, 0, deepHead); err != nil {
			return false
		}
	}
	d.whole = int64(len(head)) == size
	d.lines(head, d.whole)
	if d.c.FirstPrompt == "" && d.c.Title == "" || d.foreign || !d.within(d.c.CWD) {
		return false
	}
	if rest := size - int64(len(head)); rest > 0 {
		start := max(int64(len(head)), size-tailSize)
		tail, err := readAt(d.file, start, tailSize)
		if err != nil {
			return false
		}
		if i := bytes.IndexByte(tail, '\n'); i >= 0 && start > 0 {
			d.inTail = true
			d.lines(tail[i+1:], true)
		}
	}
	if !d.whole && d.c.Client == Claude && d.exact == 0 {
		d.exact = d.turnIndex()
	}
	d.countTurns()
	return true
}

// turnIndex looks further back for the count that Claude writes with a prompt
// since 2.1.328: after the last prompt a long turn may stand.
func (d *describer) turnIndex() int {
	piece, err := readAt(d.file, max(0, d.c.Size-countSize), countSize)
	if err != nil {
		return 0
	}
	const mark = `"turnPosition":`
	i := bytes.LastIndex(piece, []byte(mark))
	if i < 0 {
		return 0
	}
	return turnIndexOf(piece[i+len(mark):])
}

func turnIndexOf(value []byte) int {
	n := 0
	members(value, func(key, value []byte) bool {
		if string(key) == "turnIndex" && decode(value, &n) != nil {
			n = 0
		}
		return true
	})
	return n
}

// hasPrompt is a cheap look for a prompt of the user, without decoding.
func (d *describer) hasPrompt(head []byte) bool {
	if d.c.Client == Codex {
		return bytes.Contains(head, []byte(`"provenance":{"type":"user"`))
	}
	return bytes.Contains(head, []byte(`"promptSource"`)) || bytes.Contains(head, []byte(`"role":"user","content":"`))
}

// lines looks at each whole line of a piece; last tells that the piece reaches
// the end of the file.
func (d *describer) lines(piece []byte, last bool) {
	for len(piece) > 0 {
		line, rest, whole := bytes.Cut(piece, []byte("\n"))
		piece = rest
		if !whole && !last {
			return
		}
		d.seen += len(line) + 1
		line = bytes.Trim(line, "\x00 \t\r")
		if d.c.Client == Claude {
			members(line, d.claudeMember)
		} else {
			members(line, func(key, value []byte) bool {
				if string(key) != "timestamp" {
					return true
				}
				d.stamp(value)
				return false
			})
		}
		if bytes.Contains(line, []byte(`"role":"user"`)) {
			d.prompt(line)
		}
	}
}

// prompt counts the prompts of a line and keeps the first one.
func (d *describer) prompt(line []byte) {
	events, _ := d.dec.decode(line)
	for _, e := range events {
		if e.kind != kindPrompt || e.role != RoleUser {
			continue
		}
		d.prompts++
		if d.c.FirstPrompt == "" && !d.inTail {
			shown, _ := Mask(e.text[:min(len(e.text), 2<<10)])
			d.c.FirstPrompt = frame.Line(shown, titleLen)
		}
	}
}

func (d *describer) stamp(value []byte) {
	at := stamp(value)
	if at.IsZero() {
		return
	}
	if d.c.StartedAt.IsZero() {
		d.c.StartedAt = at
	}
	if at.After(d.c.LastAt) {
		d.c.LastAt = at
	}
}

// claudeMember takes what a list needs from a line's members.
func (d *describer) claudeMember(key, value []byte) bool {
	switch string(key) {
	case "cwd":
		if d.c.CWD == "" {
			d.c.CWD = text(value)
		}
	case "gitBranch":
		if branch := text(value); branch != "HEAD" {
			d.c.Branch = branch
		}
	case "timestamp":
		d.stamp(value)
	case "customTitle", "aiTitle", "summary":
		if title := frame.Line(text(value), titleLen); title != "" && (d.c.Title == "" || string(key) == "customTitle") {
			d.c.Title = title
		}
	case "turnPosition":
		if d.inTail || d.whole {
			d.exact = max(d.exact, turnIndexOf(value))
		}
	}
	return true
}

// codexMeta reads the first line as far as it goes: the instructions that make
// it long stand at its end.
func (d *describer) codexMeta(head []byte) {
	_, payload, ok := bytes.Cut(head, []byte(`"payload":`))
	if !ok {
		payload = head // before 0.32 there was no envelope, and no directory
	}
	members(payload, func(key, value []byte) bool {
		switch string(key) {
		case "cwd":
			d.c.CWD = text(value)
		case "timestamp":
			d.stamp(value)
		case "forked_from_id":
			d.c.ForkOf = text(value)
		case "source":
			d.foreign = value[0] == '{' // a subagent's thread
		case "git":
			d.c.Branch = gitBranch(value)
		}
		return true
	})
	d.foreign = d.foreign || !d.within(d.c.CWD)
}

func gitBranch(value []byte) string {
	var git struct {
		Branch string `json:"branch"`
	}
	if decode(value, &git) != nil {
		return ""
	}
	return git.Branch
}

// countTurns takes the client's count, or what was seen, or the density of
// prompts in the part that was seen.
func (d *describer) countTurns() {
	d.c.Turns = d.prompts
	switch {
	case d.exact > 0:
		d.c.Turns = d.exact
	case d.whole:
	case d.seen > 0:
		d.c.Estimated = true
		d.c.Turns = max(d.prompts, int(int64(d.prompts)*d.c.Size/int64(d.seen)))
	}
}

// sidecarTitle is the title that Claude keeps beside a transcript since 2.1.328:
// <session id>/custom-title.json.
func sidecarTitle(file, root string) string {
	if ClientOf(file) != Claude {
		return ""
	}
	f, err := openInside(filepath.Join(strings.TrimSuffix(file, ".jsonl"), "custom-title.json"), root)
	if err != nil {
		return "" // most have none
	}
	defer f.Close() // only read
	data, err := readAt(f, 0, 4<<10)
	if err != nil {
		return ""
	}
	var title string
	members(data, func(key, value []byte) bool {
		if string(key) == "customTitle" {
			title = frame.Line(text(value), titleLen)
		}
		return true
	})
	return title
}

// readAt reads up to n bytes from off on; less when the file ends.
func readAt(r io.ReaderAt, off int64, n int) ([]byte, error) {
	buf := make([]byte, n)
	got, err := r.ReadAt(buf, off)
	return buf[:got], ignoreEOF(err)
}

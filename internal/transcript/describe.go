package transcript

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"peermux/internal/frame"
)

const (
	headSize  = 8 << 10
	deepHead  = 128 << 10 // read when the first prompt is not in the head
	tailSize  = 8 << 10   // of it each line is looked at
	countSize = 64 << 10  // of the end: turns are counted there
	wholeSize = 128 << 10 // in files up to this size they are counted exactly
	titleLen  = 120       // characters
)

// describer reads the head and the tail of one file after the other for a list.
type describer struct {
	o     ListOptions
	names map[string]string // of Codex threads
	buf   []byte            // wholeSize bytes

	dir     folder // of the file that was read last
	c       Conversation
	file    *os.File
	dec     decoder
	foreign bool // not of this project, or a subagent's
}

// describe fills a list's row; nil when the file is no conversation of the
// project.
func (d *describer) describe(file string) *Conversation {
	client, root := ClientOf(file), d.o.ClaudeDir
	if client == Codex {
		root = d.o.CodexHome
	}
	if dir := filepath.Dir(file); d.dir.path != dir { // files come folder by folder
		d.dir.close()
		var err error
		if d.dir, err = openFolder(dir, root); err != nil {
			d.dir = folder{}
			return nil
		}
	}
	f, err := d.dir.open(filepath.Base(file))
	if err != nil {
		return nil // removed meanwhile, or not to be read
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || sessionOf(file) == "" { // a copy under another name has no id
		return nil
	}
	d.c = Conversation{Client: client, SessionID: sessionOf(file), File: file, Size: info.Size()}
	d.c.Title = frame.Line(d.names[d.c.SessionID], titleLen)
	d.file, d.foreign = f, false
	d.dec = Options{Client: client}.decoder(file, &skipped{})
	if !d.head() || !d.tail() {
		return nil
	}
	if d.c.LastAt.IsZero() {
		d.c.LastAt = info.ModTime()
	}
	if title := d.sidecarTitle(); title != "" {
		d.c.Title = title
	}
	d.c.Resume = resumeCommand(&d.c)
	c := d.c
	return &c
}

// head finds out where the conversation ran and how it began, and reports
// whether it belongs to the project.
func (d *describer) head() bool {
	head, err := readInto(d.file, 0, d.buf[:headSize])
	if err != nil {
		return false
	}
	if d.c.Client == Codex {
		d.codexMeta(head)
		if d.foreign {
			return false
		}
	}
	d.headLines(head)
	// A Codex thread's first line fills the head; its name says what it is about.
	if d.c.FirstPrompt == "" && (d.c.Client == Claude || d.c.Title == "") && d.c.Size > headSize {
		if head, err = readInto(d.file, 0, d.buf[:deepHead]); err != nil {
			return false
		}
		d.headLines(head)
	}
	begun := d.c.FirstPrompt != "" || d.c.Title != ""
	return begun && !d.foreign && d.o.within(d.c.CWD)
}

// headLines looks at the first lines, up to the first prompt. The last one may be
// cut off, and is no JSON then.
func (d *describer) headLines(head []byte) {
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		d.members(line)
		if bytes.Contains(line, []byte(`"role":"user"`)) {
			d.firstPrompt(line)
		}
		if d.c.FirstPrompt != "" {
			return
		}
	}
}

// tail finds out when the conversation was last written to, and counts turns.
func (d *describer) tail() bool {
	start := int64(0)
	if d.c.Size > wholeSize {
		start = d.c.Size - countSize
	}
	piece, err := readInto(d.file, start, d.buf)
	if err != nil {
		return false
	}
	if start > 0 {
		_, piece, _ = bytes.Cut(piece, []byte("\n"))
	}
	last := piece[max(0, len(piece)-tailSize):]
	if len(last) < len(piece) {
		_, last, _ = bytes.Cut(last, []byte("\n"))
	}
	for line := range bytes.SplitSeq(last, []byte("\n")) {
		d.members(line)
	}
	if n := claudeTurns(piece); n > 0 && d.c.Client == Claude {
		d.c.Turns = n
		return true
	}
	d.c.Turns = d.prompts(piece)
	if start > 0 {
		d.c.Estimated = true
		d.c.Turns = max(1, int(int64(d.c.Turns)*d.c.Size/int64(len(piece)+1)))
	}
	return true
}

// claudeTurns returns the count that Claude writes with each prompt since
// 2.1.328, as it stands with the last one, or 0.
func claudeTurns(piece []byte) int {
	mark := []byte(`"turnPosition":`)
	var last []byte
	for { // from the front: bytes.LastIndex looks at one byte at a time
		_, rest, ok := bytes.Cut(piece, mark)
		if !ok {
			break
		}
		piece, last = rest, rest
	}
	n := 0
	members(last, func(key, value []byte) bool {
		if string(key) == "turnIndex" && decode(value, &n) != nil {
			n = 0
		}
		return true
	})
	return n
}

// prompts counts the prompts of the user in whole lines.
func (d *describer) prompts(piece []byte) int {
	n := 0
	// The error is the callback's, which returns none.
	_ = eachLineWith(piece, promptNeedles(d.c.Client), func(line []byte, _ int) error {
		events, _ := d.dec.decode(line)
		for _, e := range events {
			if e.kind == kindPrompt && e.role == RoleUser {
				n++
			}
		}
		return nil
	})
	return n
}

func (d *describer) firstPrompt(line []byte) {
	events, _ := d.dec.decode(bytes.Trim(line, "\x00 \t\r"))
	for _, e := range events {
		if e.kind == kindPrompt && e.role == RoleUser && d.c.FirstPrompt == "" {
			shown, _ := Mask(e.text[:min(len(e.text), 2<<10)])
			d.c.FirstPrompt = frame.Line(shown, titleLen)
		}
	}
}

// members takes what a list needs from a line. In Codex's lines that is only the
// time, which stands first.
func (d *describer) members(line []byte) {
	line = bytes.Trim(line, "\x00 \t\r")
	if d.c.Client == Claude {
		members(line, d.claudeMember)
		return
	}
	members(line, func(key, value []byte) bool {
		if string(key) != "timestamp" {
			return true
		}
		d.stamp(value)
		return false
	})
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
	d.foreign = d.foreign || !d.o.within(d.c.CWD)
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

// sidecarTitle is the title that Claude keeps beside a transcript since 2.1.328:
// <session id>/custom-title.json.
func (d *describer) sidecarTitle() string {
	if d.c.Client != Claude {
		return ""
	}
	f, err := d.dir.open(filepath.Join(d.c.SessionID, "custom-title.json"))
	if err != nil {
		return "" // most have none
	}
	defer f.Close() // only read
	data, err := readInto(f, 0, make([]byte, 4<<10))
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

// readInto fills buf from off on; what it returns is shorter when the file ends.
func readInto(r io.ReaderAt, off int64, buf []byte) ([]byte, error) {
	n, err := r.ReadAt(buf, off)
	return buf[:n], ignoreEOF(err)
}

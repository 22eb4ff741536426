package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"peermux/internal/private"
)

// Line is one record of a journal as far as somebody who waits wants to know it.
type Line struct {
	T       string    `json:"t"`
	ID      string    `json:"id"`
	ReplyTo string    `json:"reply_to"`
	Kind    Kind      `json:"kind"`
	At      time.Time `json:"at"`
	Via     string    `json:"via"`
	From    struct {
		SessionID string `json:"session_id"`
	} `json:"from"`
}

// Types of lines that a waiter may look for.
const (
	LineMessage = recMsg
	LineShown   = recShown
	LineMoved   = recMoved
)

// A Follower reads a journal as it grows, so that many who wait for a line each
// need not read it all again. It takes no lock, keeps no file open, and is not
// for concurrent use. After a compaction it gives the whole journal once more.
type Follower struct {
	path   string
	offset int64
	file   os.FileInfo // what was read last; nil is none yet
	start  []byte      // how it begins: a new file may get the number of one that is gone
}

// Follow begins at the present end of a box's journal, which need not exist yet.
func (s *Store) Follow(key string) (*Follower, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	f := &Follower{path: p.path}
	file, err := private.Open(p.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = f.look(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	f.offset = f.file.Size()
	return f, nil
}

// Next gives the complete lines that were added since the last call.
func (f *Follower) Next() ([]Line, error) {
	file, err := private.Open(f.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := f.read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	var lines []Line
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		var l Line
		if json.Unmarshal(line, &l) == nil && l.T != "" {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// read returns what is new, up to the last newline: the rest is being written.
func (f *Follower) read(file *os.File) ([]byte, error) {
	same, err := f.look(file)
	if err != nil {
		return nil, err
	}
	if !same {
		f.offset = 0
	}
	data, err := readAt(file, f.file.Size()-f.offset, f.offset)
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	return data, nil
}

// look notes which file has the journal's name now, and reports whether it is the one
// that was read last. After a compaction it is another.
func (f *Follower) look(file *os.File) (same bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	start, err := readAt(file, min(info.Size(), headerSize), 0)
	if err != nil {
		return false, err
	}
	same = f.file != nil && os.SameFile(f.file, info) && info.Size() >= f.offset && bytes.HasPrefix(start, f.start)
	f.file, f.start = info, start
	return same, nil
}

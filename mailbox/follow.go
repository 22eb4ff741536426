package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
}

// Follow begins at the present end of a box's journal, which need not exist yet.
func (s *Store) Follow(key string) (*Follower, error) {
	p, err := s.box(key)
	if err != nil {
		return nil, err
	}
	f := &Follower{path: p.path}
	info, err := os.Lstat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.file, f.offset = info, info.Size()
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
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if f.file == nil || !os.SameFile(f.file, info) || info.Size() < f.offset {
		f.offset = 0 // another file has its name: a compaction
	}
	f.file = info
	data := make([]byte, info.Size()-f.offset)
	n, err := file.ReadAt(data, f.offset)
	if err != nil && err != io.EOF {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data[:n], '\n')+1]
	f.offset += int64(len(data))
	return data, nil
}

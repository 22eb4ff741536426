// Package origin reads from the beginning of a transcript where its conversation
// comes from: whether it was copied from another one, and whether it is that of a
// subagent. It reads a bounded number of lines and changes nothing. It is light,
// since the hook program asks, too.
package origin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
)

// Origin is what the beginning of a transcript says.
type Origin struct {
	// ForkedFrom is the id of the session that this one was copied from.
	ForkedFrom string
	// Subagent: a thread that a Codex agent started, not a person.
	Subagent bool
}

const (
	// maxLines and maxLine bound the search. Codex's first line alone has 13 to
	// 40 kB (0.171.0); a branched Claude transcript says so in its first lines
	// (2.1.328).
	maxLines = 64
	maxLine  = 256 << 10
)

// Read reads the first lines of a transcript of either client. Codex begins with a
// session_meta line that has forked_from_id and thread_source; Claude Code marks
// each copied line with forkedFrom. A transcript that says nothing was not copied.
func Read(file string) (Origin, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Origin{}, err
	}
	defer f.Close() // opened for reading
	r := bufio.NewReaderSize(f, maxLine)
	for range maxLines {
		line, err := r.ReadSlice('\n')
		if o, found := parse(line); found {
			return o, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			return Origin{}, nil // no line that long says where it comes from
		case err != nil:
			return Origin{}, err
		}
	}
	return Origin{}, nil
}

func parse(line []byte) (Origin, bool) {
	if !bytes.Contains(line, []byte(`"forkedFrom"`)) && !bytes.Contains(line, []byte(`"session_meta"`)) {
		return Origin{}, false
	}
	var l struct {
		Type       string          `json:"type"`
		ForkedFrom json.RawMessage `json:"forkedFrom"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(line, &l) != nil {
		return Origin{}, false
	}
	if l.Type == "session_meta" {
		p := members(l.Payload)
		return Origin{ForkedFrom: text(p["forked_from_id"]), Subagent: text(p["thread_source"]) == "subagent"}, true
	}
	from := text(members(l.ForkedFrom)["sessionId"])
	return Origin{ForkedFrom: from}, from != ""
}

// members and text take what is there and of the expected type, and nothing else:
// a field that a later version writes differently costs that field only.
func members(object json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil
	}
	return m
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// header is what the loop itself needs to know of a message; everything else
// is read by mcp-go or by the tool.
type header struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// key is the id as the client wrote it, so that 1 and "1" stay two requests.
// A missing or null id has no key: the message is a notification.
func (h *header) key() string { return rawKey(h.ID) }

func rawKey(id json.RawMessage) string {
	id = bytes.TrimSpace(id)
	if bytes.Equal(id, []byte("null")) {
		return ""
	}
	return string(id)
}

// answer reports whether the message is a response to a request of ours. We
// send none, so such a message is somebody's mistake and is passed over.
func (h *header) answer() bool {
	return h.Method == "" && (h.Result != nil || h.Error != nil)
}

var errNotObject = errors.New("a message has to be one JSON object; batches are not part of this protocol")

// parseHeader reads the fields of one line. A field of an unexpected type in
// params does not fail the line: params may be anything for a method we do not
// know, and mcp-go answers those.
func parseHeader(line []byte) (header, error) {
	var h header
	err := json.Unmarshal(line, &h)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && json.Valid(line) {
		var loose struct {
			ID     json.RawMessage `json:"id"`
			Method any             `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &loose) != nil {
			return header{}, errNotObject // an array or a bare value
		}
		method, _ := loose.Method.(string)
		return header{ID: loose.ID, Method: method, Result: loose.Result, Error: loose.Error}, nil
	}
	return h, err
}

// readLines sends each line that is not empty to out and closes it at the end
// of input. A line has no length limit; a last one without newline counts.
func readLines(in io.Reader, out chan<- []byte, stop <-chan struct{}) {
	defer close(out)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			select {
			case out <- line:
			case <-stop:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

type kind uint8

const (
	kindPrompt   kind = iota + 1 // a whole turn that is not an answer: user, peer, system
	kindSay                      // words of the model
	kindCall                     // the model calls a tool
	kindResult                   // what the tool gave
	kindEnd                      // the model's answer is complete
	kindRollback                 // the last n prompts were taken back
	kindStart                    // the client begins a turn, whose end it will record
	kindBreak                    // what the model says next is another answer
	kindLink                     // nothing to show, but a node of the conversation's tree
)

// event is what one record of either client means. A line gives none, one or
// several.
type event struct {
	kind   kind
	role   string // of a kindPrompt
	group  string // kindSay, kindCall: those with one group are one turn; empty: what stands together is
	id     string // of a call and its result
	name   string // of the tool
	text   string
	failed bool   // the tool reported an error
	ends   bool   // the model says that its answer ends here
	n      int    // of a kindRollback
	masked int    // secrets replaced in text
	agent  string // the subagent that it belongs to
	at     time.Time

	uuid, parent string // Claude's tree of records
}

// skipped counts records that were left out, by reason.
type skipped struct {
	broken, torn      int
	foreign, subagent int
	reasoning         int
	rewound           int
	long              int
	takenBack         int64 // bytes of a file that the user's going back left behind
}

// decoder turns lines of one client's transcript into events.
type decoder interface {
	// decode returns the events of a line and whether it could be read.
	decode(line []byte) ([]event, bool)
}

// content is the text of a message: both clients write either a string or a
// list of blocks.
type content []block

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON reads a string as one text block.
func (c *content) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		*c = content{{Type: "text", Text: text(data)}}
		return nil
	}
	var blocks []block
	if len(data) > 0 && data[0] == '[' {
		if err := decode(data, &blocks); err != nil {
			return err
		}
	}
	*c = blocks
	return nil
}

// words joins the text of all blocks; what is no text is named in brackets.
func (c content) words() string {
	var parts []string
	for _, b := range c {
		switch b.Type {
		case "text", "input_text", "output_text", "Text":
			parts = append(parts, b.Text)
		case "image", "input_image", "document", "input_file", "input_audio":
			parts = append(parts, "["+strings.TrimPrefix(b.Type, "input_")+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// rawWords is words of a raw value: a string, blocks, or any other JSON as it is.
func rawWords(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	if raw[0] == '"' {
		return text(raw)
	}
	var c content
	if raw[0] == '[' && c.UnmarshalJSON(raw) == nil {
		if s := c.words(); s != "" {
			return s
		}
	}
	return string(raw)
}

// callInput renders the arguments of a tool: the command of a shell tool, the
// value when there is only one and it is a string, else the JSON.
func callInput(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	var fields, strs int
	var command, only string
	isObject := members(raw, func(key, value []byte) bool {
		fields++
		switch k := string(key); {
		case k == "command" || k == "cmd":
			command = commandLine(value)
		case value[0] == '"':
			strs++
			only = text(value)
		}
		return true
	})
	switch {
	case !isObject:
		return rawWords(raw)
	case command != "":
		return command
	case fields == 0:
		return ""
	case fields == 1 && strs == 1:
		return only
	}
	return string(raw)
}

// commandLine is a command given as a string or as a list of arguments.
func commandLine(value []byte) string {
	if value[0] != '[' {
		return text(value)
	}
	var args []string
	if decode(value, &args) != nil {
		return ""
	}
	if len(args) == 3 && strings.HasSuffix(args[0], "sh") && strings.HasPrefix(args[1], "-") {
		return args[2] // bash -lc "…"
	}
	return strings.Join(args, " ")
}

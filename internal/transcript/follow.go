package transcript

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
)

// Following is a conversation that is read as it goes on.
type Following struct {
	File  string
	From  int64                                // where to begin: Tail.End of a read
	Wait  func(context.Context) error          // returns when the file may have grown; an error ends Follow
	Show  func(Turn) error                     // takes what came; an error ends Follow
	Moved func(context.Context) (string, bool) // the file in which the conversation goes on, if it is another by now; may be nil
}

// Follow shows a conversation as it comes, until ctx ends or Wait or Show return
// an error, which it returns. What it shows are pieces of turns: words of an
// answer, a call, and the result of a call as a turn of role tool that names the
// tool. Only whole lines are read. A file that became shorter is read from its
// start; one that was replaced is read on at the same place. Of a conversation
// that the session turned to, the newest turns are shown first.
func Follow(ctx context.Context, fo Following, o Options) error {
	o = o.withDefaults(fo.File)
	off := fo.From
	p := pieces{o: o, show: fo.Show, names: map[string]string{}}
	for {
		next, err := p.read(ctx, fo.File, off)
		if err != nil {
			return err
		}
		off = next
		if err := fo.Wait(ctx); err != nil {
			return err
		}
		if fo.Moved == nil {
			continue
		}
		file, ok := fo.Moved(ctx)
		if !ok || file == fo.File {
			continue
		}
		fo.File = file
		o.SessionID = "" // a new conversation has an id of its own
		p.o = o
		if off, err = p.begin(ctx, file); err != nil {
			return err
		}
	}
}

// pieces shows events one by one.
type pieces struct {
	o     Options
	show  func(Turn) error
	names map[string]string // of tools that are running, by call
	dec   decoder
	file  string // that dec belongs to
}

// begin shows the newest turns of a conversation that the session turned to: it
// may be an old and long one that was resumed.
func (p *pieces) begin(ctx context.Context, file string) (int64, error) {
	t, err := ReadTail(ctx, file, p.o)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, turn := range t.Turns {
		if err == nil {
			err = p.show(turn)
		}
	}
	return t.End, err
}

// read shows the whole lines from off on and returns where they end.
func (p *pieces) read(ctx context.Context, file string, off int64) (int64, error) {
	f, err := openInside(file, p.o.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the client writes it with the first prompt
	}
	if err != nil {
		return off, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return off, err
	}
	if info.Size() < off {
		off = 0
	}
	if p.file != file {
		p.file, p.dec = file, p.o.decoder(file, &skipped{})
	}
	long := func(l *lineReader) error {
		data, err := shrunk(ctx, l)
		if err != nil || !l.whole {
			return err
		}
		return p.lines(data)
	}
	return forward{r: f, lines: p.lines, long: long}.read(ctx, off)
}

func (p *pieces) lines(piece []byte) error {
	for line := range bytes.SplitSeq(piece, []byte("\n")) {
		events, _ := p.dec.decode(bytes.Trim(line, "\x00 \t\r"))
		for _, e := range events {
			t, ok := p.piece(p.o.prepare(e))
			if !ok {
				continue
			}
			if err := p.show(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// piece makes a turn of one event.
func (p *pieces) piece(e event) (Turn, bool) {
	t := Turn{Role: e.role, Text: e.text, At: e.at, Agent: e.agent, Complete: true}
	switch e.kind {
	case kindPrompt:
	case kindSay:
		t.Role, t.Complete = RoleAssistant, e.ends
	case kindCall:
		p.names[e.id] = e.name
		t.Role, t.Text, t.Complete = RoleAssistant, "", false
		t.Tools = []ToolUse{{Name: e.name, Input: e.text}}
	case kindResult:
		t.Role, t.Text = RoleTool, ""
		t.Tools = []ToolUse{{Name: p.names[e.id], Output: e.text, Failed: e.failed, Done: true}}
		delete(p.names, e.id)
	default:
		return t, false
	}
	return t, t.Text != "" || len(t.Tools) > 0
}

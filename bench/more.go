package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/creack/pty"

	"peermux/internal/switchboard"
	"peermux/internal/tmux"
	"peermux/internal/transcript"
	"peermux/mailbox"
	"peermux/registry"
)

func (l *lab) listRows(context.Context) ([]row, error) {
	var rows []row
	for _, n := range []int{10, 100, 500} {
		p, err := l.place(fmt.Sprintf("list%d", n), n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{"list", fmt.Sprintf("list of %d sessions", n), "ms", l.rounds(40), "", func(ctx context.Context) (float64, error) {
			return timed(func() error {
				res, err := p.List(ctx, p.me, switchboard.ListRequest{Scope: switchboard.ScopeGlobal})
				if err == nil && len(res.Sessions) != n {
					err = fmt.Errorf("%d sessions listed, want %d", len(res.Sessions), n)
				}
				return err
			})
		}})
	}
	return rows, nil
}

// transcriptRows read the end of generated conversations.
func (l *lab) transcriptRows(context.Context) ([]row, error) {
	var rows []row
	for _, mb := range []int{1, 50, 200} {
		file := l.path(fmt.Sprintf("transcript-%d.jsonl", mb))
		if err := conversation(file, mb<<20); err != nil {
			return nil, err
		}
		rows = append(rows, row{"transcript", fmt.Sprintf("last 20 turns of %d MB", mb), "ms", l.rounds(40), "", func(ctx context.Context) (float64, error) {
			return timed(func() error {
				tail, err := transcript.ReadTail(ctx, file, transcript.Options{Client: registry.Claude, SessionID: sessionID, MaxBytes: 64 << 10, Now: time.Now()})
				if err == nil && len(tail.Turns) != 20 {
					err = fmt.Errorf("%d turns, want 20", len(tail.Turns))
				}
				return err
			})
		}})
	}
	return rows, nil
}

func conversation(file string, size int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat("All work and no play makes a dull parser. ", 40)
	for n, i := 0, 0; n < size; i++ {
		line := fmt.Sprintf(`{"type":"user","uuid":"u%d","sessionId":%q,"cwd":"/bench","timestamp":"2026-06-01T12:00:00.000Z","message":{"role":"user","content":"question %d"}}`+"\n"+
			`{"type":"assistant","uuid":"a%d","sessionId":%q,"cwd":"/bench","timestamp":"2026-06-01T12:00:01.000Z","message":{"id":"m%d","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}}`+"\n",
			i, sessionID, i, i, sessionID, i, text)
		n += len(line)
		if _, err := w.WriteString(line); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// writerRows: 16 processes write into one box at once.
func (l *lab) writerRows(context.Context) ([]row, error) {
	b, err := l.board("writers")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	each, box := 50, 0
	once := func(ctx context.Context) (float64, error) {
		box++
		key := mailbox.SessionKey(fmt.Sprint("writers-", box))
		ms, err := timed(func() error {
			return at16(func() error {
				_, err := command(ctx, nil, "", self, "write", b.Home, key, strconv.Itoa(each))
				return err
			})
		})
		if err != nil {
			return 0, err
		}
		n, err := b.Store.Pending(key)
		if err == nil && n != 16*each {
			err = fmt.Errorf("%d messages arrived of %d", n, 16*each)
		}
		return float64(16*each) / ms * 1000, err
	}
	return []row{{"throughput", "16 processes write to one box, durable", "msg/s", l.rounds(16), "", once}}, nil
}

// writer is one of the 16: write HOME BOX COUNT.
func writer(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: bench write HOME BOX COUNT")
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	store, err := mailbox.Open(args[0], time.Now)
	if err != nil {
		return err
	}
	for i := range n {
		m := mailbox.Message{Kind: mailbox.KindNote, Body: fmt.Sprintf("message %d", i)}
		if _, err := store.Append(args[1], &m, mailbox.AppendOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// wakeRows: one look at a pane, and the verdict about a session whose terminal
// cannot be proven; wake's own benchmark (BenchmarkDecision) decides on a pane.
func (l *lab) wakeRows(ctx context.Context) ([]row, error) {
	l.tmux = &tmux.Runner{Socket: l.path("tmux")}
	pane, err := l.tmux.NewSession(ctx, tmux.SessionOptions{Name: "bench", Dir: l.dir, Command: []string{"sleep", "600"}})
	if err != nil {
		return nil, err
	}
	p, err := l.place("wake", 1)
	if err != nil {
		return nil, err
	}
	e := p.sessions[0]
	e.Tmux = &registry.Tmux{Socket: pane.Socket, ServerPID: pane.ServerPID, Session: pane.Session, Window: pane.Window, Pane: pane.ID}
	if err := fill(p.Board, e.Box, 1); err != nil {
		return nil, err
	}
	return []row{
		{"wake", floorTmux, "ms", l.rounds(100), "", func(ctx context.Context) (float64, error) {
			return timed(func() error { _, err := l.tmux.Pane(ctx, pane.ID); return err })
		}},
		{"wake", "facts and verdict, no terminal to look at", "ms", l.rounds(60), "", func(ctx context.Context) (float64, error) {
			return timed(func() error { p.Waker.Explain(ctx, e); return nil })
		}},
	}, nil
}

// topRows: the screen with 50 sessions and nothing happening.
func (l *lab) topRows(context.Context) ([]row, error) {
	p, err := l.place("top", 50)
	if err != nil {
		return nil, err
	}
	span := 5 * time.Second
	if l.quick {
		span = 2 * time.Second
	}
	once := func(ctx context.Context) (float64, error) {
		cmd := exec.CommandContext(ctx, l.path("peermux"), "top", "--scope", "global")
		cmd.Env = l.env(p.Home)
		f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
		if err != nil {
			return 0, err
		}
		defer f.Close()
		go func() { _, _ = io.Copy(io.Discard, f) }() // ends with the terminal
		// Its start is not what is measured: wait until it has drawn and rests.
		if err := rest(ctx, 2*time.Second); err != nil {
			return 0, err
		}
		before, err := cpu(cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		if err := rest(ctx, span); err != nil {
			return 0, err
		}
		after, err := cpu(cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		if _, err := f.Write([]byte("q")); err != nil {
			return 0, err
		}
		return (after - before).Seconds() / span.Seconds() * 100, cmd.Wait()
	}
	return []row{{"top", "top idle with 50 sessions", "% of a core", l.rounds(8), "", once}}, nil
}

// rest waits while something is measured.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// cpu is the processor time of a process: fields 14 and 15 of its stat, in ticks
// of 10 ms.
func cpu(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("processor time is read from /proc: %w", err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}

package faults

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/agentsim"
	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// The crowd: 500 live sessions, 2,000 boxes, 100,000 messages. The other home has the
// same sessions, and hardly anything of those that went before.
var (
	manyAround = crowd{sessions: 500, boxes: 2000, inBox: 50}
	fewAround  = crowd{sessions: 500, boxes: 510, inBox: 5}
)

// asked is what a command is about, and so what its cost may grow with.
type asked int

const (
	one   asked = iota // a session or a message: a few boxes, however many there are
	live               // the live sessions: their boxes, each read once
	every              // all mail: each box, read once
)

// scale is what is measured: commands of the session called me, with what they ask for.
func scale(peermux, hook, sent string) []invocation {
	return []invocation{
		{one, []string{hook, "claude", "PreToolUse"}},
		{one, []string{peermux, "whoami"}},
		{one, []string{peermux, "send", "s7", "parser.go is ready"}},
		{one, []string{peermux, "status", sent}},
		{one, []string{peermux, "inbox", "--peek"}},
		{one, []string{peermux, "inbox"}},
		{one, []string{peermux, "read", "s9"}},
		{one, []string{peermux, "broadcast", "the lexer is frozen"}},
		{live, []string{peermux, "list"}},
		{live, []string{peermux, "badge"}},
		{live, []string{peermux, "transcripts"}},
		{live, []string{peermux, "events"}}, // of the last 24 hours
		{every, []string{peermux, "count"}},
		{every, []string{peermux, "gc", "--dry-run"}},
		{every, []string{peermux, "doctor", "--json"}},
		{every, []string{peermux, "status", "01KBB0T6Z2Q8V4M7C1X5N3R9JD"}}, // nobody has it
		{every, []string{hook, "claude", "SessionStart"}},                  // says how much waits elsewhere
	}
}

type invocation struct {
	about asked
	argv  []string
}

// TestScale runs the commands in a home full of mail, and in one with the same live
// sessions and little else: what is not asked about costs nothing. Counted is what the
// kernel counts - the bytes that each process reads, the boxes that it opens - since
// time says more about the machine; the times are in the log.
func TestScale(t *testing.T) {
	peermux, hook, err := agentsim.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	processes := sleepers(t, manyAround.sessions)
	many, few := crowded(t, manyAround, processes), crowded(t, fewAround, processes)
	many.works(t)
	boxesMany, boxesFew := many.measure(t), few.measure(t)
	sentMany, sentFew := many.sendOne(t), few.sendOne(t)
	manyRuns, fewRuns := scale(peermux, hook, sentMany), scale(peermux, hook, sentFew)
	for i, in := range manyRuns {
		a, b := many.run(t, boxesMany, in.argv), few.run(t, boxesFew, fewRuns[i].argv)
		name := strings.Join(in.argv[1:], " ")
		t.Logf("%-38s %9d bytes of %4d boxes in %4d ms; with little around %8d of %3d in %4d ms",
			name, a.bytes, a.boxes, a.took.Milliseconds(), b.bytes, b.boxes, b.took.Milliseconds())
		if b.bytes == 0 {
			t.Fatalf("%s reads nothing: nothing is measured", name)
		}
		switch in.about {
		case one:
			// A box is longer in one of the homes: that is asked about.
			if limit := b.bytes + 2*2*boxesMany.each; a.boxes > 2 || a.bytes > limit {
				t.Errorf("%s opens %d boxes and reads %d bytes, limits are 2 and %d", name, a.boxes, a.bytes, limit)
			}
		case live:
			most := manyAround.sessions + 2 // and those of the person and of the first that is gone
			if limit := b.bytes + int64(most)*boxesMany.each; a.boxes > most || a.bytes > limit {
				t.Errorf("%s opens %d boxes and reads %d bytes, limits are %d and %d", name, a.boxes, a.bytes, most, limit)
			}
		case every:
			// Beside the boxes it reads what it reads of the same sessions anyway.
			if limit := b.bytes + boxesMany.all; a.bytes > limit {
				t.Errorf("%s reads %d bytes, limit is %d: it reads the boxes more than once", name, a.bytes, limit)
			}
		}
	}
}

// sendOne sends a message as me and returns its id.
func (h *crowdedHome) sendOne(t *testing.T) string {
	t.Helper()
	me := switchboard.ActorOf(h.me, h.me.ID())
	sent, err := h.board.Send(t.Context(), me, switchboard.SendRequest{Target: "s3", Body: "a question of mine"})
	if err != nil {
		t.Fatal(err)
	}
	return sent.MessageID
}

// boxes is how long the journals of a home are, and who watches them being opened.
type boxes struct {
	all, each int64 // bytes
	watch     int
}

func (h *crowdedHome) measure(t *testing.T) (b boxes) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(h.board.Home, "boxes", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) != h.boxes {
		t.Fatalf("%d boxes, want %d", len(dirs), h.boxes)
	}
	if b.watch, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Close(b.watch); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(b.watch, dir, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		b.all += info.Size()
		b.each = max(b.each, info.Size())
	}
	return b
}

// opened counts the boxes in which anything was opened since the last call.
func (b boxes) opened(t *testing.T) int {
	t.Helper()
	which := map[uint32]bool{}
	for buf := make([]byte, 1<<16); ; {
		n, err := unix.Read(b.watch, buf)
		if errors.Is(err, unix.EAGAIN) {
			return len(which)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:])) {
			if binary.NativeEndian.Uint32(buf[at+4:])&unix.IN_Q_OVERFLOW != 0 {
				t.Fatal("the kernel lost count of the files that were opened")
			}
			which[binary.NativeEndian.Uint32(buf[at:])] = true
		}
	}
}

type cost struct {
	bytes int64 // read from files and pipes
	boxes int
	took  time.Duration
}

// run runs a program as the session called me, and says what that cost. Where it
// finds something to complain about is not what counts here.
func (h *crowdedHome) run(t *testing.T, b boxes, argv []string) (c cost) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = h.project
	cmd.Env = []string{"HOME=" + h.user, "PATH=" + os.Getenv("PATH"), "PEERMUX_WAKE=off", "TMUX_TMPDIR=" + h.user}
	cmd.Stdin = strings.NewReader(fmt.Sprintf(
		`{"session_id":%q,"transcript_path":"","cwd":%q,"hook_event_name":%q,"source":"startup","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`,
		h.me.SessionID, h.project, argv[len(argv)-1]))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	b.opened(t)
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It has ended and is not reaped yet, so that the kernel still knows its counts.
	err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.took = time.Since(begun)
	c.bytes = bytesRead(t, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%s: %v: %s", argv, err, out.String())
	}
	c.boxes = b.opened(t)
	return c
}

// bytesRead is what a process has read so far, from files and pipes.
func bytesRead(t *testing.T, pid int) (n int64) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return n
}

// works lists, finds, sends, counts and collects.
func (h *crowdedHome) works(t *testing.T) {
	t.Helper()
	b, me := h.board, switchboard.ActorOf(h.me, h.me.ID())
	res, err := b.List(t.Context(), h.person(), switchboard.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Sessions) != h.sessions {
		t.Errorf("%d sessions are listed, want %d", len(res.Sessions), h.sessions)
	}
	for _, s := range res.Sessions {
		if s.Unread != waiting {
			t.Errorf("%s has %d unread, want %d", s.Name, s.Unread, waiting)
		}
	}
	last := h.live[h.sessions-1]
	for _, target := range []string{last.Name, last.SessionID, fmt.Sprintf("pid:%d", last.PID)} {
		sent, err := b.Send(t.Context(), me, switchboard.SendRequest{Target: target, Body: "to one of many"})
		if err != nil {
			t.Fatalf("send to %s: %v", target, err)
		}
		if it, err := b.Store.Find(last.Box, sent.MessageID); err != nil || it.Body != "to one of many" {
			t.Errorf("sent to %s: %q, %v", target, it.Body, err)
		}
	}
	const sentNow = 3
	count, err := b.Count(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := waiting*h.boxes + sentNow; count.Unshown != want {
		t.Errorf("%d messages wait, want %d", count.Unshown, want)
	}
	for _, dry := range []bool{true, false} {
		actions, err := b.Store.GC(mailbox.GCOptions{DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range actions {
			if a.Action == "removed" {
				t.Errorf("gc removes %s (%s), in which mail waits", a.Key, a.Why)
			}
		}
	}
	if again, err := b.Count(t.Context(), ""); err != nil || again.Unshown != count.Unshown {
		t.Errorf("after gc %d messages wait, %d before (%v)", again.Unshown, count.Unshown, err)
	}
}

package switchboard_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"peermux/internal/switchboard"
	"peermux/mailbox"
)

// openings counts how often a file has been opened since the last call.
func openings(t *testing.T, path string) (count func() int) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	})
	// Equal events in a row become one, so closings are watched as well.
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_CLOSE); err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		buf := make([]byte, 64<<10)
		for {
			size, err := unix.Read(fd, buf)
			if err != nil { // EAGAIN: that was all
				return n
			}
			for at := 0; at < size; {
				mask := binary.NativeEndian.Uint32(buf[at+4:])
				if mask&unix.IN_OPEN != 0 {
					n++
				}
				at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
			}
		}
	}
}

// An answer is read by the one who waits for it: with twenty who wait, it costs no
// more readings of the box than with one.
func TestAskAnswerIsReadOnce(t *testing.T) {
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	const flying, answers = 20, 4
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asks := map[string]*asking{}
	for i := range flying {
		body := fmt.Sprint(i)
		asks[body] = ann.ask(ctx, switchboard.AskRequest{Target: "ben", Body: body, Timeout: switchboard.MaxAsk})
	}
	var questions []mailbox.Item
	for range flying {
		questions = append(questions, ben.awaitMail())
	}
	count := openings(t, mailbox.JournalPath(k.home, ann.entry.Box))
	// untilQuiet counts until nothing happens any more.
	untilQuiet := func() (total int) {
		for begun := time.Now(); time.Since(begun) < patience; {
			time.Sleep(200 * time.Millisecond)
			n := count()
			if n == 0 {
				return total
			}
			total += n
		}
		t.Fatal("the box is read again and again although nothing happens")
		return 0
	}
	untilQuiet() // they all wait now
	replier := k.another().Store
	// Once in 30 s each wait reads everything, so the cheapest answer counts.
	cheapest := flying
	for _, q := range questions[:answers] {
		m := mailbox.Message{Kind: mailbox.KindReply, From: ben.actor().Party, Body: "re " + q.Body, ReplyTo: q.ID}
		if _, err := replier.Append(ann.entry.Box, &m, mailbox.AppendOptions{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		asks[q.Body].answered("re " + q.Body)
		cheapest = min(cheapest, untilQuiet())
	}
	// About six: the append, the taking and the showing, and what the one follower
	// reads for each.
	if t.Logf("%d openings", cheapest); cheapest >= flying {
		t.Errorf("with %d waits the box is opened %d times for one answer", flying, cheapest)
	}
	cancel()
	for _, a := range asks {
		a.wait()
	}
}

package switchboard_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
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

// An ask and its answer cost no more where hundreds such are settled: nothing of those
// is decoded, and hardly anything read. Counted are what this process allocates and
// what it reads, in the cheapest of a few rounds, since a compaction comes now and then.
func TestAskCostsNoMoreWhenManyAreSettled(t *testing.T) {
	k := newBench(t)
	ann, ben := k.join("ann"), k.join("ben")
	type cost struct{ allocations, bytes uint64 }
	cheapest := func() (least cost) {
		for i := range 5 {
			before := cost{allocations(), bytesRead(t)}
			askAndAnswer(t, ann, ben)
			now := cost{allocations() - before.allocations, bytesRead(t) - before.bytes}
			if i == 0 {
				least = now
			}
			least = cost{min(least.allocations, now.allocations), min(least.bytes, now.bytes)}
		}
		return least
	}
	askAndAnswer(t, ann, ben)
	few := cheapest()
	for range 300 {
		askAndAnswer(t, ann, ben)
	}
	many := cheapest()
	t.Logf("few: %+v, many: %+v", few, many)
	if many.allocations > 2*few.allocations {
		t.Errorf("%d allocations, with few settled %d: what is settled is decoded", many.allocations, few.allocations)
	}
	// Each look at a box reads what compaction has not put away yet.
	if limit := few.bytes + 40*64<<10; many.bytes > limit {
		t.Errorf("%d bytes are read, limit is %d", many.bytes, limit)
	}
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// bytesRead is what this process has read so far, from files and pipes.
func bytesRead(t *testing.T) (n uint64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return n
}

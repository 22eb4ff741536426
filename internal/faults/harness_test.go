package faults

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"peermux/mailbox"
)

// stress is how much of something to do: a little, or with PEERMUX_STRESS set a lot.
func stress(little, much int) int {
	if os.Getenv("PEERMUX_STRESS") != "" {
		return much
	}
	return little
}

// bench runs workers and collects what they say.
type bench struct {
	*testing.T
	home    string
	store   *mailbox.Store
	program string
	count   int
	workers []*process
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, home: filepath.Join(t.TempDir(), "home")}
	var err error
	if b.store, err = mailbox.Open(b.home, time.Now); err != nil {
		t.Fatal(err)
	}
	if b.program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range b.workers {
			p.kill()
		}
	})
	return b
}

// process is a running worker.
type process struct {
	order  order
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr strings.Builder
	lines  []string // whole lines only
	read   chan struct{}
	killed bool
	ended  bool
	err    error
}

func (b *bench) start(o order) *process {
	b.Helper()
	p := b.prepare(o)
	b.run(p)
	return p
}

// prepare makes a worker, which run starts.
func (b *bench) prepare(o order) *process {
	b.Helper()
	b.count++
	o.Home, o.Name = b.home, o.Role+strconv.Itoa(b.count)
	spec, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	p := &process{order: o, cmd: exec.Command(b.program), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), orderEnv+"="+string(spec))
	p.cmd.Stderr = &p.stderr
	return p
}

func (b *bench) run(p *process) {
	b.Helper()
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		defer close(p.read)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return // a cut line was not said
			}
			p.lines = append(p.lines, strings.TrimSuffix(line, "\n"))
		}
	}()
	b.workers = append(b.workers, p)
}

func (p *process) kill() {
	if p.ended {
		return
	}
	p.killed = true
	_ = p.cmd.Process.Kill() // it may have ended by itself: wait tells
	p.wait()
}

// stop asks a worker to end after what it is doing.
func (p *process) stop() {
	if !p.ended {
		_ = p.stdin.Close() // it may have ended by itself: wait tells
		p.wait()
	}
}

func (p *process) wait() {
	<-p.read
	p.err = p.cmd.Wait()
	p.ended = true
}

// stopAll ends the workers, and fails the test for those that ended badly by
// themselves or hang on a lock that nobody gives back.
func (b *bench) stopAll() {
	b.Helper()
	done := make(chan struct{})
	go func() {
		for _, p := range b.workers {
			p.stop()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		b.Fatal("a worker does not end: is a lock stuck?")
	}
	for _, p := range b.workers {
		if p.err != nil && !p.killed || p.stderr.Len() > 0 {
			b.Errorf("%s: %v: %s", p.order.Name, p.err, p.stderr.String())
		}
	}
}

// storm keeps the workers of these orders running and kills one after the other,
// each at a random moment, to start it anew.
func (b *bench) storm(kills int, orders ...order) {
	b.Helper()
	var running []*process
	for _, o := range orders {
		running = append(running, b.start(o))
	}
	for range kills {
		i := rand.IntN(len(running))
		time.Sleep(time.Duration(rand.IntN(12_000)) * time.Microsecond)
		running[i].kill()
		running[i] = b.start(running[i].order)
	}
	b.stopAll()
}

// tally is what all workers said, by message.
type tally struct {
	acked   map[string]bool
	out     map[string]int // times shown
	inDoubt map[string]int // times shown by a process that was killed before it recorded that
	killed  map[string]int // by role
}

func (b *bench) tally() tally {
	t := tally{map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, p := range b.workers {
		if p.killed {
			t.killed[p.order.Role]++
		}
		open := map[string]bool{}
		for _, line := range p.lines {
			what, which, _ := strings.Cut(line, " ")
			switch what {
			case "ack":
				t.acked[which] = true
			case "out":
				t.out[which]++
				open[which] = true
			case "rec":
				delete(open, which)
			}
		}
		for which := range open {
			t.inDoubt[which]++
		}
	}
	return t
}

// check compares what was said with what is promised.
func (t tally) check(b *bench) {
	b.Helper()
	lost, again := t.lost(b), 0
	for which, times := range t.out {
		if strings.Contains(which, "damaged") || which == "?" {
			b.Errorf("a message that is not whole was shown: %s", which)
		}
		if times > 1+t.inDoubt[which] {
			b.Errorf("%s was shown %d times, and %d processes died between showing and recording it", which, times, t.inDoubt[which])
		}
		again += times - 1
	}
	b.Logf("%d acknowledged, %d shown, %d lost; %d shown once more, %d in doubt; killed: %v",
		len(t.acked), len(t.out), lost, again, len(t.inDoubt), t.killed)
	if len(t.acked) == 0 || len(t.out) == 0 {
		b.Error("nothing happened")
	}
}

// lost counts the messages that were acknowledged and never shown.
func (t tally) lost(b *bench) (n int) {
	b.Helper()
	for which := range t.acked {
		if t.out[which] == 0 {
			b.Errorf("%s was acknowledged and never shown", which)
			n++
		}
	}
	return n
}

// inOrder checks that each process showed each sender's messages in their order.
// What a killed reader left comes again later, so showings in doubt do not count.
func (b *bench) inOrder(t tally) {
	b.Helper()
	for _, p := range b.workers {
		last := map[string]int{}
		for _, line := range p.lines {
			which, ok := strings.CutPrefix(line, "out ")
			if !ok || t.inDoubt[which] > 0 {
				continue
			}
			sender, number, _ := strings.Cut(which, "/")
			n, err := strconv.Atoi(number)
			if err != nil {
				b.Fatalf("%q: %v", line, err)
			}
			if n <= last[sender] {
				b.Errorf("%s showed %s after %d", p.order.Name, which, last[sender])
			}
			last[sender] = n
		}
	}
}

// drain shows what is left, as one more reader.
func (b *bench) drain(role order) {
	b.Helper()
	role.Drain = true
	p := b.start(role)
	<-p.read
	p.stop()
	if p.err != nil {
		b.Fatalf("drain: %v: %s", p.err, p.stderr.String())
	}
}

var (
	boxA = mailbox.SessionKey("a")
	boxB = mailbox.SessionKey("b")
	boxC = mailbox.SessionKey("c")
)

func times(n int, o order) []order {
	var all []order
	for range n {
		all = append(all, o)
	}
	return all
}

// pending checks how many messages are counted in a box, and that a reader would be
// given as many. When it is wrong it says which they are.
func (b *bench) pending(key string, want int) {
	b.Helper()
	n, err := b.store.Pending(key)
	items, more, peekErr := b.store.Peek(key, mailbox.ClaimOptions{})
	if n == want && len(items)+more == want && err == nil && peekErr == nil {
		return
	}
	var names []string
	for _, it := range items {
		names = append(names, label(it.Body))
	}
	b.Errorf("%s, which goes on as %s: %d are counted (%v), want %d; a reader would get %v and %d more (%v)",
		key, b.store.Resolve(key), n, err, want, names, more, peekErr)
}
